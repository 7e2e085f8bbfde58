"""What a cluster's console keeps, as the files of a home: what reads those of a laptop (`history`, `logs`, `compare`)
reads these.

Records are fetched whole; of logs their sizes and times, and the bytes of those alone that a command prints. The files
are this user's alone, and are removed when the command ends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from paddock.app.history import History
from paddock.app.home import Home
from paddock.cli.cluster.lookup import is_pod_word, read_job_word, split_pod
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.follow.keepers import Keeper, Unseen, open_keeper
from paddock.cli.follow.kept_runs import choose_logs, find_kept
from paddock.cli.follow.print_logs import Request, name_one_rank, print_kept
from paddock.cli.output.language import localized
from paddock.cli.output.terminal import stderr
from paddock.history.answers import KeptFile, Runs
from paddock.history.holes import explain_holes
from paddock.history.logs import LogFile
from paddock.history.records import is_file_name, write_record
from paddock.kube.log_marks import SUFFIX
from paddock.kube.pod_logs import OWNER_FILE
from paddock.words.phrases import Phrase, counted, phrase


@dataclass(frozen=True, slots=True)
class Fetched:
    """`answer`: the console's, with what is to be said of it."""

    history: History
    answer: Runs
    unseen: tuple[Phrase | str, ...] = ()
    """Why the ranks of attempts are not known."""

    def tell(self) -> Iterator[Phrase | str]:
        """What a reader is to know who takes this for all there is."""
        yield from self.answer.troubles
        yield from self.unseen
        if self.answer.older:
            yield counted("{count} older run is kept and not shown", "{count} older runs are kept and not shown",
                          count=self.answer.older)  # fmt: skip


@contextmanager
def temporary_home() -> Iterator[Home]:
    with TemporaryDirectory(prefix="paddock-") as directory:  # 0700
        home = Home(Path(directory), Path(directory) / "cache")
        home.pod_logs.mkdir(mode=0o700, parents=True)
        yield home


async def fetch_history(
    place: ClusterChoice, home: Home, namespace: str, name: str = "", *, ranks: bool = False
) -> Fetched:
    """The runs of a namespace, or of one name, into `home`. `ranks`: with the list of their logs, where this reader may
    read them. Raises as `open_keeper`."""
    async with open_keeper(place) as keeper:
        answer = await keeper.fetch_runs(namespace, name)
        write_runs(home, answer)
        if not ranks or not answer.runs:
            return Fetched(History(home), answer)
        try:
            lay_out(home, (await keeper.fetch_logs(namespace, name)).logs)
        except Unseen as error:
            return Fetched(History(home), answer, error.said[-1:])
    return Fetched(History(home), answer)


async def print_fetched_runs(
    place: ClusterChoice, namespace: str, word: str, request: Request, current: str = ""
) -> int | None:
    """Prints the logs that the console keeps of the job, or of the pod, that `word` names; the exit code. None where it
    keeps none. `current`: as in `print_kept`. Raises as `open_keeper`, and `UserError`."""
    with temporary_home() as home:
        history, files = History(home), dict[Path, KeptFile]()
        async with open_keeper(place) as keeper:
            name, which = read_job_word(word)[1] if not is_pod_word(word) else "", request.which
            answer = await keeper.fetch_runs(namespace, name) if name else Runs()
            if not answer.runs and (pod := split_pod(word)):
                name, which = pod[0], name_one_rank(which, pod[1].role, pod[1].index)
                answer = await keeper.fetch_runs(namespace, name)
            if not answer.runs:
                return None
            write_runs(home, answer)
            files = lay_out(home, (await keeper.fetch_logs(namespace, name)).logs)
            now = time.time()
            runs = find_kept(history, namespace, name if which is not request.which else word)
            if not runs:
                return None
            _, chosen, _ = choose_logs(history, word, runs, which, now)
            await _download(keeper, namespace, chosen, files, marks=which.since is not None)
        lacks = [said for each in chosen if each.path in files for said in explain_lacks(each.rank, files[each.path])]
        code = print_kept(
            history, namespace, word, request, current, place.flags, now, numbered=True, whole=not lacks
        )  # fmt: skip
        if code is not None:
            for said in (*Fetched(history, answer).tell(), *lacks):
                stderr().print(said if isinstance(said, str) else localized(said), markup=False, highlight=False)
        return code


def explain_lacks(rank: str, file: KeptFile) -> Iterator[Phrase]:
    """What a kept log lacks. Pure."""
    if file.stopped is not None:
        yield phrase("{rank}: the kept log stops at {size} bytes, as there was no room for more",
                     rank=rank, size=file.stopped)  # fmt: skip
    yield from explain_holes(rank, file.gaps, file.missed)


async def _download(
    keeper: Keeper, namespace: str, chosen: Sequence[LogFile], files: dict[Path, KeptFile], *, marks: bool
) -> None:
    """One after another: a command prints them so too, and one reader of many has one place at the console."""
    for each in chosen:
        file = files.get(each.path)
        if file is None:
            continue
        await keeper.download(namespace, file, each.path.name, each.path)
        if marks:
            beside = each.path.with_suffix(SUFFIX)
            await keeper.download(namespace, file, beside.name, beside)
        os.utime(each.path, (each.modified, each.modified))


def write_runs(home: Home, answer: Runs) -> None:
    for record in answer.runs:
        write_record(home.history, record)


def lay_out(home: Home, logs: Sequence[KeptFile]) -> dict[Path, KeptFile]:
    """Empty files of the logs' sizes and times, by their paths, with whose they are. A name that is no file's, which no
    console sends, is left out."""
    laid = {}
    for each in logs:
        parts = (each.directory, each.container, each.file)
        if not (is_file_name(each.container) and is_file_name(each.file) and is_file_name(each.directory)):
            continue
        pod = home.pod_logs / parts[0]
        (pod / each.container).mkdir(mode=0o700, parents=True, exist_ok=True)
        (pod / OWNER_FILE).write_bytes(msgspec.json.encode(replace(each.owner)))
        path = pod / each.container / each.file
        path.touch(mode=0o600)
        os.truncate(path, each.size)
        os.utime(path, (each.modified, each.modified))
        laid[path] = each
    return laid
