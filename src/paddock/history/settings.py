"""What a person changed between two runs, without what Paddock changed by itself. Pure.

Left out are `runPolicy.suspend`, by which `paddock run` ends a job that it gives up, and a `backoffLimit` that the
command set: 0 of a script without `--restarts`, or the limit of a job that failed alike several times
(`cli.follow.give_up`); of rehearsals also the random names of their directories. Added are the names of the environment
and of the requirements file, which are annotations, and a file whose content has changed under its name:
`requirements.txt: 4f1c90 → 9ab23d`, the program's code: `code: 3f2a1c9 → 9be0d1f`, `code: train.py`, and what it began
with (`history.surroundings`): packages, datasets, the machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from paddock.history.changes import find_changes
from paddock.history.records import RunRecord
from paddock.history.surroundings import ReadPackages, find_surrounding_changes, read_nothing
from paddock.kube.code_annotation import CODE_ANNOTATION, explain_code_change, read_code
from paddock.kube.environments import ENVIRONMENT_ANNOTATION
from paddock.kube.rehearsals import without_random_names

_SHOWN = {ENVIRONMENT_ANNOTATION: "environment", "paddock.dev/requirements": "requirements"}
_DIGESTS = "paddock.dev/requirements-digest"
"""See `jobs.labels`. Runs of an earlier version have none."""
ADDED = "--add"
"""Of digests, in place of a file: packages by name."""
_LONGEST_DIGEST = 6
_LIMIT = "backoffLimit"


def find_run_changes(before: RunRecord, now: RunRecord, read: ReadPackages = read_nothing) -> list[str]:
    """One text for each difference, the environment first; none where a run has no manifest. `read`: the packages of a
    digest, asked for where two runs differ in it."""
    if not now.spec:
        return []
    changes = find_changes(_name(before.annotations), _name(now.annotations))
    changes += find_changes(*_contents(before.annotations, now.annotations))
    codes = (read_code(run.annotations.get(CODE_ANNOTATION, "")) for run in (before, now))
    changes += [f"code: {code}"] if (code := explain_code_change(*codes)) else []
    changes += find_surrounding_changes(before.surroundings, now.surroundings, read)
    known = set(changes)
    policies = [_policy(run) for run in (before, now)]
    drop = (_LIMIT in policies[0]) != (_LIMIT in policies[1]) and any(map(_limited_by_paddock, (before, now)))
    specs = [_without(read_spec(run), drop) for run in (before, now)]
    for change in find_changes(*({"spec": spec} if spec else {} for spec in specs)):
        place, _, values = change.partition(": ")
        name = next((name for key, name in _SHOWN.items() if place.endswith(f"annotations.{key}")), "")
        text = f"{name}: {values}" if name else change
        if not name or text not in known:
            changes.append(text)
            known.add(text)
    return changes


def read_spec(run: RunRecord) -> Mapping[str, Any]:
    """Its spec as it is compared: without random names that Paddock gave."""
    return without_random_names(run.name, run.spec)


def _name(annotations: Mapping[str, str]) -> dict[str, str]:
    return {name: annotations[key] for key, name in _SHOWN.items() if key in annotations}


def _contents(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What the requirements files of two runs say. A file that only one of them has is told by its name elsewhere."""
    old, new = (read_digests(annotations) for annotations in (before, now))
    shown = {name for name in (*old, *new) if name == ADDED or (name in old and name in new)} if old and new else ()
    return _shorten(old, shown), _shorten(new, shown)


def read_digests(annotations: Mapping[str, str]) -> dict[str, str]:
    """Of requirements files, by their names. Empty for a text that is not of this form: anybody may write an
    annotation."""
    try:
        return msgspec.json.decode(annotations.get(_DIGESTS, ""), type=dict[str, str])
    except (msgspec.MsgspecError, UnicodeError):
        return {}


def _shorten(found: Mapping[str, str], shown: Collection[str]) -> dict[str, str]:
    return {name: value if name == ADDED else value[:_LONGEST_DIGEST] for name, value in found.items() if name in shown}


def _policy(run: RunRecord) -> Mapping[str, Any]:
    policy = run.spec.get("runPolicy")
    return policy if isinstance(policy, Mapping) else {}


def _limited_by_paddock(run: RunRecord) -> bool:
    """Whether the run's limit may be the command's own: it is 0, or the run was restarted as often. The record does not
    say who wrote it."""
    limit = _policy(run).get(_LIMIT)
    return isinstance(limit, int) and run.restarts >= limit


def _without(spec: Mapping[str, Any], limit: bool) -> dict[str, Any]:
    """The spec without what Paddock sets in its runPolicy, and without an empty one."""
    policy = spec.get("runPolicy")
    if not isinstance(policy, Mapping):
        return {key: value for key, value in spec.items() if key != "runPolicy" or value is not None}
    dropped = {"suspend", _LIMIT} if limit else {"suspend"}
    kept = {key: value for key, value in policy.items() if key not in dropped}
    rest = {key: value for key, value in spec.items() if key != "runPolicy"}
    return {**rest, "runPolicy": kept} if kept else rest
