"""The options of a Python call, checked as click checks those of the command line. Raises `UserError` throughout."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.script.options import FRAMEWORKS, NO_REQUIREMENTS, write_resume
from paddock.history.notes import clean_text, explain_tags, explain_text
from paddock.kube.validation.names import DNS_SUBDOMAIN
from paddock.script.amounts import explain_wrong_cpus, explain_wrong_memory
from paddock.words.phrases import Phrase, phrase

File: TypeAlias = str | os.PathLike[str]
Value = TypeVar("Value")
_MANIFESTS = (".yaml", ".yml", ".json")


def read_count(option: str, value: int | None, low: int) -> int | None:
    """An upper limit is a matter of the manifest's checks."""
    if value is None or (type(value) is int and value >= low):
        return value
    raise UserError(
        phrase("{option}: found {found}; a whole number from {low} is wanted", option=option,
               found=repr(value), low=low)
    )  # fmt: skip


def read_cpus(value: str | float | None) -> str | None:
    """As --cpus takes them; a number as well."""
    text = f"{value:g}" if type(value) in (int, float) else value
    return _read_amount("cpus", value, text, explain_wrong_cpus)


def read_memory(value: str | None) -> str | None:
    """As --memory takes it."""
    return _read_amount("memory", value, value, explain_wrong_memory)


def _read_amount(option: str, value: object, text: object, explain: Callable[[str], Phrase | None]) -> str | None:
    if value is None:
        return None
    if not isinstance(text, str):
        raise UserError(
            phrase('{option}: found {found}; a text is wanted, as in "4Gi" or "500m"', option=option, found=repr(value))
        )
    return _refuse(option, explain(text), text)


def read_name(option: str, value: str | None) -> str | None:
    """The name of an object, as --queue takes it."""
    if value is None or (isinstance(value, str) and DNS_SUBDOMAIN.allows(value)):
        return value
    raise UserError(
        phrase(
            "{option}: {name} is no name of an object: small letters, digits, '-' and '.', at most {most}",
            option=option, name=repr(value), most=DNS_SUBDOMAIN.longest,
        )
    )  # fmt: skip


def read_resume(value: bool | int) -> str:
    """As --resume takes it: True, or the number of a run."""
    return write_resume(value if isinstance(value, bool) else read_count("resume", value, 1) or False)


def read_framework(value: str | None) -> str | None:
    """As --framework takes it."""
    if value is None or value in FRAMEWORKS:
        return value
    raise UserError(
        phrase("{option}: found {found}; {allowed} is wanted", option="framework", found=repr(value),
               allowed=FRAMEWORKS)
    )  # fmt: skip


def read_seconds(option: str, value: float | None) -> float | None:
    """A time that is over one day."""
    if value is None or (type(value) in (int, float) and 0 < value < math.inf):
        return value
    raise UserError(
        phrase("{option}: found {found}; a number of seconds above 0 is wanted", option=option, found=repr(value))
    )


def read_path(option: str, value: File | None, *, directory: bool) -> str | None:
    """A file or directory that is there."""
    if value is None:
        return None
    path = Path(value)
    if not path.exists():
        raise UserError(phrase("{option}: {path} is not there", option=option, path=str(path)))
    if path.is_dir() != directory:
        wanted = phrase("a directory") if directory else phrase("a file")
        raise UserError(phrase("{option}: {path} is not {wanted}", option=option, path=str(path), wanted=wanted))
    return str(path)


def read_file(option: str, value: File | None) -> str | None:
    """The value of -r: a file, or the word for none."""
    return NO_REQUIREMENTS if value == NO_REQUIREMENTS else read_path(option, value, directory=False)


def read_variables(env: Mapping[str, str] | None) -> tuple[str, ...]:
    """As --env takes them."""
    for name in env or {}:
        if not name or "=" in name:
            raise UserError(
                phrase("env: found {found}; the name of a variable is wanted, as in LEVEL", found=repr(name))
            )
    return tuple(f"{name}={value}" for name, value in (env or {}).items())


def read_data(data: object) -> tuple[str, ...]:
    """As --data takes them, from a mapping of names to paths, or None."""
    if data is None:
        return ()
    if not isinstance(data, Mapping):
        said = phrase(
            'data: found {found}; names with paths are wanted, as in {{"imagenet": "/data"}}', found=repr(data)
        )
        raise UserError(said)
    return tuple(f"{name}:{path}" for name, path in data.items())


def read_names(option: str, values: Sequence[File]) -> tuple[str, ...]:
    if isinstance(values, str | os.PathLike):  # a text is a sequence of texts too
        raise UserError(phrase("{option}: found {found}; a list is wanted", option=option, found=repr(values)))
    return tuple(os.fspath(each) for each in values)


def read_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags, as --tag takes them."""
    found = tuple(dict.fromkeys(" ".join(tag.split()) for tag in read_names("tags", tags)))
    return _refuse("tags", explain_tags(found), found)


def read_note(note: str) -> str:
    """The note, as --note takes it."""
    cleaned = clean_text(note)
    return _refuse("note", explain_text(cleaned), cleaned)


def _refuse(option: str, wrong: Phrase | None, value: Value) -> Value:
    if wrong is not None:
        raise UserError(phrase("{option}: {problem}", option=option, problem=wrong))
    return value


def read_words(args: Sequence[object]) -> tuple[str, ...]:
    """Arguments of a program; a number is written as Python writes it."""
    if isinstance(args, str):
        raise UserError(phrase("{option}: found {found}; a list is wanted", option="args", found=repr(args)))
    return tuple(_read_word(each) for each in args)


def _read_word(value: object) -> str:
    if isinstance(value, str | int | float | os.PathLike):
        return str(os.fspath(value) if isinstance(value, os.PathLike) else value)
    raise UserError(phrase("args: found {found}; texts and numbers are wanted", found=repr(value)))


def choose_python(*, local: bool) -> str:
    """The interpreter's name. Debian has no `python` of its own; in an image `python3` may be the system's, which has
    no PaddlePaddle."""
    return "python3" if local else "python"


def read_script(
    script: File | Sequence[str], words: Sequence[str], python: str = "python"
) -> tuple[str | None, tuple[str, ...]]:
    """The manifest, if it is one, and what would stand behind `--`. `python`: what starts a Python file. Pure."""
    if isinstance(script, Sequence) and not isinstance(script, str):
        return None, (*map(_read_word, script), *words)
    if not isinstance(script, str | os.PathLike):
        raise UserError(phrase("script: found {found}; a file, or a list of words, is wanted", found=repr(script)))
    path = os.fspath(script)
    suffix = Path(path).suffix
    if suffix in _MANIFESTS:
        return path, tuple(words)
    starter = (python,) if suffix == ".py" else ("bash",) if suffix == ".sh" else ()
    return None, (*starter, path, *words)
