"""The numbers of `house.toml`: each counts what it says, and none is raised by the command that lowers them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from house import (
    COUNTED,
    MEANINGS,
    House,
    Nodes,
    Row,
    count_branches,
    count_fragments,
    count_frameworks,
    count_listed_options,
    count_options,
    count_participles,
    count_texts,
    count_verbs,
    find_faults,
    find_names,
    lower,
    measure_module,
    parse,
    render,
)

CATALOGUE = """
msgid ""
msgstr "Language: zh"

msgid "one"
msgstr "一"

msgid "{count} pod"
msgid_plural "{count} pods"
msgstr[0] "{count} 个"

#~ msgid "gone"
#~ msgstr "二"
"""

HELP = """
Usage: paddock run [OPTIONS]

  --watch runs the job again.

Options:
  --name NAME  Its name, as
               --print shows it.
  -r, --requirements FILE
"""


def test_texts_are_the_entries_of_a_catalogue() -> None:
    assert count_texts(CATALOGUE) == 2


def test_options_of_a_command_are_the_rows_of_its_help() -> None:
    assert count_listed_options(HELP) == 2


def test_verbs_are_the_keys_of_their_table() -> None:
    assert count_verbs(Nodes('OTHERS: dict = {"c": 1}\nVERBS: dict[str, int] = {"a": 1, "b": {"c": 2}}')) == 2


def test_options_are_declared_by_calls_of_click() -> None:
    assert (
        count_options(Nodes('@click.option("--a")\ndef f(): option("b"); parser.option("c"); click.argument("d")')) == 1
    )


def test_names_are_found_in_texts_once_each() -> None:
    texts = 'A = "paddock.dev/a"\nB = f"x paddock.dev/b-c={A}"\nC = ["paddock.dev/a", "paddock.dev/", "other.dev/d"]\n'
    assert find_names(Nodes(f"{texts}# paddock.dev/e")) == {"paddock.dev/a", "paddock.dev/b-c"}


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("Asked", 1),
        ("_Asked", 1),
        ("Found", 1),
        ("Unseen", 1),
        ("Unreached", 1),
        ("FoundPod", 0),
        ("Need", 0),
        ("Unknown", 0),
        ("Waiting", 0),
        ("Request", 0),
    ],
)
def test_a_participle_alone_is_no_name_of_a_class(name: str, number: int) -> None:
    assert count_participles(Nodes(f"class {name}: pass\nasked = {name}")) == number


@pytest.mark.parametrize(
    ("docstring", "number"),
    [
        ("Of a job that has ended.", 1),
        ("Whose a port is.", 1),
        ("\n    As it stands.", 1),
        ("One, or none.", 1),
        ("Often asked.", 0),
        ("In-memory store.", 0),
        ("The pods of a job.", 0),
        ("", 0),
    ],
)
def test_a_fragment_is_a_docstring_without_a_subject(docstring: str, number: int) -> None:
    written = f'"""{docstring}"""'
    assert count_fragments(Nodes(f"def f():\n    {written}")) == number
    assert count_fragments(Nodes(f"class A:\n    {written}\n    async def f(self):\n        {written}")) == 2 * number
    assert count_fragments(Nodes(f"{written}\na = 1\n{written}")) == 0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('job.framework == "paddle"', 1),
        ('"jax" != framework', 1),
        ('framework in ("paddle", "jax")', 1),
        ('framework == "jax" or framework == "paddle"', 2),
        ('match job.framework:\n    case "jax": pass\n    case _: pass', 2),
        ("framework == NONE.framework", 0),
        ("framework in MODULES", 0),
        ('kind == "paddle"', 0),
    ],
)
def test_a_framework_is_compared_with_a_literal(text: str, number: int) -> None:
    assert count_frameworks(Nodes(text)) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("if is_local: pass", 1),
        ("a = not place.is_local", 1),
        ("a = place.home is None", 1),
        ("a = home is not None and kept is None", 2),
        ("a = home == 1 or other is None or home is other", 0),
        ("class A:\n    is_local: bool", 0),
        ("f(is_local=True)", 0),
    ],
)
def test_a_branch_asks_whether_a_place_is_the_laptop(text: str, number: int) -> None:
    assert count_branches(Nodes(text)) == number


def test_a_module_counts_for_its_room_and_for_the_whole() -> None:
    text = 'if framework == "jax":\n    pass\n'
    found = measure_module(Path("cli/verbs/run.py"), text, Nodes(text))
    assert (found["lines.cli"], found["lines.paddock"], found["counts.frameworks"]) == (2, 2, 1)
    assert measure_module(Path("jobs/frameworks/jax.py"), text, Nodes(text))["counts.frameworks"] == 0
    assert measure_module(Path("version.py"), "", Nodes(""))["lines.top"] == 0
    assert COUNTED.keys() <= found.keys()


ROW = Row("lines.cli", 100, "a verb", "issue 61")
HOUSE = House({"lines.cli": 1000, "lines.node": 500, "lines.paddock": 1500, "counts.texts": 40}, [ROW], {"cli": 2.5})
TODAY = {"lines.cli": 1100, "lines.node": 500, "lines.paddock": 1600, "counts.texts": 40}


def test_a_row_allows_more_of_its_room_and_of_the_whole() -> None:
    assert find_faults(HOUSE, TODAY) == []
    asked = "make it less by 100, or add a row [[more]] to house.toml with `by = 100`, `why`, and `who` asked for it"
    assert find_faults(replace(HOUSE, more=[]), TODAY) == [
        f"lines.cli is 1100, and house.toml allows 1000: {asked}",
        f"lines.paddock is 1600, and house.toml allows 1500: {asked}",
    ]


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"counts.texts": 41}, "counts.texts is 41, and house.toml allows 40: make it less by 1"),
        ({"counts.texts": 39}, "counts.texts has fallen to 39, and house.toml allows 40: `make ratchet` lowers it"),
        ({"lines.node": 480}, "lines.node has fallen to 480, and house.toml allows 500: `make ratchet` lowers it"),
        (
            {"lines.submit": 7},
            "lines.submit is 7, and house.toml does not have it: write `submit = 0` into [lines], and",
        ),
    ],
)
def test_a_number_that_is_not_as_the_file_has_it_is_told(changed: dict[str, int], fault: str) -> None:
    (found,) = find_faults(HOUSE, {**TODAY, **changed})
    assert found.startswith(fault)


def test_lines_may_be_a_few_less() -> None:
    assert find_faults(HOUSE, {**TODAY, "lines.node": 481}) == []
    large = House({"lines.node": 50_000}, [], {})
    assert find_faults(large, {"lines.node": 49_500}) == []
    assert len(find_faults(large, {"lines.node": 49_499})) == 1


def test_a_number_that_nothing_measures_is_told() -> None:
    (found,) = find_faults(HOUSE, {number: now for number, now in TODAY.items() if number != "counts.texts"})
    assert found == "counts.texts is in house.toml, and nothing measures it: `make ratchet` takes it out"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (replace(ROW, why=" "), "lacks `why` or `who`"),
        (replace(ROW, who=""), "lacks `why` or `who`"),
        (replace(ROW, number="lines.clii"), "is for 'lines.clii', which nothing measures"),
        (replace(ROW, by=0), "has `by = 0`"),
        (replace(ROW, by=-5), "has `by = -5`"),
    ],
)
def test_a_row_says_for_what_why_and_for_whom(row: Row, fault: str) -> None:
    assert fault in find_faults(replace(HOUSE, more=[row]), TODAY)[0]


def test_what_has_fallen_is_lowered_and_nothing_is_raised() -> None:
    lowered = lower(HOUSE, {"lines.cli": 1060, "lines.node": 450, "lines.paddock": 1510, "counts.texts": 44})
    assert lowered.base == {"lines.cli": 1000, "lines.node": 450, "lines.paddock": 1450, "counts.texts": 40}
    assert lowered.more == [replace(ROW, by=60)]
    assert (lowered.allow("lines.cli"), lowered.allow("lines.paddock")) == (1060, 1510)
    assert lowered.cpu == HOUSE.cpu


def test_a_row_that_is_no_longer_needed_is_left_out_and_the_oldest_goes_first() -> None:
    later = Row("lines.cli", 30, "an option", "a review")
    twice = replace(HOUSE, more=[ROW, later])
    assert lower(twice, {**TODAY, "lines.cli": 1020, "lines.paddock": 1520}).more == [replace(later, by=20)]
    gone = lower(twice, {**TODAY, "lines.cli": 990, "lines.paddock": 1490})
    assert (gone.more, gone.base["lines.cli"], gone.base["lines.paddock"]) == ([], 990, 1490)


def test_a_room_that_is_gone_leaves_the_file() -> None:
    today = {"lines.cli": 1100, "lines.paddock": 1100, "counts.texts": 40}
    lowered = lower(HOUSE, today)
    assert lowered.base == {"lines.cli": 1000, "lines.paddock": 1000, "counts.texts": 40}
    assert find_faults(lowered, today) == []


def test_the_file_is_written_as_it_is_read() -> None:
    house = replace(HOUSE, more=[replace(ROW, why='a "row"\\ of 行')])
    assert parse(render(house)) == house
    assert f"texts = 40  # {MEANINGS['texts']}\n" in render(house)


def test_a_row_of_the_whole_makes_up_for_no_row_of_a_room() -> None:
    rows = [Row("lines.paddock", 50, "a move", "a review"), ROW]
    today = {"lines.cli": 1060, "lines.node": 550, "lines.paddock": 1610}
    lowered = lower(replace(HOUSE, more=rows), today)
    assert lowered.more == [rows[0], replace(ROW, by=60)]
    assert lowered.allow("lines.paddock") == 1610
