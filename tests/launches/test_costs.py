"""What small texts cost that ask for much: numbers that a user chooses are added, and never multiplied."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from paddock.launches.budget import LARGEST_COMMAND
from paddock.launches.containers import find_launch, read_kept
from paddock.launches.reading import Reading, read_container, read_script, read_typed
from support.steps import count_steps
from support.tiers import keep_light

SIZE = 4096
MOST_STEPS = 6_000_000
"""What the budget of one reading is at most."""
MOST_MEMORY = 60 * 2**20
LONG = "A=aaaaaaaaaa\n" + "A=$A$A\n" * 9
MANY = "A='" + "a " * 900 + "'\n"


def container(variables: dict[str, str], *words: str) -> Reading:
    env = [{"name": name, "value": value} for name, value in variables.items()]
    return read_container({"env": env, "command": list(words)})


TEXTS: dict[str, str] = {
    "a long variable in one word": LONG + 'x "' + "$A" * 20_000 + '"',
    "a long variable in many words": LONG + "x " + "$A" * 20_000,
    "a long variable in a here-document": LONG + "cat <<E\n" + "$A" * 20_000 + "\nE\n",
    "a variable of many words, many times": MANY + "x " + "$A " * 20_000,
    "an array of many words, many times": "A=(" + "a " * 900 + ")\nx " + '"${A[@]}" ' * 4_000,
    "many arguments, many times": "set -- " + "a " * 900 + "\nx " + '"$@" ' * 4_000,
    "an array that grows": "A+=('')\n" * 9_000,
    "variables that are handed on one by one": "".join(f"export A{n}=;x\n" for n in range(4_000)),
    "a group of many commands with many redirections": "{ " + "a;" * 900 + " } " + ">b " * 8_000,
    "a long loop in a function of many calls":
        "f(){ while x; do return; " + "a b;" * 500 + "done; }\n" + "f;" * 900,
    "any variable is unset, many times": "".join(f"A{n}=1\n" for n in range(300)) + "unset $x\n" * 4_000,
    "many exported variables and many conditions":
        "export" + "".join(f" A{n}=1" for n in range(200)) + "\na||b" * 8_000,
    "many names are unset before many commands": "unset " + "".join(f"A{n} " for n in range(300)) + "\nx" * 20_000,
    "a pipe of many programs": "a|" * 30_000 + "a",
    "a pipe that is open": "a|" * 30_000,
    "a pipe over many lines that is open": "a |&\n" * 15_000,
    "an open brace with many commas": "x {" + "," * 60_000,
    "many braces within each other": "x " + "{," * 30_000,
    "a pattern that is cut off, many times": "A=" + "a" * 200 + "\nx " + "${A%*a*a*b} " * 4_000,
    "defaults within each other": "x " + "${a:-" * 9_000 + "}" * 9_000,
    "substitutions with an error": "x " + "$(x " * 15_000,
    "a number of many digits": "set -- a; shift " + "9" * 4_500,
    "a place of many digits": "x ${A[" + "9" * 4_400 + "]}",
}  # fmt: skip
READINGS: dict[str, Callable[[], Reading]] = {
    "variables that have the one before twice": lambda: container(
        {"A0": "xxxxxxxxxx"} | {f"A{n}": f"$(A{n - 1})$(A{n - 1})" for n in range(1, 60)}, "python", "$(A59)"
    ),
    "a long variable many times": lambda: container({"A": "x" * 100_000, "B": "$(A)" * 1_000}, "python", "$(B)"),
    "a wrapper many times": lambda: read_typed(["nohup"] * 20_000),
    "a launcher many times": lambda: read_typed(["mpirun"] * 20_000),
    "many options of Python": lambda: read_typed(["python", *["-u"] * 3_900]),
    "many variables, and many commands with one more": lambda: container(
        {f"A{n}": "" for n in range(3_000)}, "bash", "-c", "env A= x\n" * 1_500
    ),
    "many options": lambda: read_typed(["torchrun", *["--a", "b"] * 10_000]),
    "many words that may be options": lambda: read_script("torchrun " + "$A " * 9_000 + "--nnodes 2"),
    **{name: (lambda text=text: read_script(text[:SIZE])) for name, text in TEXTS.items()},
}


DEAR = frozenset({
    "a variable of many words, many times", "an array of many words, many times", "many words that may be options",
    "many variables, and many commands with one more", "any variable is unset, many times",
    "a long loop in a function of many calls", "many names are unset before many commands",
    "many braces within each other", "a group of many commands with many redirections",
    "many exported variables and many conditions", "many options of Python",
})  # fmt: skip
"""They end at the budget, so each takes as long as it lasts; those that are light are cut by it, too."""


@pytest.mark.parametrize("name", keep_light(READINGS, READINGS.keys() - DEAR))
def test_what_asks_for_much_is_read_within_its_bounds(name: str) -> None:
    """Steps of Python, and bytes that are held at once: both are the same on a busy machine."""
    read = READINGS[name]
    assert count_steps(read) < MOST_STEPS
    tracemalloc.start()
    try:
        read()
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    finally:
        tracemalloc.stop()


def test_an_operator_reads_a_command_once_and_within_a_budget_of_its_own() -> None:
    """It asks at each pass."""
    large: dict[str, Any] = {"command": ["bash", "-c", "python t.py # " + "a" * 3 * LARGEST_COMMAND]}
    assert not read_kept(large).whole and find_launch(large) is None
    assert count_steps(lambda: read_kept(large)) < 1_000
    costly: dict[str, Any] = {"command": ["bash", "-c", MANY + "x " + "$A " * 300]}
    assert not read_kept(costly).whole
    assert count_steps(lambda: read_container(costly)) > 10 * count_steps(lambda: read_kept({**costly, "args": ["a"]}))
    small = {"command": ["bash", "-c", "python t.py"]}
    assert read_kept(small) is read_kept({**small}), "a job has one command for all of its pods"
