"""Runs first in a rank's pod, by the Python of its image, as old as 3.6 (`jobs.objects.outputs_program`)."""
# ruff: noqa: UP006, UP007, UP035 - Python 3.6

import errno
import itertools
import json
import os
import sys
from typing import Any, Dict, List, NamedTuple, NoReturn, Tuple, Union

MOST_RUNS = 10000

Number = Union[int, str, None]
Other = Tuple[str, int, str, Any]


class Run(NamedTuple):
    claim: str
    job: str
    uid: str
    kind: str
    created: str
    resume: str
    name: str

    @property
    def top(self) -> str:
        return os.path.join(self.claim, self.job)

    @property
    def path(self) -> str:
        return os.path.join(self.top, self.uid)

    @property
    def checkpoints(self) -> str:
        return os.path.join(self.path, "checkpoint")


def end(said: str) -> NoReturn:
    sys.stderr.write(said + "\n")
    sys.exit(3)


def tell(said: str) -> None:
    sys.stdout.write(said + "\n")
    try:
        with open("/dev/termination-log", "w") as file:
            file.write(said)
    except OSError:
        pass


def make(claim: str, path: str) -> None:
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    try:  # as a kubelet makes a subPath: who may write into the claim may write here
        os.chmod(path, os.stat(claim).st_mode & 0o2777)
    except OSError:
        pass


def read(path: str) -> Dict[str, Any]:
    try:
        with open(path) as file:
            found = json.loads(file.read(65536))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def has_files(path: str) -> bool:
    return not os.path.islink(path) and any(files for _, _, files in os.walk(path))


def list_others(run: Run) -> List[Other]:
    """The newest first: when it was started, its number, UID and kind."""
    found = []
    with os.scandir(run.top) as entries:
        for each in itertools.islice(entries, MOST_RUNS):
            uid, suffix = os.path.splitext(each.name)
            if suffix == ".json" and uid != run.uid:
                facts = read(each.path)
                number = facts.get("run")
                number = number if isinstance(number, int) else 0
                found.append((str(facts.get("started") or ""), number, uid, facts.get("kind")))
    return sorted(found, key=lambda each: each[:3], reverse=True)


def move(run: Run, others: List[Other]) -> Number:
    checkpoints = run.checkpoints
    for _, number, uid, _ in others:
        source = os.path.join(run.top, uid, "checkpoint")
        if os.path.lexists(checkpoints):  # another rank was first
            return None
        if has_files(source):
            try:
                os.rename(source, checkpoints)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                    continue
                raise
            tell(f"resumes from the checkpoints of run {number or uid}")
            return number or uid
    return None


def begin(run: Run, others: List[Other]) -> Number:
    others = [each for each in others if each[3] == run.kind]
    if run.resume == "true":
        resumed = move(run, others)
        if resumed is None and not os.path.lexists(run.checkpoints):
            tell(f"nothing to resume: no earlier run of {run.job} has checkpoints in the claim {run.name}")
        return resumed
    resumed = move(run, [each for each in others if str(each[1]) == run.resume])
    if resumed is None and not os.path.lexists(run.checkpoints):
        have = [each[1] for each in others if each[1] and has_files(os.path.join(run.top, each[2], "checkpoint"))]
        there = "; those that have some: " + ", ".join(map(str, sorted(have)[-8:])) if have else ""
        end(f"run {run.resume} of {run.job} has no checkpoints in the claim {run.name}{there}")
    return resumed


def record(run: Run, others: List[Other], resumed: Number) -> None:
    path, number = run.path + ".json", 1 + max([each[1] for each in others] or [0])
    facts = {"run": number, "kind": run.kind, "started": run.created, "resumed": resumed}
    fresh = f"{path}.{os.uname()[1]}-{os.getpid()}"
    with open(fresh, "w") as file:
        file.write(json.dumps(facts) + "\n")
    if resumed is not None:  # the rank that has moved checkpoints knows better, whenever it comes
        os.rename(fresh, path)
        return
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        if not os.path.lexists(path):
            os.rename(fresh, path)
            return
    os.unlink(fresh)


def explain(run: Run, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the claim {run.name} is full ({error.strerror})"
    if error.errno == errno.EROFS:
        return f"the claim {run.name} can be read only: name one that can be written to"
    if error.errno in (errno.EACCES, errno.EPERM):
        top = os.stat(run.claim)
        return (
            f"user {os.getuid()} may not write into the claim {run.name}, whose top directory is of user {top.st_uid} "
            f"and group {top.st_gid} with mode {top.st_mode & 0o7777:o}: set securityContext.fsGroup in the template "
            "of the job's pods, or let an administrator open the directory"
        )
    return f"the claim {run.name} cannot be prepared: {error}"


def prepare(run: Run) -> None:
    try:
        make(run.claim, run.top)
        make(run.claim, run.path)
        others = list_others(run)
        if not os.path.lexists(run.path + ".json"):
            resumed = None  # type: Number
            if run.resume and not os.path.lexists(run.checkpoints):
                resumed = begin(run, others)
            record(run, others, resumed)
        make(run.claim, run.checkpoints)
    except OSError as error:
        end(explain(run, error))


if __name__ == "__main__":
    prepare(Run(*sys.argv[1:8]))
