"""paddock doctor

`doctor` puts the questions, `doctor.probes` reads jobs and this machine, `cli.follow.examined_logs` reads files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from paddock.app.home import may_answer
from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.session import choose_place, run, run_with_client
from paddock.cli.output.findings import Subject, build_document, print_text
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.streams import print_answer, write_json
from paddock.cli.output.terminal import stderr, stdout, styled
from paddock.cli.verb import Verb
from paddock.kube.quantities import format_bytes
from paddock.words.messages import translate_message
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from typing import Any

    from paddock.app.prometheus import Address
    from paddock.cli.cluster.places import ClusterChoice
    from paddock.client.client import Client
    from paddock.kube.api import PodApi

Report = Callable[[str, int], None]
_LARGE = 32 * 2**20
"""Bytes of a log after which its progress is shown."""


@click.command(name="doctor", cls=Verb)
@click.argument("names", nargs=-1, metavar="[JOB]", shell_complete=complete_jobs)
@click.option("--log", "logs", multiple=True, metavar="FILE", help="Read this log, of any launcher; - is standard "
              "input. Several are the hosts of one run.")  # fmt: skip
@click.option("--bundle", default=None, metavar="FILE", help="Look at the job in this file of paddock bundle, as it "
              "was.")  # fmt: skip
@click.option("--host", is_flag=True, help="Look at this machine: names, network, memory, devices.")
@click.option("--peer", "peers", multiple=True, metavar="HOST[:PORT]", help="With --host: reach this machine "
              "too. http://HOST:PORT asks it for its time; @FILE names one machine in each line.")  # fmt: skip
@click.option("--python", "interpreter", default="", metavar="PATH", help="With --host: the Python that trains.")
@click.option("--prometheus", envvar="PADDOCK_PROMETHEUS", metavar="URL", help="With --context: this Prometheus knows "
              "what the GPUs of jobs do (or PADDOCK_PROMETHEUS).")  # fmt: skip
@click.option("-o", "output", type=click.Choice(["text", "json", "yaml"]), default="text", help="How to print it.")
@namespace_option
def command(
    names: tuple[str, ...],
    logs: tuple[str, ...],
    bundle: str | None,
    host: bool,
    peers: tuple[str, ...],
    interpreter: str,
    prometheus: str | None,
    output: str,
    namespace: str,
) -> int:
    """Why a run does not do what it was asked for: did it start right, does it use its GPUs, how many nodes are there,
    is it elastic, do the ranks reach each other, which rank waits for whom.

    \b
    paddock doctor                       this machine, and the jobs that have not ended or failed lately
    paddock doctor JOB                   a job: its manifest, its pods, what they printed and use
    paddock doctor --log run.log         a log of PaddlePaddle's launcher or of torchrun
    paddock doctor --bundle FILE         a job that paddock bundle has written, without its cluster
    paddock doctor --host --peer HOST    this machine, and the way to another

    Each finding says what is wrong, why it matters and what to do, with the command. Nothing is changed.

    Exit code: 0 nothing was found, 1 something was.
    """
    refuse_combinations(names, logs, bundle=bundle, host=host, peers=peers, interpreter=interpreter)
    with _progress() as report:
        subjects = _look(names, logs, bundle, host, peers, interpreter, namespace, report, prometheus)
    language = readers_language()
    if output == "text":
        print_text(stdout(), subjects, language)
    else:
        print_answer(write_document(subjects, output, language))
    return int(any(each.findings for each in subjects))


def refuse_combinations(
    names: Sequence[str], logs: Sequence[str], *, bundle: str | None, host: bool, peers: Sequence[str], interpreter: str
) -> None:
    """Raises `UserError` for what does not go together. Pure."""
    if (peers or interpreter) and not host:
        raise UserError(phrase("--peer and --python belong to --host: add it"))
    if bundle is not None and (host or names or logs):
        raise UserError(phrase("--bundle has one job, and looks at that alone: leave the rest out"))
    if host and (names or logs):
        raise UserError(phrase("--host looks at this machine alone: leave the job and --log out"))
    if len(names) > 1 and not logs:
        raise UserError(phrase("one job is wanted, not {count}; files are given by --log", count=len(names)))


def write_document(subjects: Sequence[Subject], output: str, language: str) -> str:
    document = build_document(subjects, language)
    if output == "json":
        return write_json(document, indent=2)
    from paddock.manifests.yaml_texts import write_yaml

    return write_yaml([document]).rstrip("\n")


def _look(
    names: tuple[str, ...], logs: tuple[str, ...], bundle: str | None, host: bool, peers: tuple[str, ...],
    interpreter: str, namespace: str, report: Report, prometheus: str | None,
) -> list[Subject]:  # fmt: skip
    if logs:
        from paddock.cli.follow.examined_logs import examine_files

        return [examine_files((*logs, *names), report)]  # `--log a.log b.log` is two files
    if bundle is not None:
        from paddock.cli.cluster.bundled import run_with_bundle
        from paddock.cli.follow.examined_jobs import examine_job

        def work(client: PodApi, place: ClusterChoice, where: str, name: str) -> Coroutine[Any, Any, Subject]:
            return examine_job(client, place, where, name, report)

        return [run_with_bundle(bundle, work)]
    if host:
        return [look_at_machine(peers, interpreter)]
    if names:
        return [_look_at_job(names[0], namespace, report, prometheus)]
    return _look_at_all(namespace, report, prometheus)


def look_at_machine(peers: Sequence[str], interpreter: str) -> Subject:
    """Raises `UserError` for a peer, or an interpreter, that is not written as one."""
    from paddock.doctor.host.endpoints import WrongPeer
    from paddock.doctor.host.looked_at import explain_looked_at
    from paddock.doctor.probes.host import WrongInterpreter, examine_host

    try:
        with show_steps() as report:
            found = run(examine_host(peers, interpreter=interpreter, environ=os.environ, report=report))
    except (WrongPeer, WrongInterpreter) as error:
        raise UserError(error.said) from None
    return Subject(localized(phrase("this machine")), found.findings, explain_looked_at(found.host, found.asked))


@contextmanager
def show_steps() -> Iterator[Callable[[str], None]]:
    """Shows on a terminal which step is under way: peers take a few seconds."""
    console = stderr()
    if not console.is_terminal:
        yield lambda _said: None
        return
    with console.status("") as status:
        yield lambda said: status.update(styled(translate_message(said, readers_language())))


def read_prometheus(text: str | None, place: ClusterChoice) -> Address | None:
    """Of a laptop the node knows what GPUs do. Raises `UserError`."""
    from paddock.app.prometheus import PrometheusError, find_address

    if not text or place.home is not None:
        return None
    try:
        return find_address(text, os.environ)
    except PrometheusError as error:
        raise UserError(error.said) from None


def _look_at_job(word: str, namespace: str, report: Report, prometheus: str | None) -> Subject:
    from paddock.cli.follow.examined_jobs import examine_job

    async def work(client: Client, place: ClusterChoice) -> Subject:
        return await examine_job(client, place, namespace, word, report, read_prometheus(prometheus, place))

    return run_with_client(work)


def _look_at_all(namespace: str, report: Report, prometheus: str | None) -> list[Subject]:
    """A local cluster that is down has no jobs that run, and is not started for it."""
    from paddock.cli.follow.examined_jobs import examine_jobs

    place = choose_place()
    machine = [look_at_machine((), "")] if place.home is not None else []
    if place.home is not None and not may_answer(place.home):
        return machine

    async def work(client: Client, place: ClusterChoice) -> list[Subject]:
        return await examine_jobs(client, place, namespace, report, read_prometheus(prometheus, place))

    return [*machine, *run_with_client(work)]


@contextmanager
def _progress() -> Iterator[Report]:
    """On a terminal, how much of a long log is read."""
    console = stderr()
    if not console.is_terminal:
        yield lambda _name, _size: None
        return
    with console.status("") as status:
        status.stop()
        shown = False

        def report(name: str, size: int) -> None:
            nonlocal shown
            if size < _LARGE:
                return
            if not shown:
                status.start()
                shown = True
            status.update(styled(localized(phrase("reading {name}: {size}", name=name, size=format_bytes(size)))))

        yield report
