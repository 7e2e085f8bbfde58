"""Validates a manifest against a structural schema: unknown fields, and values of another type.

`kube.validation.structural` has the rules, also for the API server; here an unknown field gets the nearest valid name.
A null counts as absent where it does in the API server.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from paddock.kube.nearness import nearest
from paddock.kube.validation.field_errors import Code, FieldError
from paddock.kube.validation.structural import Reading
from paddock.manifests.fields import TEXT, in_quotes
from paddock.words.phrases import NOTHING, Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import either, format_path, missing, unknown, wrong

_WORDS: Mapping[str, Phrase] = {
    "object": phrase("a mapping"),
    "array": phrase("a list"),
    "string": TEXT,
    "integer": phrase("a whole number"),
    "number": phrase("a number"),
    "boolean": phrase("true or false"),
    "integer,string": phrase("a whole number or text"),
}


TellUnknown = Callable[[str, str, Collection[str]], Problem]
"""Builds the problem of an unknown field, from its path, its name and the known names there."""


def check_structure(schema: Mapping[str, Any], value: Any, tell_unknown: TellUnknown = unknown) -> Iterator[Problem]:
    """The problems of `value`. A value of the wrong type is not checked further. Bounds and patterns are left to the
    API server, and to `JobApi.read_job`."""
    reading = Reading()
    reading.read(value, schema)
    for error in (*reading.errors, *reading.unknown):
        yield from _explain(error, tell_unknown)


def _explain(error: FieldError, tell_unknown: TellUnknown) -> Iterator[Problem]:
    path, value = format_path(error.path), error.value
    match error.code:
        case Code.REQUIRED:
            yield missing(path, _WORDS.get(error.args["type"], phrase("a value")))
        case Code.WRONG_TYPE if value is None:
            yield missing(path, _WORDS[error.args["wanted"]])
        case Code.WRONG_TYPE:
            wanted = error.args["wanted"]
            advice = in_quotes(value) if wanted in ("string", "integer,string") else NOTHING
            yield wrong(path, value, _WORDS[wanted], advice=advice, code=error.code)
        case Code.NUMBER_TOO_LARGE:
            yield wrong(path, value, phrase("a number of at most 64 bits"), code=error.code)
        case Code.NOT_IN_ENUM:
            options = error.args["allowed"]
            near = nearest(value, options) if isinstance(value, str) else ""
            yield wrong(path, value, either(str(option) for option in options), near, code=error.code)
        case Code.UNKNOWN_FIELD if error.args["known"]:  # a mapping without fields is one whose keys are not known here
            yield tell_unknown(path, value, error.args["known"])
