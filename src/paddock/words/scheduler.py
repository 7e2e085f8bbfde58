"""Translates the scheduler's messages, by pattern.

kube-scheduler or the local scheduler writes them as English text into the status of pods. Each row has the pattern of a
part of a message, and the msgid of the catalogues for it, with a placeholder for each group of the pattern. A message
without a row stays English. Source of the messages: kube-scheduler, and `paddock.node.scheduler.capacity`.
"""

from __future__ import annotations

import re
from functools import partial

from paddock.words.catalogues import translate
from paddock.words.formats import ENGLISH, format_of


def _row(form: str, text: str) -> tuple[str, str]:
    return form, text  # compiled when it is used: most commands need none


_ROWS = (
    # Before the one of the nodes, which is a part of these.
    _row(
        r"preemption: 0/\d+ nodes are available: (?P<count>\d+) No preemption victims found for incoming pods?",
        "preemption would not help ({count} nodes)",
    ),
    _row(
        r"preemption: 0/\d+ nodes are available: (?P<count>\d+) Preemption is not helpful for scheduling",
        "preemption would not help ({count} nodes)",
    ),
    _row(r"^no nodes available to schedule pods$", "no nodes available to schedule pods"),
    _row(
        r"waiting for the gang \"(?P<gang>[^\"]+)\": (?P<needed>\d+) pods are needed at once, (?P<count>\d+) fit: ",
        'waiting for the gang "{gang}": {needed} pods are needed at once, {count} fit: ',
    ),
    _row(
        r"waiting for the gang \"(?P<gang>[^\"]+)\": (?P<needed>\d+) pods are needed at once, (?P<count>\d+) exist",
        'waiting for the gang "{gang}": {needed} pods are needed at once, {count} exist',
    ),
    _row(
        r"waiting for the PodGroup \"(?P<gang>[^\"]+)\", which does not exist yet",
        'waiting for the PodGroup "{gang}", which does not exist yet',
    ),
    _row(
        r"held back for the (?P<kind>gang|pod) \"(?P<name>[^\"]+)\", which has waited longer and lacks ",
        'held back for the {kind} "{name}", which has waited longer and lacks ',
    ),
    _row(r"\((?P<amount>[^()]+) is free and kept\)$", "({amount} is free and kept)"),
    _row(
        r"comes after the (?P<kind>gang|pod) \"(?P<name>[^\"]+)\", which lacks ",
        'comes after the {kind} "{name}", which lacks ',
    ),
    _row(r"0/(?P<count>\d+) nodes are available: ", "0/{count} nodes are available: "),
    _row(
        r"(?P<count>\d+) Insufficient (?P<resource>[^\s,(]+) "
        r"\((?P<where>on [^:]+: )?needs (?P<needed>[^,]+), (?P<free>.+?) of (?P<all>.+?) free\)",
        "{count} Insufficient {resource} ({where}needs {needed}, {free} of {all} free)",
    ),
    _row(r"(?P<count>\d+) Insufficient (?P<resource>[^\s,(]*[^\s,(.])", "{count} Insufficient {resource}"),
    _row(r"Held by (?P<who>.+?)\.?$", "Held by {who}"),
    _row(r"(?P<count>\d+) Too many pods(?P<which> \([^)]*\))?", "{count} Too many pods{which}"),
    _row(
        r"(?P<count>\d+) node\(s\) didn't match Pod's node affinity/selector "
        r"\((?P<where>on [^:]+: )?(?P<label>.+?); node has none\)",
        "{count} node(s) didn't match Pod's node affinity/selector ({where}{label}; node has none)",
    ),
    _row(
        r"(?P<count>\d+) node\(s\) didn't match Pod's node affinity/selector "
        r"\((?P<where>on [^:]+: )?(?P<label>.+?); node has (?P<found>.+?)\)",
        "{count} node(s) didn't match Pod's node affinity/selector ({where}{label}; node has {found})",
    ),
    _row(
        r"(?P<count>\d+) node\(s\) didn't match Pod's node affinity/selector",
        "{count} node(s) didn't match Pod's node affinity/selector",
    ),
    _row(
        r"(?P<count>\d+) node\(s\) had untolerated taint \{(?P<taint>[^}]*)\}",
        "{count} node(s) had untolerated taint {{{taint}}}",
    ),
    _row(
        r"(?P<count>\d+) node\(s\) were unschedulable(?P<which> \([^)]*\))?",
        "{count} node(s) were unschedulable{which}",
    ),
    _row(r"(?P<count>\d+) node\(s\) were not ready", "{count} node(s) were not ready"),
    _row(
        r"(?P<count>\d+) node\(s\) didn't have free ports for the requested pod ports "
        r"\((?P<where>on [^:]+: )?port (?P<port>\d+) is held by (?P<other>.+?)\)",
        "{count} node(s) didn't have free ports for the requested pod ports ({where}port {port} is held by {other})",
    ),
)


_BEGINNING = re.compile(
    r"waiting for the (?:gang|PodGroup) \"|(?:held back for|comes after) the (?:gang|pod) \"|preemption: |Held by |"
    r"0/\d+ nodes are available: |no nodes available to schedule pods$|\d+ (?:Insufficient |Too many pods|node\(s\) )"
)
"""How all of these messages and their clauses begin."""


def translate_scheduler(message: str, language: str) -> str:
    """The message in `language` as far as its parts are known; other text stays, and so does a sentence of another
    program that has such a part in it."""
    if not _BEGINNING.match(message):
        return message
    result = message
    for form, text in _ROWS:
        result = re.sub(form, partial(_fill, translate(text, language)), result)
    return result if result == message else result.replace(ENGLISH.clause, format_of(language).clause)


def _fill(text: str, match: re.Match[str]) -> str:
    return text.format_map(match.groupdict(default=""))
