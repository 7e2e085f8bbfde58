"""What people wrote about a run: a note, and tags by which runs are found again. Pure; `note_files` keeps it.

    paddock.dev/note: "as yesterday, with a warm-up"
    paddock.dev/tags: "baseline, lr-sweep"          separated by commas

A job may carry both as annotations from its beginning, on a laptop and on a cluster. On a laptop what a person writes
later stands beside the record of the run, and counts more than the annotations.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from paddock.kube.described import NOTE_ANNOTATION, TAGS_ANNOTATION
from paddock.words.phrases import Phrase, phrase

MOST_CHARACTERS = 4_000
MOST_TAGS = 16
LONGEST_TAG = 40


@dataclass(frozen=True, slots=True)
class Note:
    """What was written about one run."""

    text: str = ""
    tags: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The same for the same note: by it a writer says which note is replaced."""
        return sha256("\0".join((self.text, *self.tags)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_tags(text: str) -> tuple[str, ...]:
    """`baseline, lr-sweep` -> each once, in their order."""
    return tuple(dict.fromkeys(tag for each in text.split(",") if (tag := " ".join(each.split()))))


def read_note(annotations: Mapping[str, str]) -> Note:
    """Of the annotations of a job, cut to the bounds, as anybody may write more."""
    return bound(Note(annotations.get(NOTE_ANNOTATION, ""), read_tags(annotations.get(TAGS_ANNOTATION, ""))))


def write_annotations(note: Note) -> dict[str, str | None]:
    """The annotations of a merge patch; None takes one away."""
    return {NOTE_ANNOTATION: note.text or None, TAGS_ANNOTATION: ", ".join(note.tags) or None}


def bound(note: Note) -> Note:
    """The part of it that is within the bounds."""
    return Note(note.text[:MOST_CHARACTERS], tuple(tag for tag in note.tags if not explain_tag(tag))[:MOST_TAGS])


def clean_text(text: str) -> str:
    """A note as it is kept: browsers end lines by two characters, and nobody means the blanks around it. What is no
    character of Unicode, as half a pair of UTF-16, cannot be written to a file."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def explain_text(text: str) -> Phrase | None:
    """Why this is no note; None where it is one."""
    if len(text) <= MOST_CHARACTERS:
        return None
    return phrase("a note has at most {most} characters, this one has {count}", most=MOST_CHARACTERS, count=len(text))


def explain_tags(tags: Iterable[str]) -> Phrase | None:
    """What is wrong with the first wrong tag, or with their number; None where nothing is."""
    known = list(tags)
    if len(known) > MOST_TAGS:
        return phrase("a run has at most {most} tags, here are {count}", most=MOST_TAGS, count=len(known))
    return next((said for tag in known if (said := explain_tag(tag))), None)


def explain_tag(tag: str) -> Phrase | None:
    """Why this is no tag; None where it is one."""
    if not 1 <= len(tag) <= LONGEST_TAG:
        return phrase("a tag has 1 to {most} characters, “{tag}” has {count}: separate tags by commas",
                      most=LONGEST_TAG, tag=tag[:LONGEST_TAG], count=len(tag))  # fmt: skip
    if any(unicodedata.category(each) in ("Cc", "Cs") for each in tag) or "," in tag:
        return phrase("a tag has letters, digits and signs but no commas and no control characters: {tag}",
                      tag=repr(tag))  # fmt: skip
    return None
