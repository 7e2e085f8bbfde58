"""What takes room and may go, by sorts; what a job needs that has not ended is left out, and said.

    environments    built directories that no unfinished job, no pod and no program uses, and leftovers of builds
    images          layers that pushed images were made of
    caches          scripts of functions that the Python calls wrote
    outputs         results and checkpoints of runs that have ended
    logs            of runs that have ended
    history         records of runs whose jobs are deleted, with their logs

The first three come back by themselves. Nothing is removed here (`app.cleaning.removal`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paddock.app.boards.tools import TOOLS
from paddock.app.cleaning.uses import Needs
from paddock.app.cleaning.weights import Links, Weight, read_links, weigh
from paddock.app.datasets import HUBS
from paddock.app.history import KEPT, read_place
from paddock.app.home import Home
from paddock.app.outputs import read_job_name
from paddock.environments.definition import Definition
from paddock.environments.directories import (
    Built,
    check_stamp,
    list_keys,
    list_paths,
    locked,
    read_directory,
    wanted_note,
)
from paddock.environments.requirements import requirement_name
from paddock.history.logs import PodLogs, find_pod_logs
from paddock.history.records import RunRecord, path_of, read_records
from paddock.kube.pod_logs import read_directory as read_log_directory
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase

_WORK_SECONDS = 2 * 86400.0
"""A folder of a build of an image that is younger may be in use (`images.building`)."""

SORTS: Mapping[str, Phrase] = {
    "environments": phrase("packages: installed again when a job needs them"),
    "images": phrase("layers with packages: made again by the next image that needs them"),
    "caches": phrase("scripts of functions: written again by the next call"),
    "outputs": phrase("results and checkpoints of runs that have ended: nothing makes them again"),
    "logs": phrase("what runs that have ended have printed"),
    "history": phrase("the runs of deleted jobs: numbers, notes, hours of `paddock usage`, and their logs"),
}
"""What is lost with each sort."""
REMADE = ("environments", "images", "caches")
"""The sorts that come back by themselves."""
BEING_BUILT = phrase("it is being built, or removed")


@dataclass(frozen=True, slots=True)
class Thing:
    """What goes as a whole."""

    sort: str
    name: Phrase | str
    paths: tuple[Path, ...]
    key: str = ""
    """Of an environment."""
    record: RunRecord | None = None
    """Of the history, and of logs."""
    links: Links = field(default_factory=dict, repr=False, compare=False)

    @property
    def weight(self) -> Weight:
        return weigh(self.links)


@dataclass(frozen=True, slots=True)
class Remainder:
    """What stays, and why."""

    sort: str
    name: Phrase | str
    why: Phrase


def find_things(home: Home, needs: Needs, sorts: Iterable[str]) -> tuple[list[Thing], list[Remainder]]:
    """The things of these sorts, with their weights, and what is held."""
    found: list[Thing | Remainder] = []
    for sort in sorts:
        why = dict(needs.unknown).get(home.root) if sort not in REMADE else None
        if why is None:
            found += _FINDERS[sort](home, needs)
        else:
            found.append(Remainder(sort, str(home.root), _explain_unknown(home.root, why)))
    return [each for each in found if isinstance(each, Thing)], [each for each in found if isinstance(each, Remainder)]


def list_orphans(home: Home, needs: Needs) -> list[Path]:
    """Built directories that no Environment has, of any home, and no program of Paddock. None where a home is not
    known."""
    if needs.unknown:
        return []
    root = home.cache / "environments"
    return [root / key for key in list_keys(root) if not _name(root, key, needs) and (root / key).is_dir()]


def _weighed(sort: str, name: Phrase | str, *paths: Path, key: str = "", record: RunRecord | None = None) -> Thing:
    return Thing(sort, name, paths, key, record, read_links(paths))


# Environments


def _find_environments(home: Home, needs: Needs) -> Iterator[Thing | Remainder]:
    root = home.cache / "environments"
    for key in list_keys(root):
        name = _name(root, key, needs) or phrase("{key}, which no environment has", key=key)
        if (why := explain_needed(root, key, needs)) is not None:
            yield Remainder("environments", name, why)
        else:
            yield _weighed("environments", name, *list_paths(root, key), key=key)


def _name(root: Path, key: str, needs: Needs) -> str:
    """The Environments that have this directory, or the program of Paddock that is installed in it; empty if none."""
    named = sorted({name for uses in needs.all for name in uses.built.get(key, ())})
    built = None if named else read_directory(root, key)
    if built is not None:
        programs = (*(each.definition for each in TOOLS.values()), *HUBS.values())
        named = [each.name for each in programs if _is_of_program(built, each)]
    return ", ".join(named)


def _is_of_program(built: Built, program: Definition) -> bool:
    first = requirement_name(program.requirements[0])
    names = {name.lower().replace("_", "-") for name in built.packages}
    return first.replace("_", "-") in names and check_stamp(Path(built.path), program).exists()


def explain_needed(root: Path, key: str, needs: Needs) -> Phrase | None:
    """Why the files of a built directory stay; None where they may go."""
    if (why := explain_user(key, needs)) is not None:
        return why
    try:
        with locked(root, key) as held:
            return None if held else BEING_BUILT
    except OSError as error:
        return phrase("its lock cannot be taken: {why}", why=explain_unreadable(error))


def explain_user(key: str, needs: Needs) -> Phrase | None:
    """Why a user of a built directory, known or possible, keeps it; None without one."""
    user = next((uses.used[key] for uses in needs.all if key in uses.used), None)
    if user is not None:
        return phrase("in use by {user}", user=user)
    if key in needs.running:
        return phrase("a program runs in it")
    if needs.unknown:
        return _explain_unknown(*needs.unknown[0])
    return None


def find_environment(home: Home, name: str, key: str, needs: Needs) -> Thing | Remainder:
    """The files of an Environment that is removed. Another one with the same content holds them, unless it comes with
    Paddock and nothing has ever wanted it."""
    root = home.cache / "environments"
    others = (
        other
        for uses in needs.all
        for other in uses.built.get(key, ())
        if (uses is not needs.own or other != name)
        and (other not in uses.seeded or wanted_note(root / key, other).exists())
    )
    why = explain_needed(root, key, needs)
    if why is None and (other := next(others, None)) is not None:
        why = phrase("environment {name} has the same", name=other)
    if why is not None:
        return Remainder("environments", name, why)
    return _weighed("environments", name, *list_paths(root, key), key=key)


def _explain_unknown(path: Path, why: Phrase | str) -> Phrase:
    return phrase("what the cluster of {path} uses is not known: {why}", path=str(path), why=why)


# What else comes back by itself


def _find_images(home: Home, _: Needs) -> Iterator[Thing | Remainder]:
    root = home.cache / "images"
    if any(time.time() - each.lstat().st_mtime < _WORK_SECONDS for each in root.glob("work-*")):
        yield Remainder("images", str(root), phrase("an image may be being built there at this moment"))
        return
    for path in _list(root):
        yield _weighed("images", path.name, path)


def _find_caches(home: Home, needs: Needs) -> Iterator[Thing | Remainder]:
    for path in _list(home.cache / "functions"):
        if needs.unknown or any(path.name in uses.manifests for uses in needs.all):
            yield Remainder("caches", path.name, phrase("a job that has not ended runs it, or may"))
        else:
            yield _weighed("caches", path.name, path)


# What does not


def _find_outputs(home: Home, needs: Needs) -> Iterator[Thing | Remainder]:
    for path in (path for space in _list(home.outputs) if not space.is_symlink() for path in _list(space)):
        namespace, job = path.parent.name, read_job_name(path.name).removeprefix(".")
        if not job or path.is_symlink() or not path.is_dir():
            continue
        name = f"{namespace}/{path.name}"
        if (namespace, job) in needs.own.names:
            yield Remainder("outputs", name, phrase("{job} has not ended or is held, and may need it", job=job))
        else:
            yield _weighed("outputs", name, path, path.with_name(f"{path.name}.json"))


def _find_logs(home: Home, needs: Needs) -> Iterator[Thing | Remainder]:
    records = {each.uid: each for each in read_records(home.history) if isinstance(each, RunRecord)}
    for uid, logs in _group(home, needs).items():
        owner = logs[0].owner
        yield _weighed("logs", f"{owner.namespace}/{owner.name}", *_directories(logs), record=records.get(uid))


def _group(home: Home, needs: Needs) -> dict[str, list[PodLogs]]:
    """The logs of runs that have ended, by their UIDs."""
    found: dict[str, list[PodLogs]] = {}
    for each in find_pod_logs(home.pod_logs, read_place):
        pod = read_log_directory(each.directory.name).uid
        if KEPT.has(each.owner.api_version, each.owner.kind) and not needs.own.active & {pod, each.owner.uid}:
            found.setdefault(each.owner.uid, []).append(each)
    return found


def _directories(logs: Iterable[PodLogs]) -> list[Path]:
    return [each.directory for each in logs]


def _find_history(home: Home, needs: Needs) -> Iterator[Thing | Remainder]:
    logs = _group(home, needs)
    for each in read_records(home.history):
        if not isinstance(each, RunRecord):
            continue
        name = phrase("run {run} of {job}", run=each.run, job=f"{each.namespace}/{each.name}")
        if each.uid in needs.own.listed:
            yield Remainder("history", name, phrase("its job is listed: `{command}` first", command=_delete(each)))
        elif each.uid not in needs.own.active:
            record = path_of(home.history, each)
            paths = (record, record.with_suffix(".note"), *_directories(logs.get(each.uid, ())))
            yield _weighed("history", name, *paths, record=each)


def _delete(record: RunRecord) -> str:
    flag = "" if record.namespace == "default" else f" -n {record.namespace}"
    return f"paddock delete {record.name}{flag}"


def _list(directory: Path) -> list[Path]:
    try:
        return sorted(Path(each.path) for each in os.scandir(directory))
    except OSError:
        return []


_FINDERS: Mapping[str, Callable[[Home, Needs], Iterator[Thing | Remainder]]] = {
    "environments": _find_environments,
    "images": _find_images,
    "caches": _find_caches,
    "outputs": _find_outputs,
    "logs": _find_logs,
    "history": _find_history,
}
