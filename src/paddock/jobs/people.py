"""Who submitted a job, changed it last or cancelled it, as its annotations say.

Paddock writes the name that the API itself has for its user (`client.own_name`). An annotation is a text that whoever
may patch the job may write, so nothing is decided by it; the admission webhook refuses a name that is not its
author's own (`webhook.own_names`), and the audit log of the API server has the truth. docs/decisions/0081. PURE.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from paddock.jobs.labels import CANCEL_ANNOTATION, CHANGED_BY_ANNOTATION
from paddock.kube.user_names import read_account, read_login
from paddock.words.phrases import Phrase, phrase

SUSPENDED, RESUMED, EDITED, CANCELLED = "suspended", "resumed", "edited", "cancelled"
"""What is done to a job (`Change.what`)."""
CHANGES = (SUSPENDED, RESUMED, EDITED, CANCELLED)

_LONGEST = 100
_LARGEST = 4096
"""Characters of an annotation that are read: a name of Kubernetes has a few hundred at most."""


@dataclass(frozen=True, slots=True)
class Change:
    """The last change of a job that Paddock has made for somebody."""

    who: str
    """As the API names them (`alice@example.com`, `system:serviceaccount:ci:bot`), or `user_names.write_login`."""
    what: str
    """One of `CHANGES`."""
    generation: int
    """Of the job with this change (metadata.generation). If it has another by now, somebody has changed it since."""


def write_change(change: Change) -> str:
    """The value of `paddock.dev/changed-by`. It has no time: a client's clock may be wrong, and the job's events and
    status have the times of the cluster."""
    return json.dumps({"who": change.who, "what": change.what, "generation": change.generation}, ensure_ascii=False)


def read_change(annotations: Mapping[str, str]) -> Change | None:
    """None without one, and where another program has written something else."""
    try:
        found = json.loads(annotations.get(CHANGED_BY_ANNOTATION, "")[:_LARGEST])
        change = Change(str(found["who"]), str(found["what"]), int(found["generation"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return change if change.what in CHANGES and read_name(change.who) else None


def find_canceller(annotations: Mapping[str, str]) -> tuple[str, str]:
    """Who cancelled the job, and else what the annotation says: of the two one at most is not empty. What Paddock
    writes stands in `changed-by` as well; any other text, as `kubectl annotate` writes it, names somebody whom nobody
    has asked for a name. `true` names nobody."""
    text = annotations.get(CANCEL_ANNOTATION, "")
    change = read_change(annotations)
    if change is not None and (change.what, change.who) == (CANCELLED, text):
        return read_name(text), ""
    return "", "" if text == "true" else read_name(text)


def find_changer(annotations: Mapping[str, str], what: str, generation: int) -> str:
    """Who has done `what` to the job whose generation is this one; empty where that is not known: another change may
    have come between, which nobody signed."""
    change = read_change(annotations)
    known = change is not None and change.what == what and change.generation == generation
    return read_name(change.who) if change is not None and known else ""


def read_name(text: str) -> str:
    """A name as one short line, whatever was written."""
    return re.sub(r"[\s\x00-\x1f\x7f]+", " ", text[:_LARGEST]).strip()[:_LONGEST]


def show_person(name: str) -> Phrase | str:
    """A name for people: of a service account which one, of a login on which machine."""
    if account := read_account(name):
        return phrase("service account {name} of {namespace}", namespace=account.namespace, name=account.name)
    if login := read_login(name):
        return phrase("{name} (a login on {machine})", name=login[0], machine=login[1])
    return name


def explain_change(annotations: Mapping[str, str], generation: int) -> Phrase | None:
    """`suspended by ada`: the last change that was signed; None without one. `generation`: that of the job."""
    change = read_change(annotations)
    if change is None:
        return None
    done = _explain_done(change.what, show_person(read_name(change.who)))
    if change.generation >= generation:
        return done
    return phrase("{said}; changed again since, by somebody who left no name", said=done)


def _explain_done(what: str, who: Phrase | str) -> Phrase:
    match what:
        case "suspended":
            return phrase("suspended by {who}", who=who)
        case "resumed":
            return phrase("resumed by {who}", who=who)
        case "edited":
            return phrase("edited by {who}", who=who)
        case _:
            return phrase("cancelled by {who}", who=who)
