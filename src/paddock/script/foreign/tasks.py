"""A task in YAML, as SkyPilot and dstack have it: its fields, with their lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paddock.manifests.documents import compose_nodes
from paddock.manifests.yaml_nodes import Document, DocumentReader
from paddock.script.foreign.elsewhere import NO_OPTION, say
from paddock.script.foreign.job import Left
from paddock.words.phrases import Phrase, phrase


def read_tasks(text: str) -> list[Document]:
    """The documents of a text, without those that are no mapping; none where it is no YAML."""
    found = [DocumentReader().document(node) for node in compose_nodes(text)]
    return [each for each in found if each.manifest]


def list_left(
    task: Document, values: Any, path: str, carried: frozenset[str], said: Mapping[str, Phrase]
) -> Iterator[Left]:
    """Fields of a mapping that are not carried. `said`: sentences of their own, with {option}."""
    if not isinstance(values, Mapping):
        return
    for name in values:
        place = f"{path}.{name}" if path else name
        if name not in carried:
            yield Left(task.line_of(place), say(said.get(name, NO_OPTION), place))


def line_of_text(task: Document, path: str, text: str) -> int:
    """The line in which the text of a field begins: that of the field, or the next one of a block."""
    position = task.position_of(path)
    return position.line + (1 if "\n" in text else 0)


def read_mapping(value: Any) -> dict[str, str | None]:
    """Variables of `{A: 1, B: null}`, `[A=1, B]`: values as text, None where none stands."""
    if isinstance(value, Mapping):
        return {str(name): None if each is None else _write(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        pairs = [str(each).partition("=") for each in value]
        return {name: text if equals else None for name, equals, text in pairs}
    return {}


def _write(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def explain_no_value(name: str) -> Phrase:
    """For a variable that is no secret, and that the file only names."""
    return phrase("{name} has no value here: add --env {name}=VALUE to `paddock init`", name=name)
