"""What a text of somebody else may have at most, before it is checked: documents, values, levels.

A server that checks the texts of many gives bounds; a command that reads the files of who typed it needs none. They are
counted while the text is composed, so a text that explodes costs what they allow, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from paddock.words.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a text may hold."""

    documents: int
    values: int
    """Of all documents together, the names of fields and each use of an alias included; what aliases stand for has a
    bound of its own (`yaml_nodes.MOST_ALIASED_VALUES`)."""
    levels: int
    """Of mappings and lists within another."""


class TooMuch(Exception):
    """`said`: what there is too much of; `mark`: where it passes the bound."""

    def __init__(self, said: Phrase, mark: yaml.Mark) -> None:
        super().__init__(str(said))
        self.said, self.mark = said, mark


class Meter:
    """Counts what is composed of one text, however often its reading begins anew. Each method raises `TooMuch`."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._documents = self._levels = self.values = 0

    def begin_document(self, mark: yaml.Mark) -> None:
        self._documents += 1
        self._levels = 0
        if self._documents > self._bounds.documents:
            said = phrase(
                "the text has more than {most} documents, and no more are checked here: `paddock submit FILE` takes it",
                most=self._bounds.documents,
            )
            raise TooMuch(said, mark)

    def enter(self, mark: yaml.Mark) -> None:
        """A value begins, within those that have not been left."""
        self.values += 1
        self._levels += 1
        if self.values > self._bounds.values:
            said = phrase(
                "the text has more than {most} values, and no more are checked here: `paddock submit FILE` takes it",
                most=self._bounds.values,
            )
            raise TooMuch(said, mark)
        if self._levels > self._bounds.levels:
            said = phrase(
                "the text is nested more than {most} levels deep: no manifest is", most=self._bounds.levels
            )  # fmt: skip
            raise TooMuch(said, mark)

    def leave(self) -> None:
        self._levels -= 1

    def adopt(self, other: Meter) -> None:
        """What the other has counted."""
        self._documents, self._levels, self.values = other._documents, other._levels, other.values
