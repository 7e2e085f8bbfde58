"""What is said of a command that could not be started in a pod."""

from __future__ import annotations

import pytest

from paddock.cli.follow.sessions import suggest_words


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (("ls -l",), "'ls -l'"), (("echo 'a' | wc",), "'echo '\"'\"'a'\"'\"' | wc'"), (("ls", "-l"), ""), (("ls",), ""),
        (("/opt/my tool", "x"), ""), (("ls ",), ""),
    ],
)  # fmt: skip
def test_a_line_in_quotes_is_one_program(command: tuple[str, ...], line: str) -> None:
    said = suggest_words(command)
    assert (str(said) if said else "") == (
        f"one word in quotes is one program: leave the quotes out, or `-- sh -c {line}`" if line else ""
    )
