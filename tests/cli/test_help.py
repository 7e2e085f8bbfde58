"""What `--help` prints, whole, and how little is loaded for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from paddock.cli.main import cli

VERBS = tuple(cli.list_commands(None))  # type: ignore[attr-defined, arg-type]


@pytest.mark.parametrize("words", [(), *((verb,) for verb in VERBS)], ids=lambda words: " ".join(words) or "paddock")
def test_help(words: tuple[str, ...], match_golden: Callable[[str, str], None]) -> None:
    """Whole, so that a change of a flag or a sentence is read by somebody."""
    result = CliRunner().invoke(cli, [*words, "--help"], prog_name="paddock")
    assert result.exit_code == 0
    match_golden(f"help-{words[0] if words else 'paddock'}.txt", result.output)


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_begins_with_one_sentence_and_shows_how_it_is_used(verb: str) -> None:
    text = CliRunner().invoke(cli, [verb, "--help"], prog_name="paddock").output
    sentence = " ".join(text.split("\n\n")[1].split())
    assert sentence.endswith(".")
    assert f"paddock {verb}" in text.split("\n\n", 2)[2] or verb == "version"


@pytest.mark.parametrize("words", ["--help", "version", "completion bash", "run --help"])
def test_what_needs_no_cluster_loads_no_client(words: str) -> None:
    """`paddock --help` must feel instant; 80 ms of it would be the HTTP client."""
    program = (
        "import sys; from paddock.cli.main import run; run(sys.argv[1:]); "
        "print([name for name in ('aiohttp', 'rich.live', 'cryptography', 'uvloop') if name in sys.modules], "
        "file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", program, *words.split()], capture_output=True, text=True)
    assert "aiohttp" not in ended.stderr and "cryptography" not in ended.stderr and "uvloop" not in ended.stderr
    if words != "run --help":
        assert ended.stderr.strip() == "[]"
