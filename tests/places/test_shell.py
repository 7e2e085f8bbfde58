"""Texts of a manifest as words of a shell: each reaches the program byte for byte, and none is a command."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.samples import SAMPLES, read_sample
from paddock.jobs.frameworks.registry import FRAMEWORKS
from paddock.places.hosts import OWN_INDEX
from paddock.places.shell import STRAY, comment, fold, is_name, join, quote

PRINT = """
import sys
sys.stdout.buffer.write(b"\\0".join(word.encode("utf-8", "surrogateescape") for word in sys.argv[1:]))
"""

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)
NASTY = st.sampled_from(["", "'", '"', "$(reboot)", "`id`", "a b", "$HOME", "\\", "!", "*", "a\nb", "-n", "#x", "~"])


def run(line: str) -> list[str]:
    text = f"addresses=(10.0.0.1 10.0.0.2)\nindex=7\npython3 -c '{PRINT}' {line}"
    done = subprocess.run(["bash", "-c", text], capture_output=True, check=True)
    return done.stdout.decode().split("\0")


@given(words=st.lists(TEXTS | NASTY, min_size=1, max_size=6))
def test_words_reach_the_program_as_they_are(words: list[str]) -> None:
    assert run(join(words)) == words


def test_marks_become_addresses_also_beside_other_text() -> None:
    words = ["machine-1.paddock.invalid:36000,machine-0.paddock.invalid:36000", f"a b{OWN_INDEX}", OWN_INDEX]
    assert run(join(words)) == ["10.0.0.2:36000,10.0.0.1:36000", "a b7", "7"]


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("plain", "plain"),
        ("", "''"),
        ("machine-0.paddock.invalid", '"${addresses[0]}"'),
        ("--master=machine-0.paddock.invalid:1", '--master="${addresses[0]}":1'),
    ],
)
def test_a_plain_word_stays_plain(word: str, written: str) -> None:
    assert quote(word) == written


def test_a_long_command_is_folded_between_its_words() -> None:
    folded = fold([f"word-{number}" for number in range(40)])
    assert all(len(line) <= 120 for line in folded.splitlines())
    assert folded.replace("\\\n", "").split() == [f"word-{number}" for number in range(40)]


def test_no_line_of_a_comment_is_a_command() -> None:
    assert comment("one\nreboot\n\n" + "word " * 60).splitlines()[1] == "# reboot"
    assert all(line.startswith("#") for line in comment("a\r\nb\x0bc\u2028d\ne").splitlines())


@pytest.mark.parametrize(
    ("name", "is_one"), [("A_1", True), ("1A", False), ("a.b", False), ("a-b", False), ("é", False)]
)
def test_which_names_a_shell_can_hold(name: str, is_one: bool) -> None:
    assert is_name(name) is is_one


@pytest.mark.parametrize("name", SAMPLES)
def test_what_a_rank_is_told_is_never_taken_from_the_shell_that_starts_it(name: str) -> None:
    job = read_sample(name)
    framework = FRAMEWORKS[job.framework]
    told = {entry["name"] for rank in job.ranks() for entry in framework.build_environment(job, rank, None)}
    told |= set(framework.build_endpoints(job, dict.fromkeys(job.ranks(), "10.0.0.1"), 1))
    others = {"PYTHONUNBUFFERED", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "FLAGS_enable_pir_api", "POD_IP_DUMMY"}
    assert told - others <= set(STRAY)
