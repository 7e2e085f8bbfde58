"""An edit of a job: what it changes, what it costs, and who changed the job meanwhile. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from paddock.jobs.model import Job, Phase, Status
from paddock.jobs.people import EDITED, RESUMED, SUSPENDED
from paddock.kube.meta import Manifest
from paddock.manifests.edits import write_document
from paddock.views.changes import is_suspended, sign_change
from paddock.views.clones import NOT_EDITED
from paddock.views.clones import take_editable as take_editable
from paddock.words.phrases import Phrase, phrase

_AROUND = 2
"""Unchanged lines that are shown around a change."""
_MOST_PAIRS = 1_000_000
"""Of a line of one text and a line of the other: a thousand changed lines, and half a second at most."""


@dataclass(frozen=True, slots=True)
class Line:
    """`sign`: `+`, `-`, a space, or `…` between two places."""

    sign: str
    text: str


def merge_edit(stored: Mapping[str, Any], edited: Mapping[str, Any], who: str = "") -> Manifest:
    """What is sent: the stored object with the edited fields; finalizers, owner and status stay, and its
    resourceVersion is the lock. `who`: who edits, as the API names them; empty where that is not known."""
    metadata, theirs = dict(stored.get("metadata") or {}), dict(edited.get("metadata") or {})
    kept = {key: each for key, each in (metadata.get("annotations") or {}).items() if key in NOT_EDITED}
    kept |= sign_change(stored, _name_edit(stored, edited), who, changes_spec=stored.get("spec") != edited.get("spec"))
    for key in ("labels", "annotations"):
        metadata.pop(key, None)
        if theirs.get(key):
            metadata[key] = theirs[key]
    if kept:
        metadata["annotations"] = {**metadata.get("annotations", {}), **kept}
    status = {"status": stored["status"]} if "status" in stored else {}
    return {**{key: each for key, each in edited.items() if key != "status"}, "metadata": metadata, **status}


def _name_edit(stored: Mapping[str, Any], edited: Mapping[str, Any]) -> str:
    before, after = is_suspended(stored), is_suspended(edited)
    if before == after:
        return EDITED
    return SUSPENDED if after else RESUMED


def diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Line]:
    """The changed lines of YAML; empty if nothing differs."""
    return diff_texts(write_document(before), write_document(after))


def diff_texts(before: str, after: str) -> list[Line]:
    old, new = before.splitlines(), after.splitlines()
    lines: list[Line] = []
    for number, group in enumerate(_match(old, new).get_grouped_opcodes(_AROUND)):
        lines += [Line("…", "")] if number else []
        for kind, a, b, c, d in group:
            if kind == "equal":
                lines += [Line(" ", each) for each in old[a:b]]
            else:
                lines += [Line("-", each) for each in old[a:b]] + [Line("+", each) for each in new[c:d]]
    return lines


def _match(old: Sequence[str], new: Sequence[str]) -> difflib.SequenceMatcher[object]:
    """Which lines are the same: those of the common beginning and end, and, of what lies between, those that difflib
    finds. It compares pairs of lines, so of very many it would take minutes: then all between is taken for changed."""
    begin = _count_common(zip(old, new, strict=False))
    most = min(len(old), len(new)) - begin
    end = min(_count_common(zip(reversed(old), reversed(new), strict=False)), most)
    first, second = old[begin : len(old) - end], new[begin : len(new) - end]
    known: list[Sequence[object]] = [first, second]
    if len(first) * len(second) > _MOST_PAIRS:
        known = [[(number, place) for place in range(len(each))] for number, each in enumerate((first, second))]
    before, after = ([*range(begin), *each, *range(-end, 0)] for each in known)
    return difflib.SequenceMatcher(None, before, after, autojunk=False)


def _count_common(pairs: Iterable[tuple[str, str]]) -> int:
    """The pairs of equal lines at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def find_moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> Phrase | None:
    """Why this is no edit but another job: kind, name or namespace differ."""
    for path in (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")):
        old, new = _read(before, path), _read(after, path)
        if new != old and not (path[-1] == "namespace" and new is None):
            return phrase(
                "{path}: found {found}, and an edit leaves it {before}: clone the job to make another one",
                path=".".join(path), found=str(new), before=str(old),
            )  # fmt: skip
    return None


def explain_cost(before: Job, after: Job, status: Status) -> Iterator[Phrase]:
    """What happens to the pods. Follows `jobs.plan`: a job that has ended stays so; another size restarts the gang
    (`policies.gang.plan_resize`); pods keep the template that they were started with."""
    if status.phase.terminal:
        yield phrase("the job has ended: it does not train again, whatever is edited; clone it to run it anew")
        return
    started = status.phase not in (Phase.NONE, Phase.SUSPENDED)
    if before.policies.suspend != after.policies.suspend:
        yield (
            phrase("suspends the job: its pods are deleted, and a resumed one begins a new attempt")
            if after.policies.suspend
            else phrase("resumes the job: attempt {next} begins", next=status.attempt + 1)
        )
        return
    if not started:
        yield phrase("no pod runs: the job starts with what is saved here")
    elif _sizes(before) != _sizes(after):
        yield phrase(
            "restarts the gang: attempt {attempt} → {next}, as each rank knows the number of its peers",
            attempt=status.attempt, next=status.attempt + 1,
        )  # fmt: skip
    elif _templates(before) != _templates(after):
        yield phrase("pods that run keep what they were started with; those of the next attempt have the new template")
    else:
        yield phrase("restarts nothing: no pod is replaced")


def find_editor(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """(who, when) of the last write but the status; empty where the server keeps no record of it."""
    entries = _read(manifest, ("metadata", "managedFields"))
    found = [each for each in entries if isinstance(each, Mapping)] if isinstance(entries, Sequence) else []
    own = [each for each in found if each.get("subresource") != "status" and each.get("time")]
    last = max(own, key=lambda each: str(each["time"]), default={})
    return str(last.get("manager") or ""), str(last.get("time") or "")


def explain_stale(manifest: Mapping[str, Any]) -> Phrase:
    who, when = find_editor(manifest)
    if who:
        return phrase(
            "{who} changed this job at {when}, while you edited it: below is what your text changes of it now; nothing "
            "was saved, and saving again overwrites it",
            who=who, when=when,
        )  # fmt: skip
    return phrase(
        "somebody changed this job while you edited it: below is what your text changes of it now; nothing was saved, "
        "and saving again overwrites it"
    )


def _sizes(job: Job) -> dict[str, int]:
    return {role.name: role.replicas for role in job.roles if role.replicas}


def _templates(job: Job) -> list[Any]:
    return [role.template for role in job.roles]


def _read(value: Any, path: Sequence[str]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
