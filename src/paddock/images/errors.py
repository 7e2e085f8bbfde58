"""Why an image cannot be read, made or sent."""

from __future__ import annotations

from paddock.words.phrases import Phrase


class ImageError(Exception):
    """A complete sentence for the user."""

    def __init__(self, said: Phrase, *, is_mistake: bool = False) -> None:
        """`is_mistake`: what was typed or written is wrong; else a registry, the network or this machine failed."""
        super().__init__(str(said))
        self.said, self.is_mistake = said, is_mistake
