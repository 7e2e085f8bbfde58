"""What a board on a cluster shows: a directory of a claim that the job's pods mount. Pure.

The job's containers say where they write: PADDOCK_OUTPUT_DIR among their variables, or an option of the program such as
--log_dir. Where they say nothing and mount one claim to write to, it is that; else the command line has to say.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from paddock.jobs.apis.outputs import OUTPUT_PATH
from paddock.jobs.model import Job, Role
from paddock.jobs.objects.outputs import run_path
from paddock.jobs.variables import read_own_directory
from paddock.launches.containers import read_kept
from paddock.views.outputs import find_places, trained_container
from paddock.words.phrases import Names, Phrase, phrase

OPTIONS = frozenset(
    {"log_dir", "logdir", "logging_dir", "tensorboard_dir", "tb_dir", "tb_log_dir", "visualdl_dir", "vdl_dir",
     "vdl_log_dir", "output_dir", "save_dir", "save_log_path"}
)  # fmt: skip
"""Options of programs that name a directory to which they write, with _ for -. Those of launchers are none: what a rank
prints goes there."""


@dataclass(frozen=True, slots=True)
class ClaimMount:
    """A place at which the pods of a role have a claim."""

    claim: str
    path: str
    """mountPath."""
    below: str = ""
    """subPath."""
    read_only: bool = False
    varies: bool = False
    """subPathExpr: each pod has another directory of the claim, and which one is not known."""
    role: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown."""

    mount: ClaimMount
    directory: str
    """Absolute, in the board's pod, which has the claim where the job's pods have it."""


class Unclear(Exception):
    """Nothing says which directory is meant, or what was typed is none; `said`: lines."""

    def __init__(self, *said: Phrase) -> None:
        super().__init__("\n".join(map(str, said)))
        self.said = said


def list_mounts(job: Job) -> list[ClaimMount]:
    """Those of the containers that train, role by role."""
    return [each for role in job.roles for each in _read_mounts(job, role)]


def _read_mounts(job: Job, role: Role) -> Iterator[ClaimMount]:
    if job.outputs:  # the operator mounts it (`jobs.objects.outputs`)
        yield ClaimMount(job.outputs, OUTPUT_PATH, run_path(job), role=role.name)
    volumes = {str(each.get("name")): each for each in role.template["spec"].get("volumes") or ()}
    for mount in trained_container(job, role).get("volumeMounts") or ():
        source = volumes.get(str(mount.get("name")), {}).get("persistentVolumeClaim") or {}
        if claim := str(source.get("claimName") or ""):
            yield ClaimMount(
                claim,
                str(mount.get("mountPath") or "/"),
                str(mount.get("subPath") or ""),
                read_only=bool(mount.get("readOnly") or source.get("readOnly")),
                varies=bool(mount.get("subPathExpr")),
                role=role.name,
            )


def list_named(job: Job) -> list[str]:
    """The absolute directories to which the containers that train say that they write, each once."""
    found = list[str]()
    for role in job.roles:
        container = trained_container(job, role)
        own = read_own_directory(container.get("env")) or (OUTPUT_PATH if job.outputs else "")
        found += filter(None, [own])
        found += _read_options(container)
    return list(dict.fromkeys(found))


def _read_options(container: Mapping[str, Any]) -> Iterator[str]:
    for launch in read_kept(container).launches:
        words = [word.text for word in launch.arguments]
        for word, following in pairwise([*words, None]):
            name, joined, value = (word or "").partition("=")
            if name.startswith("--") and name[2:].replace("-", "_") in OPTIONS:
                path = value if joined else following
                if path and path.startswith("/"):
                    yield path


def choose_shown(job: Job, claim: str, below: str, path: str, typed: str) -> Shown:
    """`claim`, `below`: of --claim NAME:SUBPATH; `path`: of --path; each empty without. `typed`: the command that is
    advised with another option. Raises `Unclear`."""
    mounts = list_mounts(job)
    if not mounts:
        raise Unclear(*_explain_no_claim(job))
    if claim and not any(each.claim == claim for each in mounts):
        names = Names(tuple(dict.fromkeys(each.claim for each in mounts)))
        raise Unclear(phrase("{job} mounts no claim {claim}; it mounts {names}",
                             job=job.key.name, claim=repr(claim), names=names))  # fmt: skip
    considered = [each for each in mounts if not claim or each.claim == claim]
    if below:
        return _show_below(considered[0], below)
    if path:
        return _show_path(job, considered, path, typed)
    return _show_said(job, considered, typed, chosen=bool(claim))


def _show_below(mount: ClaimMount, below: str) -> Shown:
    """Of the whole claim, whatever part of it the job mounts."""
    if ".." in below.split("/"):
        raise Unclear(phrase("{path} leads out of the claim: name a directory in it", path=repr(below)))
    whole = replace(_without_role(mount), below="", varies=False)
    return Shown(whole, posixpath.normpath(posixpath.join(mount.path, below.strip("/"))))


def _show_path(job: Job, mounts: Sequence[ClaimMount], path: str, typed: str) -> Shown:
    if not path.startswith("/") or ".." in path.split("/"):
        said = phrase("--path wants an absolute path, as the job's programs see it, not {path}", path=repr(path))
        raise Unclear(said)
    found = _find_holding(mounts, path)
    if not found:
        raise Unclear(phrase("no claim of {job} is mounted at {path} or above", job=job.key.name, path=path),
                      *_list_choices(mounts, typed))  # fmt: skip
    return Shown(_take_one(job, found, typed), posixpath.normpath(path))


def _find_holding(mounts: Sequence[ClaimMount], path: str) -> list[ClaimMount]:
    """The mounts in which a path lies: of each role that has one there the deepest, as it hides the others."""
    found = [each for each in mounts if _lies_in(path, each.path)]
    return list({each.role: each for each in sorted(found, key=lambda each: each.path)}.values())


def _lies_in(path: str, directory: str) -> bool:
    return posixpath.commonpath((path, directory)) == posixpath.normpath(directory)


def _show_said(job: Job, mounts: Sequence[ClaimMount], typed: str, *, chosen: bool) -> Shown:
    said = [(path, _find_holding(mounts, path)) for path in list_named(job)]
    found = [each for _, holding in said for each in holding]
    if not found:
        found = [each for each in mounts if chosen or not each.read_only]
    mount = _take_one(job, found, typed)
    inside = [path for path, holding in said if any(_without_role(each) == mount for each in holding)]
    return Shown(mount, _find_common(inside) if inside else mount.path)


def _find_common(paths: Sequence[str]) -> str:
    """The deepest directory in which all of them lie."""
    return posixpath.commonpath(paths)


def _take_one(job: Job, found: Sequence[ClaimMount], typed: str) -> ClaimMount:
    """The one, which may be several roles'."""
    places = list(dict.fromkeys(map(_without_role, found)))
    if not places:
        said = phrase("{job} writes to no claim: each is mounted read-only", job=job.key.name)
        raise Unclear(said, *_list_choices(list_mounts(job), typed))
    if len(places) > 1:
        said = phrase("{job} mounts claims at several places, and nothing says which one has its files",
                      job=job.key.name)  # fmt: skip
        raise Unclear(said, *_list_choices(places, typed))
    if places[0].varies:
        raise Unclear(
            phrase("each pod of {job} has a directory of its own in the claim {claim} (subPathExpr): name it by "
                   "{option}", job=job.key.name, claim=places[0].claim, option=f"--claim {places[0].claim}:SUBPATH")
        )  # fmt: skip
    return places[0]


def _without_role(mount: ClaimMount) -> ClaimMount:
    return replace(mount, role="", read_only=False)


def _list_choices(mounts: Sequence[ClaimMount], typed: str) -> list[Phrase]:
    mounts = list(dict.fromkeys(map(_without_role, mounts)))
    claims = [each.claim for each in mounts]
    options = [f"--path {each.path}" if claims.count(each.claim) > 1 else f"--claim {each.claim}" for each in mounts]
    return [
        phrase("{path} is the claim {claim}: `{command}`",
               path=each.path, claim=f"{each.claim}:{each.below}" if each.below else each.claim,
               command=f"{typed} {option}")
        for each, option in zip(mounts, options, strict=True)
    ]  # fmt: skip


def _explain_no_claim(job: Job) -> list[Phrase]:
    said = phrase("{job} mounts no claim (PersistentVolumeClaim), so nothing that a board could show outlives its pods",
                  job=job.key.name)  # fmt: skip
    if places := find_places(job):
        said = phrase("{job} mounts no claim (PersistentVolumeClaim), and a board shows nothing else; it has {places}",
                      job=job.key.name, places=Names(places))  # fmt: skip
    return [said]
