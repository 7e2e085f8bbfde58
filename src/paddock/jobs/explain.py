"""Causes as sentences, one for each, in the language that is asked for.

The record is enough: no job and no cluster is needed, so that events, `paddock explain` and the console say the same
of a status that any version of any operator wrote. The sentences are in `jobs.english` and `jobs.chinese`; a
language is one module more. Problems of manifests have their languages in `jobs.phrases`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paddock.jobs.chinese import CHINESE
from paddock.jobs.english import ENGLISH, Args
from paddock.jobs.model import CauseRecord

CATALOGUES: Mapping[str, Mapping[str, Callable[[Args], str]]] = {"en": ENGLISH, "zh": CHINESE}


def explain(cause: CauseRecord, language: str = "en") -> str:
    """One sentence, without a full stop. A language without a catalogue, or a sentence missing in one, is English; a
    reason that this version does not know is printed with its numbers."""
    sentence = CATALOGUES.get(language, ENGLISH).get(cause.reason) or ENGLISH.get(cause.reason)
    if sentence is not None:
        return sentence(cause.args)
    numbers = ", ".join(f"{name}={value}" for name, value in sorted(cause.args.items()))
    return f"{cause.reason} ({numbers})" if numbers else cause.reason
