"""Does a file of the user's own hide a module of Python? What the error does not say, the directories do. I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.model import Job
from paddock.logs.hidden_modules import Hidden, list_files, read_doubtful, read_hidden, tell_hidden
from paddock.words.phrases import Phrase


def explain_hidden(job: Job | None, error: str, text: str = "", *, local: bool) -> Phrase | None:
    """`error`: of a rank that failed; `text`: the end of its log; `local`: it ran on this machine, so its files are
    here. None where nothing is hidden for certain."""
    files = list_files(text)
    hidden = read_hidden(error, files)
    module = hidden.module if hidden is not None else read_doubtful(error)
    if local and module and (hidden is None or not Path(hidden.file).is_absolute()):
        directory = job.annotations.get(WORKING_DIRECTORY_ANNOTATION, "") if job is not None else ""
        hidden = next(_look(module, directory, files), hidden)
    return tell_hidden(hidden) if hidden is not None else None


def _look(module: str, directory: str, files: Sequence[str]) -> Iterator[Hidden]:
    """Python looks beside the script, which is the first frame's file."""
    for place in dict.fromkeys((*(str(Path(each).parent) for each in files[:1]), directory)):
        path = Path(place) / f"{module}.py"
        try:
            if place and path.is_absolute() and path.is_file():
                yield Hidden(module, str(path))
        except OSError:
            continue
