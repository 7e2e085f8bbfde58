"""paddock board"""

from __future__ import annotations

import asyncio
import errno
import os
import sys
import time
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from paddock.app.boards.plan import Plan, ShownRun, explain_nothing, explain_plan, plan_board
from paddock.app.boards.shown import read_shown
from paddock.app.boards.tools import TOOLS, Tool
from paddock.app.home import Home
from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.context_flags import is_chosen
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.session import choose_place, connect, home
from paddock.cli.follow.kept_outputs import find_outputs
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.streams import print_line
from paddock.cli.output.terminal import stderr, stdout
from paddock.cli.verb import Verb
from paddock.words.phrases import Foreign, phrase

if TYPE_CHECKING:
    from paddock.app.boards.proxy import Access
    from paddock.cli.follow.cluster_board import Wanted

MOST = 32
"""Runs in one board."""
_LONGEST_NUMBER = 9


@click.command(name="board", cls=Verb)
@click.argument("words", metavar="JOB[:RUN]...", nargs=-1, required=True, shell_complete=complete_jobs)
@click.option("--run", "number", type=click.IntRange(min=1), metavar="N", help="Of this run, not of the last one.")
@click.option("--with", "wanted", type=click.Choice(list(TOOLS)), help="Which program (default: what has more files).")
@click.option("--no-browser", is_flag=True, help="Print the link, and open nothing.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="Where to listen (default: any "
              "free port).")  # fmt: skip
@click.option("--idle", type=click.IntRange(min=1), metavar="MINUTES", help="End when nobody has looked for so long.")
@click.option(
    "--claim", default="", metavar="CLAIM[:SUBPATH]", help="On a cluster: what lies in this claim of the job."
)
@click.option("--path", default="", metavar="PATH", help="On a cluster: this directory, as the job's programs see it.")
@click.option("--image", default="", metavar="IMAGE", help="On a cluster: an image that has the program (default: the "
              "job's).")  # fmt: skip
@click.option("--keep", is_flag=True, help="On a cluster: Ctrl-C leaves the pod, which goes when nobody looks.")
@namespace_option
@click.pass_context
def command(
    context: click.Context,
    words: tuple[str, ...],
    number: int | None,
    wanted: str | None,
    no_browser: bool,
    port: int,
    idle: int | None,
    claim: str,
    path: str,
    image: str,
    keep: bool,
    namespace: str,
) -> None:
    """TensorBoard or VisualDL over what jobs have written, live while they train.

    \b
    paddock board train               its last run
    paddock board train --run 3       another run of it
    paddock board train:3 resnet      runs side by side; without a number the last one
    paddock board train --with visualdl
    paddock board train --context prod    on a Kubernetes

    A program of PyTorch writes by SummaryWriter(os.environ["PADDOCK_OUTPUT_DIR"]), one of PaddlePaddle by
    LogWriter(os.environ["PADDOCK_OUTPUT_DIR"]); what it has written below the directory in which the run was started,
    as ./runs or ./vdl_log, is found too. TensorBoard or VisualDL is installed at the first use, beside your own
    packages.

    With --context it is a pod beside the job's, with the job's image, which must have TensorBoard or VisualDL: it reads
    the claim (PersistentVolumeClaim) to which the job writes, and goes with Ctrl-C, or when nobody has looked for ten
    minutes.

    It is open to you alone: the link lets in once, within five minutes. Ctrl-C ends it. On the laptop it works while
    the cluster is down.
    """
    if is_chosen(context):
        from paddock.app.boards.pod import IDLE_MINUTES
        from paddock.cli.follow.cluster_board import Wanted

        minutes = IDLE_MINUTES if idle is None else idle
        job = read_one(words, number)
        _serve_pod(
            Wanted(job, claim, path, image, wanted or "", minutes * 60, keep), namespace, port, opens=not no_browser
        )
        return
    refuse_options({"--claim": claim, "--path": path, "--image": image, "--keep": keep})
    place, tool = home(), TOOLS[wanted] if wanted else None
    runs = [find_shown(place, namespace, job, run) for job, run in read_words(words, number)]
    plan = plan_board(runs, tool)
    if plan is None:
        raise Failed(*explain_nothing(runs, tool))
    for said in explain_plan(plan):
        stderr().print(localized(said))
    environment = _build(place, plan.tool)
    _serve(plan, environment, port, idle, opens=not no_browser)


def read_one(words: Sequence[str], number: int | None) -> str:
    """The job of a board on a cluster, which has no numbers of runs. Raises `UserError`. Pure."""
    if number is not None or any(":" in each for each in words):
        raise UserError(phrase("a cluster keeps no runs of a job: name the job alone, without a number"))
    if len(words) > 1:
        raise UserError(
            phrase("on a cluster a board is of one job, here are {count}: begin one for each", count=len(words))
        )
    return words[0]


def refuse_options(values: Mapping[str, object]) -> None:
    """Those that are of a cluster. Raises `UserError`. Pure."""
    if given := next((name for name, value in values.items() if value), None):
        raise UserError(
            phrase("{option} is for a board on a cluster: name it by --context, or leave {option} out", option=given)
        )


def read_words(words: Sequence[str], number: int | None) -> list[tuple[str, int | None]]:
    """Jobs with the numbers of their runs, None for the last: `train:3 resnet`, `train 3 5`. Each once. Raises
    `UserError`. Pure."""
    found, name = list[tuple[str, int | None]](), ""
    for word, following in zip(words, (*words[1:], ""), strict=True):
        job, colon, text = word.partition(":")
        if colon and not (job and _is_number(text)):
            said = phrase("{word} is no run: a number stands behind the colon, as in {example}",
                          word=repr(word), example=f"{job or 'JOB'}:3")  # fmt: skip
            raise UserError(said)
        if name and _is_number(word):
            found.append((name, int(word)))
            continue
        if colon or not _is_number(following):  # else the name stands for the numbers behind it
            found.append((job, int(text) if colon else None))
        name = job
    return _with_number(list(dict.fromkeys(found)), number)


def _with_number(found: list[tuple[str, int | None]], number: int | None) -> list[tuple[str, int | None]]:
    if len(found) > MOST:
        said = phrase("at most {most} runs stand in one board, here are {count}", most=MOST, count=len(found))
        raise UserError(said)
    if number is None:
        return found
    if len(found) > 1 or found[0][1] is not None:
        said = phrase(
            "--run is of one job without a number: write {example} for each run", example=f"{found[0][0]}:{number}"
        )
        raise UserError(said)
    return [(found[0][0], number)]


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= _LONGEST_NUMBER and int(word) > 0


def find_shown(place: Home, namespace: str, job: str, number: int | None) -> ShownRun:
    """A run with what lies in its directories. Raises `UserError`, `Failed`."""
    record, found = find_outputs(place, namespace, job, number)
    return read_shown(job.rpartition("/")[2], record, found)


def _build(place: Home, tool: Tool) -> Path:
    """The directory of the program's packages, built at the first use with a bar. Raises `Failed`."""
    from paddock.app.boards.serve import build_packages
    from paddock.cli.follow.building import Builds
    from paddock.cli.output.screen import Screen
    from paddock.environments.failures import BuildFailed
    from paddock.environments.states import Building, build_status

    with Screen(language=readers_language()) as screen:
        builds = Builds(screen)

        def report(progress: Any) -> None:
            builds.show(tool.title, build_status(tool.definition, Building(progress)))
            screen.status(builds.live)

        try:
            return Path(asyncio.run(build_packages(place, tool, report)).path)
        except BuildFailed as failed:
            said = phrase("{tool} could not be installed: {why}", tool=tool.title, why=failed.message)
            raise Failed(said) from None


def _serve_pod(wanted: Wanted, namespace: str, port: int, *, opens: bool) -> None:
    """Until Ctrl-C, or until the pod ends. Raises `Failed`, `UserError`."""
    from paddock.app.boards.proxy import Access
    from paddock.app.boards.serve import serve_source
    from paddock.cli.follow.cluster_board import IdleEnd, PodBoard
    from paddock.serving.loop import run

    place = choose_place()

    def show(access: Access, port: int, problem: str) -> None:
        _show(access, port, problem, opens=opens)

    async def serve() -> None:
        async with connect(place) as client:
            access = Access(time.time())
            board = PodBoard(client, place, namespace, wanted, access)
            await serve_source(board, access, readers_language(), show, port=port)

    try:
        run(serve())
    except IdleEnd:
        _say_idle(wanted.idle // 60)
    except OSError as error:
        _refuse_port(port, error)


def _refuse_port(port: int, error: OSError) -> NoReturn:
    if error.errno not in (errno.EADDRINUSE, errno.EACCES):
        raise error
    said = phrase("port {port} cannot be taken ({why}): leave --port out, and any free one is", port=port,
                  why=str(error.strerror))  # fmt: skip
    raise Failed(said) from None


def _say_idle(minutes: int) -> None:
    stderr().print(localized(phrase("nobody has looked for {count} min: the board has ended", count=minutes)))


def _serve(plan: Plan, environment: Path, port: int, idle: int | None, *, opens: bool) -> None:
    """Until Ctrl-C, or `idle` minutes after the last request. Raises `Failed`."""
    from paddock.app.boards.process import BoardEnded
    from paddock.app.boards.serve import serve_board
    from paddock.serving.loop import run

    def show(access: Access, port: int, problem: str) -> None:
        _show(access, port, problem, opens=opens)

    seconds = None if idle is None else idle * 60.0
    try:
        is_idle = run(serve_board(plan, environment, readers_language(), show, port=port, idle=seconds))
    except BoardEnded as ended:
        said = phrase("the server of {tool} has ended by itself; it printed last:", tool=plan.tool.title)
        raise Failed(said, str(ended) or "-") from None
    except OSError as error:
        _refuse_port(port, error)
    if is_idle and idle:
        _say_idle(idle)


def _show(access: Access, port: int, problem: str, *, opens: bool) -> None:
    """Opens the link in the browser, or prints it."""
    from paddock.app.consoles.links import Link, has_display
    from paddock.cli.follow.consoles import explain_link

    pages = f"http://{access.host}:{port}"
    if problem:
        said = phrase("it runs without a sandbox ({why}), and could read what you can", why=Foreign(problem))
        stderr().print(localized(said))
    if opens and sys.stdout.isatty() and has_display(os.environ, sys.platform) and webbrowser.open(pages + access.link):
        # without the ticket: what a terminal shows is copied, recorded and shared
        stdout().print(localized(phrase("{address} is open in the browser", address=f"{pages}/")))
    else:
        print_line(pages + access.link, flush=True)
        for said in explain_link(
            Link(f"http://127.0.0.1:{port}{access.link}", access.host), far="SSH_CONNECTION" in os.environ
        ):
            stderr().print(localized(said))
    stderr().print(localized(phrase("Ctrl-C ends the board")))
