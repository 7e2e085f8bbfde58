"""A job that a file of another tool means."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.words.phrases import Phrase


@dataclass(frozen=True, slots=True)
class Left:
    """What is not carried over."""

    line: int
    """Of the file; 0 where it is not known."""
    said: Phrase
    """What it is, and how Paddock does it where it does."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """One command, as `paddock run` would be asked for it."""

    line: int
    """Where it stands."""
    words: tuple[str, ...]
    """To be typed behind `--`."""
    workers: int
    servers: int = 0
    """0 without parameter servers."""
    gpus: int = 0
    """Of each worker; 0 where the file does not say."""
    image: str = ""
    """Empty where the file names none."""
    name: str = ""
    """Of the job; empty where the file has none."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables of the program."""
    left: tuple[Left, ...] = ()
    """In the order of the lines."""
