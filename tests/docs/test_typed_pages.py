"""The pages "Start in ten minutes" and "Your own script": what they tell a reader to type is typed here, and prints
what they say, in both languages.

The training takes the frameworks; that the commands exist, and that both languages have the same, does not.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.page import Step, find_missing, read_page
from e2e.commands import Cluster, open_cluster

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("start", "your-own-script")
ENDS = {"en": ".md", "zh": ".zh-CN.md"}
LOCALES = {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}


NOT_RUN = {
    "start": [
        "it installs Paddock, and the test has it installed already",
        "it wants a terminal",
        "it opens a browser",
    ],
    "your-own-script": [
        "it takes a Kubernetes with Paddock's operator and an image in a registry",
        "it takes a Kubernetes with Paddock's operator and a registry",
    ],
}


def read(page: str, language: str = "en") -> tuple[Step, ...]:
    return read_page((DOCS / f"{page}{ENDS[language]}").read_text(encoding="utf-8"))


def outline(step: Step) -> tuple[object, ...]:
    """What is the same in each language."""
    return step.file, step.commands, step.exit_code, step.not_run, len(step.prints)


@pytest.mark.parametrize("page", PAGES)
def test_both_languages_have_the_same_commands_in_the_same_order(page: str) -> None:
    english, chinese = ([outline(step) for step in read(page, language)] for language in ENDS)
    assert english == chinese
    assert len(english) > 10


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_run_says_why_and_is_all_there_is(page: str) -> None:
    assert [step.not_run for step in read(page) if step.not_run] == NOT_RUN[page]


def test_the_script_of_the_page_is_the_one_in_examples() -> None:
    (script,) = (step.text for step in read("your-own-script") if step.file == "train.py")
    assert script == (DOCS.parent / "examples" / "your_own_script" / "train.py").read_text(encoding="utf-8")


@pytest.fixture
def laptop() -> Iterator[Cluster]:
    """What is asked here is the command line's: one sandbox is enough."""
    with open_cluster("none") as opened:
        yield opened


@pytest.mark.paddle
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("language", ENDS)
@pytest.mark.parametrize(("page", "folder"), [("start", "start"), ("your-own-script", "mnist")])
def test_the_page_does_what_it_says(page: str, folder: str, language: str, laptop: Cluster) -> None:
    directory = laptop.directory / folder
    directory.mkdir()
    faults = []
    for step in read(page, language):
        if step.file:
            (directory / step.file).write_text(step.text, encoding="utf-8")
        elif not step.not_run:
            faults += find_faults(step, page, language, laptop, directory)
    assert not faults, "\n".join(faults)


def find_faults(step: Step, page: str, language: str, cluster: Cluster, directory: Path) -> Iterator[str]:
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
    place = f"{page}{ENDS[language]}:{step.line}"
    if ended.returncode != step.exit_code:
        yield f"{place}: exit code {ended.returncode}\n{ended.stdout}"
    if missing := find_missing(step.prints, ended.stdout):
        yield f"{place}: it did not print\n  {missing}\nbut\n{ended.stdout}"
