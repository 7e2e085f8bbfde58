"""Scripts that a script names: from where each is seen, how often one is read, and one that names itself."""

from __future__ import annotations

import pytest

from paddock.launches.commands import Unread
from paddock.launches.reading import Reading, read_script
from support.steps import count_steps

FILES = {
    "run.sh": "train here $1",
    "a/run.sh": "train there $1",
    "a/b/run.sh": "train below",
    "/opt/run.sh": "train far",
    "env.sh": "export N=1",
    "a/env.sh": "export N=2",
    "chain.sh": "cd a\nbash run.sh",
    "guarded.sh": "export N=3\n. ./guarded.sh",
    "round.sh": "train once\nbash round.sh",
    "one.sh": "export N=4\n. two.sh",
    "two.sh": ". one.sh\ntrain $N",
    "again.sh": "train ${1:-outer}\nbash $0 inner",
}


def read(text: str, **given: str) -> Reading:
    return read_script(text, read_file=FILES.get, **given)


def list_trained(text: str) -> list[str]:
    return [each.words[-1].typed for each in read(text).launches if each.words[0].text == "train"]


@pytest.mark.parametrize(
    ("text", "trained"),
    [
        ("bash run.sh here", ["here"]),
        ("(cd a && bash run.sh there)", ["there"]),
        ("cd a; bash ./run.sh x; cd ..; bash run.sh y", ["x", "y"]),
        ("cd a && cd b && sh run.sh", ["below"]),
        ("cd a/b/..; ./run.sh z", ["z"]),
        ("bash -c 'cd a/b; bash run.sh'", ["below"]),
        ("cd somewhere; bash /opt/run.sh", ["far"]),
        ("bash chain.sh", ["there"]),
        ("cd a; . ./env.sh; train $N", ["2"]),
        ('cd "$W"; . ./env.sh; train $N', ["$N"]),
        (". ./env.sh; N=9; . env.sh; train $N", ["1"]),
        ("bash run.sh 1; bash run.sh 2", ["1", "2"]),
        (". guarded.sh; train $N", ["3"]),
        ("bash round.sh", ["once"]),
        (". one.sh", ["4"]),
    ],
)
def test_a_script_is_read_where_a_shell_finds_it_each_time_that_it_is_named(text: str, trained: list[str]) -> None:
    assert list_trained(text) == trained


def test_the_directory_decides_which_of_two_scripts_is_read() -> None:
    (launch,) = read("cd a; bash run.sh 1").launches
    assert [each.typed for each in launch.words] == ["train", "there", "1"]


def test_a_script_that_starts_itself_is_read_with_the_arguments_that_it_gives() -> None:
    again = read_script(FILES["again.sh"], read_file=FILES.get, name="again.sh")
    assert [each.words[-1].typed for each in again.launches] == ["${1:-outer}", "inner"]


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        (". gone.sh", Unread(1, ". gone.sh", is_file=True)),
        ('source "$HERE/env.sh"', Unread(1, "source $HERE/env.sh", is_filled_in=True)),
        ("cd $W; . env.sh", Unread(1, ". env.sh", is_filled_in=True)),
        (". ~/env.sh", Unread(1, ". ~/env.sh", is_filled_in=True)),
    ],
)
def test_a_file_that_is_not_there_is_told_from_one_that_nobody_knows(text: str, unread: Unread) -> None:
    assert read(text).unread == (unread,)


@pytest.mark.parametrize(
    "text", [". env.sh; . env.sh", ". guarded.sh", "bash round.sh", ". one.sh", ". one.sh; . two.sh"]
)
def test_of_a_file_that_is_read_nothing_is_said(text: str) -> None:
    assert read(text).unread == () and read(text).whole


def test_a_file_is_opened_once() -> None:
    opened: list[str] = []
    read_script(". env.sh\n" * 50, read_file=lambda path: opened.append(path) or "export A=1")  # type: ignore[func-returns-value]
    assert opened == ["env.sh"]


def test_scripts_that_double_have_one_budget() -> None:
    files = {f"{n}.sh": f". {n + 1}.sh\nbash {n + 1}.sh\n" * 2 for n in range(60)}
    steps = count_steps(lambda: read_script(". 0.sh", read_file=files.get))
    assert steps < 3_000_000
    assert not read_script(". 0.sh", read_file=files.get).whole


def test_a_script_that_is_too_large_is_told_and_the_one_that_names_it_goes_on() -> None:
    reading = read_script(". large.sh\ntrain $N", read_file={"large.sh": "export N=1\n" * 9_000}.get)
    assert not reading.whole and [each.words[-1].typed for each in reading.launches] == ["$N"]


@pytest.mark.slow
def test_many_directories_cost_no_square() -> None:
    few, many = (count_steps(lambda n=n: read("cd a\n. gone.sh\n" * n)) for n in (250, 1_000))  # type: ignore[misc]
    assert many < 5 * few
