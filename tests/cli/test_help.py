"""What `--help` prints, whole, and how little is loaded for it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from paddock.cli.help import columns, wrap
from paddock.cli.main import cli, run

VERBS = tuple(cli.list_commands(None))  # type: ignore[attr-defined, arg-type]


@pytest.mark.parametrize("words", [(), *((verb,) for verb in VERBS)], ids=lambda words: " ".join(words) or "paddock")
def test_help(words: tuple[str, ...], match_golden: Callable[[str, str], None]) -> None:
    """The whole text, so that each change of a flag or a sentence appears in a review."""
    result = CliRunner().invoke(cli, [*words, "--help"], prog_name="paddock")
    assert result.exit_code == 0
    match_golden(f"help-{words[0] if words else 'paddock'}.txt", result.output)


GROUPS = {"env": ("list", "create", "build", "rm"), "dataset": ("list", "create", "describe", "rerun", "rm")}
VERBS_OF_GROUPS = tuple((group, name) for group, names in GROUPS.items() for name in names)


@pytest.mark.parametrize(
    "words", [(), *((verb,) for verb in VERBS), *VERBS_OF_GROUPS], ids=lambda words: " ".join(words) or "paddock"
)
def test_help_in_chinese(
    words: tuple[str, ...],
    match_golden: Callable[[str, str], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_chinese(monkeypatch)
    assert run([*words, "--help"]) == 0
    match_golden(f"help-zh-{'-'.join(words) or 'paddock'}.txt", capsys.readouterr().out)


def read_chinese(monkeypatch: pytest.MonkeyPatch, locale: str = "zh_CN.UTF-8") -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", locale)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("words", [(), *((verb,) for verb in VERBS), *VERBS_OF_GROUPS], ids=" ".join)
def test_no_sentence_of_chinese_help_is_left_in_english(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read_chinese(monkeypatch)
    run([*words, "--help"])
    text = capsys.readouterr().out
    commands = re.compile(r"`[^`]*`|^  (paddock|kubectl|helm|cat|export|source|cd) [!-~ ]*|^用法：.*", re.MULTILINE)
    assert re.findall(r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b", commands.sub("", text)) == []
    assert all(columns(line) <= 80 for line in text.splitlines() if not line.startswith("  paddock "))


@pytest.mark.parametrize("locale", ["zh_CN.UTF-8", "zh_TW", "zh"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["submit"], "错误：缺少参数 'FILE...'"),
        (["run", "--rnak", "0", "x"], "错误：没有选项 '--rnak'。"),
        (["up", "--port", "99999"], "99999 不在范围 0<=x<=65535 之内。"),
        (["get", "-o", "xml"], "'xml' 不在可选值之中：'table', 'wide', 'json', 'yaml', 'name'。"),
        (["env", "lst"], "没有命令 'lst'。"),
    ],
)
def test_click_s_errors_are_in_chinese_too(
    words: list[str],
    said: str,
    locale: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_chinese(monkeypatch, locale)
    assert run(words) == 2
    error = capsys.readouterr().err
    assert said in error and "Usage" not in error and "Try" not in error
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    assert run(words) == 2
    assert "Error: " in capsys.readouterr().err, "the next command is in its own reader's language"


def test_chinese_is_broken_by_columns_and_before_no_punctuation() -> None:
    lines = wrap("结束并删除任务，以及它的 Pod 和日志（--now）。", 16)
    assert lines == ["结束并删除任务，", "以及它的 Pod 和", "日志（--now）。"]
    assert all(columns(line) <= 16 for line in lines)


def test_paddock_alone_is_its_help_and_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """As `kubectl` and `sky` alone."""
    assert (run([]), run(["--help"])) == (0, 0)
    alone, asked = capsys.readouterr().out.split("Usage:")[1:]
    assert alone == asked


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
