"""The recorded arguments of a cause, read for its sentence.

They come from the API, and another version may have written them: a missing one gives `?`, and nothing raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.kube.times import format_duration
from paddock.words.formats import Joint
from paddock.words.phrases import Foreign, Names, Phrase, counted, phrase

Args = Mapping[str, Any]


def value_of(args: Args, name: str) -> str | int:
    """A number or a text."""
    value = args.get(name, "?")
    return value if isinstance(value, int) else str(value)


def items_of(args: Args, name: str) -> tuple[str, ...]:
    """All names of a list; none where it is no list."""
    found = args.get(name)
    return tuple(map(str, found)) if isinstance(found, Sequence) and not isinstance(found, str) else ()


def names_of(args: Args, name: str, joint: Joint = "and") -> Names:
    """The names in `args`; a long list is cut, as a job may have a thousand ranks."""
    return Names(items_of(args, name), joint)


def problems_of(args: Args) -> Names:
    """The problems of a manifest: `spec.worker.replicas: found 0, …`. The API has them in English."""
    return Names(tuple(map(say_problem, items_of(args, "problems"))))


def say_problem(text: str) -> Phrase | str:
    """One problem, with the field's path before it."""
    path, colon, problem = text.partition(": ")
    return phrase("{name}: {problem}", name=path, problem=Foreign(problem)) if colon else text


def count_of(args: Args, name: str) -> int:
    """The number of names, for singular and plural; 1 if it is unknown."""
    return len(items_of(args, name)) or 1


def words_of(args: Args, name: str) -> str:
    """All names, separated by spaces, as in a command."""
    return " ".join(items_of(args, name)) or "?"


def time_of(args: Args, name: str) -> str:
    """`5 min`, which is the same in every language."""
    seconds = args.get(name)
    return format_duration(seconds) if isinstance(seconds, int) else "?"


def pods_of(args: Args, name: str) -> Phrase:
    """`2 of 4 pods`."""
    return counted(
        "{part} of {count} pod", "{part} of {count} pods", part=value_of(args, name), count=value_of(args, "wanted")
    )


def ranks_of(args: Args) -> Phrase:
    """`2 ranks`: those that succeeded."""
    return counted("{count} rank", "{count} ranks", count=value_of(args, "succeeded"))


def message_of(args: Args) -> str:
    """What another program said, without its full stop; empty without any."""
    return str(args.get("message") or "").strip().rstrip(".")


def with_message(args: Args, said: Phrase) -> Phrase:
    """`said` with the message of the other program, if there is one."""
    message = message_of(args)
    return phrase("{said}: {message}", said=said, message=Foreign(message)) if message else said


def text_of(args: Args, name: str) -> str:
    """A text, empty where it is missing."""
    return str(args.get(name) or "").strip()
