"""paddock top"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, get_args

import click

from paddock.app.recent_usage import read_recent
from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.errors import Failed
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import run_with_client
from paddock.cli.follow.gone_jobs import fetch_present
from paddock.cli.output import top_rows
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.screen import Redrawn
from paddock.cli.output.streams import print_line, print_notice, write_json
from paddock.cli.output.tables import Table, is_piped, print_fitted
from paddock.cli.output.terminal import build_table, stdout, styled
from paddock.cli.verb import Verb
from paddock.jobs.model import Phase
from paddock.kube.errors import NotFound
from paddock.kube.meta import PODS, Manifest, is_controlled_by, uid_of
from paddock.kube.printable import show_line
from paddock.kube.usage import POD_METRICS
from paddock.node.usage.samples import Sample
from paddock.views.commands import choose_word
from paddock.views.used import SHOWN, Order, RankUse, add_sample, read_running, sort_rows
from paddock.words.phrases import Phrase, counted, phrase

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from paddock.client.client import Client

_SECONDS, _CLUSTER_SECONDS = 2.0, 5.0
"""Between two looks. A laptop measures each five seconds, and each second while a rank is young; a metrics-server each
fifteen."""


@click.command(name="top", cls=Verb)
@click.argument("jobs", nargs=-1, metavar="[JOB]...", shell_complete=complete_jobs)
@click.option(
    "--sort", type=click.Choice(get_args(Order)), default="name", show_default=True,
    help="What decides the order; the highest number comes first.",
)  # fmt: skip
@click.option("--once", is_flag=True, help="Print it once, as in a pipe, and not again and again.")
@click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), default="table", help="json: once, with all of it."
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Of every namespace.")
@namespace_option
def command(jobs: tuple[str, ...], sort: Order, once: bool, output: str, all_namespaces: bool, namespace: str) -> int:
    """What the ranks that run use: processors, memory and GPUs, drawn again every few seconds until Ctrl-C, or
    until the jobs that are named have ended.

    \b
    paddock top
    paddock top resnet --sort memory
    paddock top -A --once -o json

    CPU is in cores; MEMORY is what of its limit a rank has. TREND is what was used lately, from 0 to the limit, or to
    the highest where there is no limit. On a Kubernetes the numbers are those of metrics-server, which tells nothing of
    GPUs, and the trend begins with this command.

    Exit code: 0; 1 where a job that is named has no rank that runs, or where nobody measures.
    """
    asked = Asked(jobs, sort, "" if all_namespaces and not jobs else namespace)
    live = output == "table" and not once and _draws()

    async def work(client: Client, place: ClusterChoice) -> int:
        top = _Top(client, place, asked)
        return await _show(top) if live else _print(await top.look(), top, output)

    return run_with_client(work)


@dataclass(frozen=True, slots=True)
class Asked:
    """The rows that are wanted."""

    jobs: tuple[str, ...]
    sort: Order
    namespace: str
    """Empty for all."""


@dataclass(slots=True)
class _Top:
    """Looks at what is used."""

    client: Client
    place: ClusterChoice
    asked: Asked
    resting: list[Phrase] = field(default_factory=list)
    """What is said of each job that was named, and has no rank that runs."""
    is_over: bool = False
    """Jobs were named, and all have ended: nothing more comes."""
    _samples: dict[str, Sequence[Sample]] = field(default_factory=dict)

    async def look(self) -> list[RankUse]:
        """Raises `NoJob` for a job that is not there, `Failed` where nobody measures, `ApiError`."""
        named = [await fetch_present(self.client, self.place, self.asked.namespace, each) for each in self.asked.jobs]
        listed, metrics = await asyncio.gather(
            self.client.list(PODS, self.asked.namespace), self._list_metrics()
        )  # fmt: skip
        pods = [pod for pod in listed.items if not named or any(is_controlled_by(pod, each.uid) for each in named)]
        rows = read_running(pods, metrics, await asyncio.to_thread(self._read_samples, pods))
        if self.place.home is None:
            rows = [replace(row, samples=add_sample(row.samples, row)) for row in rows]
            self._samples = {row.uid: row.samples for row in rows}
        self.is_over = not rows and are_over([each.status.phase for each in named])
        running = {row.uid for row in rows}
        options = self.place.flags.of(self.asked.namespace or "default")
        self.resting = [
            explain_resting(each.key.name, choose_word(each, word), options)
            for each, word in zip(named, self.asked.jobs, strict=True)
            if not any(uid_of(pod) in running for pod in pods if is_controlled_by(pod, each.uid))
        ]
        return sort_rows(rows, self.asked.sort)

    async def _list_metrics(self) -> Sequence[Manifest]:
        try:
            return (await self.client.list(POD_METRICS, self.asked.namespace)).items
        except NotFound:
            raise Failed(explain_unmeasured(is_local=self.place.home is not None)) from None

    def _read_samples(self, pods: Sequence[Manifest]) -> dict[str, Sequence[Sample]]:
        home = self.place.home
        if home is None:
            return self._samples
        return {uid_of(pod): read_recent(home.pod_logs, pod, SHOWN) for pod in pods}


def are_over(phases: Sequence[Phase]) -> bool:
    """Whether jobs of these phases were named, and none of them will run again. Pure."""
    return bool(phases) and all(each.terminal for each in phases)


def explain_unmeasured(*, is_local: bool) -> Phrase:
    if is_local:
        return phrase(
            "the local cluster was started by an older Paddock, which measures nothing: after `{command}` the next "
            "command starts this one, and running jobs begin a new attempt",
            command="paddock down",
        )
    return phrase(
        "this cluster serves no metrics.k8s.io, so what the ranks use is not known: its administrator installs "
        "metrics-server (https://github.com/kubernetes-sigs/metrics-server), which serves it"
    )


def explain_resting(job: str, word: str, options: str) -> Phrase:
    """`word`, `options`: how a command names the job, and its cluster."""
    return phrase("no rank of {job} runs: `{command}` says why", job=job, command=f"paddock explain {word}{options}")


def explain_none(namespace: str) -> Phrase:
    """`namespace`: empty for all."""
    if namespace:
        return phrase("no rank runs in namespace {namespace}", namespace=namespace)
    return phrase("no rank runs in any namespace")


# Once


def _print(rows: Sequence[RankUse], top: _Top, output: str) -> int:
    if output == "json":
        print_line(write_json(top_rows.build_document(rows), indent=2))
    elif rows:
        if is_piped():
            print_fitted(lambda _: top_rows.build_table(rows, everywhere=not top.asked.namespace), cut=False)
        else:
            for line in _build_table(rows, top, stdout()):
                stdout().print(line, soft_wrap=True)
    elif not top.asked.jobs:
        print_notice(localized(explain_none(top.asked.namespace)))
    for said in top.resting:
        print_notice(localized(said))
    return 1 if top.resting else 0


def _build_table(rows: Sequence[RankUse], top: _Top, console: Console) -> list[Text]:
    everywhere, language = not top.asked.namespace, readers_language()
    table: Table = top_rows.build_table(rows, language, everywhere=everywhere)
    if (console.encoding or "").lower().startswith("utf"):
        table = top_rows.fit_table(rows, console.width, language, everywhere=everywhere)
    header, cells = table
    return build_table(header, [[show_line(cell) for cell in row] for row in cells])


# Again and again


def _draws() -> bool:
    """Whether lines can be drawn anew."""
    console = stdout()
    return not is_piped() and console.is_terminal and console.is_interactive and console.file.isatty()


async def _show(top: _Top) -> int:
    """Until Ctrl-C, an error, or the end of the jobs that were named. Returns the exit code."""
    pause = _SECONDS if top.place.home is not None else _CLUSTER_SECONDS
    with Redrawn(stdout()) as screen:
        while True:
            screen.show(build_screen(await top.look(), top, screen.console), tell_left)
            if top.is_over:
                return 1
            await asyncio.sleep(pause)


def build_screen(rows: Sequence[RankUse], top: _Top, console: Console) -> list[Text]:
    said = [*([] if rows or top.asked.jobs else [explain_none(top.asked.namespace)]), *top.resting]
    return [*(_build_table(rows, top, console) if rows else []), *(styled(localized(each)) for each in said)]


def tell_left(count: int) -> str:
    said = counted("… and {count} line more: --once prints all", "… and {count} lines more: --once prints all",
                   count=count)  # fmt: skip
    return localized(said)
