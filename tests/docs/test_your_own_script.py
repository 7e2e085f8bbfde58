"""The page "Your own script": what it tells a reader to type is typed here, and prints what it says, in both languages.

The training of it takes both frameworks; that its commands exist, and that both languages have the same, does not.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from docs.calls import resolve
from docs.page import Step, find_missing, read_calls, read_page
from e2e.commands import Cluster, open_cluster

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"en": DOCS / "your-own-script.md", "zh": DOCS / "your-own-script.zh-CN.md"}
LOCALES = {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}


def read(language: str) -> tuple[Step, ...]:
    return read_page(PAGES[language].read_text(encoding="utf-8"))


def outline(step: Step) -> tuple[object, ...]:
    """What is the same in each language."""
    return step.file, step.commands, step.exit_code, step.not_run, len(step.prints)


def test_both_languages_have_the_same_commands_in_the_same_order() -> None:
    english, chinese = ([outline(step) for step in read(language)] for language in PAGES)
    assert english == chinese
    assert len(english) > 10


def test_what_is_not_run_says_why_and_is_all_there_is() -> None:
    not_run = [step.not_run for step in read("en") if step.not_run]
    assert not_run == ["it takes a Kubernetes with Paddock's operator and an image in a registry"]


def test_the_script_of_the_page_is_the_one_in_examples() -> None:
    (script,) = (step.text for step in read("en") if step.file == "train.py")
    assert script == (DOCS.parent / "examples" / "your_own_script" / "train.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words", [call for step in read("en") for line in step.commands for call in read_calls(line)], ids=" ".join
)
def test_every_verb_and_option_of_the_page_exists(words: list[str]) -> None:
    resolve(words)


def test_a_verb_or_an_option_that_there_is_not_is_found() -> None:
    for words in (["rum", "x"], ["run", "--rnak", "0", "x"], ["env", "lst"], ["get", "--no-such"]):
        with pytest.raises(click.UsageError):
            resolve(words)


@pytest.fixture
def laptop() -> Iterator[Cluster]:
    """What is asked here is the command line's: one sandbox is enough."""
    with open_cluster("none") as opened:
        yield opened


@pytest.mark.paddle
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("language", PAGES)
def test_the_page_does_what_it_says(language: str, laptop: Cluster) -> None:
    directory = laptop.directory / "mnist"
    directory.mkdir()
    faults = []
    for step in read(language):
        if step.file:
            (directory / step.file).write_text(step.text, encoding="utf-8")
        elif not step.not_run:
            faults += find_faults(step, language, laptop, directory)
    assert not faults, "\n".join(faults)


def find_faults(step: Step, language: str, cluster: Cluster, directory: Path) -> Iterator[str]:
    """What a reader would find otherwise than the page has it."""
    path = f"{Path(sys.executable).parent}:{cluster.environment['PATH']}"
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", step.text],
        cwd=directory,
        env=cluster.environment | {"PATH": path, "COLUMNS": "110", "LC_ALL": LOCALES[language]},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    place = f"{PAGES[language].name}:{step.line}"
    if ended.returncode != step.exit_code:
        yield f"{place}: exit code {ended.returncode}\n{ended.stdout}"
    if missing := find_missing(step.prints, ended.stdout):
        yield f"{place}: it did not print\n  {missing}\nbut\n{ended.stdout}"
