"""paddock outputs"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.app.outputs import RunDirectory, find_written, list_files
from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.context_flags import is_chosen
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.session import choose_place, connect, home
from paddock.cli.follow.kept_outputs import explain_written, find_outputs
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import print_table, stderr, stdout
from paddock.cli.verb import Verb
from paddock.jobs.variables import read_own_directory
from paddock.kube.quantities import format_bytes
from paddock.words.phrases import Names, Phrase, counted, phrase

if TYPE_CHECKING:
    from paddock.app.claimed.fetching import Fetched
    from paddock.app.claimed.files import Listing
    from paddock.cli.follow.cluster_outputs import ClusterOutputs, Wanted
    from paddock.cli.follow.fetched_outputs import Found
    from paddock.history.records import RunRecord


@click.command(name="outputs", cls=Verb)
@click.argument("job", metavar="JOB", shell_complete=complete_jobs)
@click.option("--run", "number", type=click.IntRange(min=1), metavar="N", help="Of this run, not of the last one.")
@click.option("-l", "--list", "lists", is_flag=True, help="List its files with their sizes.")
@click.option("-o", "output", type=click.Choice(["path", "json"]), default="path", help="How to print it.")
@click.option("--to", "to", default="", metavar="DIR", help="Copy its files into this directory, which is made. The "
              "same command goes on where it stopped.")  # fmt: skip
@click.option("--claim", default="", metavar="CLAIM", help="On a cluster: the claim of a job that is deleted.")
@click.option("--image", default="", metavar="IMAGE", help="On a cluster: an image that has python3 (default: the "
              "job's).")  # fmt: skip
@namespace_option
@click.pass_context
def command(
    context: click.Context,
    job: str,
    number: int | None,
    lists: bool,
    output: str,
    to: str,
    claim: str,
    image: str,
    namespace: str,
) -> int:
    """Print the directory with what a job has written, of its last run or of any that is kept, or copy it.

    \b
    cd "$(paddock outputs train)"
    paddock outputs train -l
    paddock outputs train --run 3
    paddock outputs train --context prod --to results

    A program of a job writes its results to the directory in PADDOCK_OUTPUT_DIR, and what a later run may resume from
    to the one in PADDOCK_CHECKPOINT_DIR. Each run of a job has its own. On the laptop they are kept as long as the run
    is in `paddock history` and for 30 days after their last change, and those of a job's last run for ever. Works while
    the cluster is down.

    On a cluster they are in the claim (PersistentVolumeClaim) that the job names, by --outputs of `paddock run` or the
    annotation paddock.dev/outputs, also when the job is deleted. They are read in a pod of the job that runs, else in a
    pod of its own with the claim read-only, which goes with the command. Each file is checked by its digest.
    """
    if is_chosen(context):
        from paddock.cli.follow.cluster_outputs import Wanted

        return _read_cluster(Wanted(job, number, claim, image), namespace, lists, output, to)
    refuse_options({"--claim": claim, "--image": image})
    return _read_local(job, number, namespace, lists, output, to)


def refuse_options(values: Mapping[str, object]) -> None:
    """Those that are of a cluster. Raises `UserError`. Pure."""
    if given := next((name for name, value in values.items() if value), None):
        said = phrase("{option} is for a cluster: name it by --context, or leave {option} out", option=given)
        raise UserError(said)


def _read_local(job: str, number: int | None, namespace: str, lists: bool, output: str, to: str) -> int:
    name = job.rpartition("/")[2]
    record, found = find_outputs(home(), namespace, job, number)
    path, run = found.path, None if record is None else record.run
    own = read_own_directory(record.spec) if record else ""
    if own and Path(own).is_dir():
        path = Path(own)
    files = list_files(path)
    fetched, listing = None, None
    if to:
        from paddock.cli.follow.fetched_outputs import copy_run

        fetched, listing = copy_run(path, [file for file, _ in files], Path(to), name, found.mark)
        path = Path(to).absolute()
    if output == "json":
        print_line(write_json(build_answer(namespace, name, run, found, path, files), indent=2))
    else:
        _print_files(str(path), files, run, lists=lists)
        if not files and (elsewhere := _find_elsewhere(record, found)):
            stderr().print(localized(elsewhere))
    return _tell_fetched(fetched, listing)


def _find_elsewhere(record: RunRecord | None, found: RunDirectory) -> Phrase | None:
    """Where a run wrote that left nothing in its own directory, as a script does that knows nothing of Paddock."""
    if record is None or not record.directory:
        return None
    ended = time.time() if record.ended is None else record.ended
    return explain_written(record.directory, find_written(record.directory, found.started, ended))


def _print_files(path: str, files: Sequence[tuple[str, int]], run: int | None, *, lists: bool) -> None:
    if lists:
        print_table(stdout(), ("SIZE", "FILE"), [(format_bytes(size), file) for file, size in files], cut=False)
    else:
        print_line(path)
    stderr().print(localized(summarize(run, files)))


def _tell_fetched(fetched: Fetched | None, listing: Listing | None) -> int:
    """The exit code."""
    if fetched is None or listing is None:
        return 0
    from paddock.cli.follow.fetched_outputs import explain_fetched

    for said in explain_fetched(fetched, listing):
        stderr().print(localized(said))
    return 1 if fetched.failed or listing.more else 0


def _read_cluster(wanted: Wanted, namespace: str, lists: bool, output: str, to: str) -> int:
    """Raises `UserError`, `Failed`, `ApiError`."""
    from paddock.app.claimed.files import show_path
    from paddock.cli.follow.cluster_outputs import ClusterOutputs
    from paddock.cli.follow.fetched_outputs import fetch_run, find_files
    from paddock.cli.output.interrupts import Signalled, until_signalled
    from paddock.serving.loop import run

    place = choose_place()

    async def read() -> tuple[ClusterOutputs, Found, Fetched | None]:
        async with connect(place) as client:
            outputs = ClusterOutputs(client, place, namespace, wanted)
            await outputs.find()
            async with outputs.open():
                if to:
                    return outputs, *await fetch_run(outputs, Path(to))
                async with outputs.talk() as conversation:
                    return outputs, await find_files(outputs, conversation), None

    try:
        outputs, found, fetched = run(until_signalled(read()))
    except Signalled as by:
        return by.code
    sizes = fetched.changed if fetched is not None else {}
    files = sorted((show_path(each.path), sizes.get(each.path, each.size)) for each in found.listing.files)
    _print_cluster(outputs, found, files, namespace, to, lists=lists, json=output == "json")
    return _tell_fetched(fetched, found.listing)


def _print_cluster(
    outputs: ClusterOutputs, found: Found, files: list[tuple[str, int]], namespace: str, to: str, *, lists: bool,
    json: bool,
) -> None:  # fmt: skip
    from paddock.app.claimed.files import MOST_FILES
    from paddock.cli.follow.fetched_outputs import explain_left_out

    number = found.run.number or None if found.run else None
    inside = f"{outputs.claim}:{outputs.name}/{found.below or outputs.run_uid}"
    path = str(Path(to).absolute()) if to else inside
    if json:
        answer = build_cluster_answer(namespace, outputs.name, number, inside, path, files)
        print_line(write_json({**answer, "runs": [each.number for each in found.runs if each.number]}, indent=2))
        return
    _print_files(path, files, number, lists=lists)
    if to:
        return
    for said in explain_left_out(found.listing, MOST_FILES):
        stderr().print(localized(said))
    if len(found.runs) > 1:
        kept = Names(tuple(str(each.number) for each in found.runs if each.number), most=8)
        stderr().print(localized(phrase("the claim has the runs {runs}: --run names one", runs=kept)))
    if files:
        command = f"{outputs.advise()} --to DIR"
        stderr().print(localized(phrase("`{command}` copies them", command=command)))


def summarize(run: int | None, files: Sequence[tuple[str, int]]) -> Phrase:
    """`run 3: 4 files, 14 MiB`"""
    said = counted(
        "{count} file, {size}",
        "{count} files, {size}",
        count=len(files),
        size=format_bytes(sum(size for _, size in files)),
    )
    if not files:
        said = phrase("nothing is in it: a program writes its results to the directory in PADDOCK_OUTPUT_DIR")
    return said if run is None else phrase("run {run}: {what}", run=run, what=said)


def build_answer(
    namespace: str, name: str, run: int | None, found: RunDirectory, path: Path, files: list[tuple[str, int]]
) -> dict[str, Any]:
    return _build_answer(namespace, name, run, str(path), str(found.checkpoints), files)


def build_cluster_answer(
    namespace: str, name: str, run: int | None, inside: str, path: str, files: list[tuple[str, int]]
) -> dict[str, Any]:
    """`inside`: `CLAIM:DIRECTORY`."""
    return {**_build_answer(namespace, name, run, path, f"{inside}/checkpoint", files), "claim": inside}


def _build_answer(
    namespace: str, name: str, run: int | None, path: str, checkpoints: str, files: list[tuple[str, int]]
) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "job": name,
        "run": run,
        "path": path,
        "checkpoints": checkpoints,
        "bytes": sum(size for _, size in files),
        "files": [{"path": file, "bytes": size} for file, size in files],
    }
