"""Reads --env, --env-file and --secret. No message has a value of the last two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from paddock.cli.cluster.errors import UserError
from paddock.kube.nearness import nearest
from paddock.script.env_file import NAME, read_env_file
from paddock.script.secrets import is_secret
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import NOTHING, Phrase, phrase

Values = list[tuple[str, str]]
LARGEST = 2**20
"""Bytes of a Secret (core/v1, MaxSecretSize)."""


def read_plain(typed: Sequence[str], environ: Mapping[str, str]) -> Values:
    """The values of --env: NAME=VALUE, or NAME, whose value this shell has. Raises `UserError`."""
    values: Values = []
    for text in typed:
        name, equals, value = text.partition("=")
        if not NAME.fullmatch(name):
            raise UserError(
                phrase(
                    "--env: found {found}; NAME=VALUE is wanted, as in LEVEL=2, or NAME for the value in this shell",
                    found=repr(text),
                )
            )
        if not equals and name not in environ:
            raise UserError(_explain_missing(name, environ))
        values.append((name, value if equals else environ[name]))
    _check_text("--env", values)
    return values


def _explain_missing(name: str, environ: Mapping[str, str]) -> Phrase:
    near = nearest(name, tuple(environ))
    hint = phrase("; did you mean {suggestion}?", suggestion=near) if near else NOTHING
    return phrase(
        "--env {name}: this shell exports no such variable: `--env {name}=VALUE` gives a value, `export {name}` "
        "exports one that is set{hint}",
        name=name, hint=hint,
    )  # fmt: skip


def explain_open_secrets(typed: Sequence[str], environ: Mapping[str, str]) -> Iterator[Phrase]:
    """What is said of --env NAME where the name or the value is one of a secret: the manifest would have it."""
    for name in typed:
        if "=" not in name and is_secret(name, environ.get(name, "")):
            yield phrase(
                "warning: --env {name} writes its value into the manifest, where others read it: --secret {name} keeps "
                "it out",
                name=name,
            )


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
