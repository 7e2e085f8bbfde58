"""Reads --env, --env-file and --secret. No message has a value of the last two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from paddock.cli.cluster.errors import UserError
from paddock.kube.nearness import nearest
from paddock.script.env_file import NAME, read_env_file
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase

Values = list[tuple[str, str]]
LARGEST = 2**20
"""Bytes of a Secret (core/v1, MaxSecretSize)."""


def read_plain(typed: Sequence[str]) -> Values:
    """The values of --env. Raises `UserError`."""
    values: Values = []
    for text in typed:
        name, equals, value = text.partition("=")
        if not equals or not NAME.fullmatch(name):
            raise UserError(_explain_plain(text, name, has_value=bool(equals)))
        values.append((name, value))
    _check_text("--env", values)
    return values


def _explain_plain(text: str, name: str, *, has_value: bool) -> Phrase:
    if has_value or not NAME.fullmatch(name):
        return phrase("--env: found {found}; NAME=VALUE is wanted, as in LEVEL=2", found=repr(text))
    return phrase(
        "--env: found {found}; NAME=VALUE is wanted, and --secret {name} takes the value from this shell",
        found=repr(text), name=name,
    )  # fmt: skip


def read_hidden(files: Sequence[str], names: Sequence[str], environ: Mapping[str, str]) -> Values:
    """The values of --env-file and --secret, which go by a Secret; later ones win. Raises `UserError` with every
    problem."""
    values: Values = []
    problems: list[Phrase] = []
    for file in files:
        try:
            content = Path(file).read_bytes()
            text = content.decode()
        except (OSError, UnicodeDecodeError) as error:
            why = explain_unreadable(error) if isinstance(error, OSError) else phrase("not a text in UTF-8")
            problems.append(phrase("--env-file {file}: {why}", file=file, why=why))
            continue
        read = read_env_file(text)
        problems += [phrase("{file}:{line}: {problem}", file=file, line=line, problem=said) for line, said in
                     read.problems]  # fmt: skip
        values += read.values
    for name in names:
        problems += _explain_secret(name, environ)
        values.append((name, environ.get(name, "")))
    if problems:
        raise UserError(*problems, phrase("nothing was submitted"))
    _check_text("--secret", values)
    if sum(len(value.encode()) for value in dict(values).values()) > LARGEST:
        raise UserError(phrase("--env-file, --secret: more than {most} KiB in all", most=LARGEST >> 10))
    return list(dict(values).items())


def _explain_secret(name: str, environ: Mapping[str, str]) -> Iterator[Phrase]:
    if not NAME.fullmatch(name):
        shown = name.partition("=")[0]
        yield phrase(
            "--secret: the name of a variable of this shell is wanted, not its value: `export {name}=…` and "
            "`--secret {name}`",
            name=shown if NAME.fullmatch(shown) else "TOKEN",
        )
    elif name not in environ:
        near = nearest(name, tuple(environ))
        hint = phrase(": `export {name}=…`", name=name)
        if near:
            hint = phrase("; did you mean {suggestion}?", suggestion=near)
        yield phrase("--secret {name}: this shell has no such variable{hint}", name=name, hint=hint)


def _check_text(option: str, values: Values) -> None:
    for name, value in values:
        try:
            value.encode()
        except UnicodeEncodeError:
            said = phrase("not a text in UTF-8")
            raise UserError(phrase("{option}: {problem}", option=f"{option} {name}", problem=said)) from None
        if "\0" in value:
            said = phrase("it has a NUL character, which no variable can have")
            raise UserError(phrase("{option}: {problem}", option=f"{option} {name}", problem=said))
