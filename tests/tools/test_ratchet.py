"""The numbers of `house.toml`: each counts what it says, and none is raised by the command that lowers them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from house import (
    CALLS,
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
    find_raised,
    lower,
    main,
    measure_module,
    parse,
    read_earlier,
    render,
)

from support import costs
from support.programs import need

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


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('@click.option("--a")\ndef f(): option("b"); parser.option("c"); click.argument("d")', 1),
        ('from click import argument, option\n@option("--a")\n@argument("b")\ndef f(): parser.option("c")', 1),
        ('from click import option as o\n@o("--a")\ndef f(): option("b")', 1),
        ('import click as c\n@c.option("--a")\ndef f(): d.option("b")', 1),
        ('from argparse import option\noption("--a")', 0),
    ],
)
def test_options_are_declared_by_calls_of_click(text: str, number: int) -> None:
    assert count_options(Nodes(text)) == number


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
        ("if home: pass\nelif place.kept: pass", 1),
        ("if (home := find()): pass", 1),
        ("a = (kept := find()) is None", 1),
        ("a = 1 if home else 2", 1),
        ("a = home if wanted else kept", 0),
        ("a = not place.home or not kept", 1),
        ("if wanted and kept: pass", 0),
        ("a = home or find()", 1),
        ("if home.exists() and kept[0]: pass", 0),
        ("a = -home", 0),
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


def test_what_a_room_may_have_less_does_not_grow_with_it() -> None:
    large = House({"lines.node": 50_000, "lines.paddock": 50_000, "lines.tests": 170_000}, [], {})
    same = dict(large.base)
    assert find_faults(large, {**same, "lines.node": 49_981}) == []
    assert len(find_faults(large, {**same, "lines.node": 49_980})) == 1
    assert len(find_faults(large, {**same, "lines.tests": 169_000})) == 1


def test_the_whole_may_have_less_what_its_rooms_may() -> None:
    assert find_faults(HOUSE, {**TODAY, "lines.paddock": 1561}) == []  # two rooms
    assert len(find_faults(HOUSE, {**TODAY, "lines.paddock": 1560})) == 1


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


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x = 3", "house.toml has 'x' at its top"),
        ("[line]\ncli = 3", "house.toml has 'line' at its top"),
        ("lines = 3", "lines of house.toml is 3: write a table [lines]"),
        ("[lines]\ncli = 2.5", "lines.cli of house.toml is 2.5: write a whole number"),
        ('[counts]\ntexts = "40"', "counts.texts of house.toml is '40': write a whole number"),
        ("more = 3", "more of house.toml is no list of rows"),
        ("more = [3]", "more of house.toml is no list of rows"),
        ('[[more]]\nnumber = "lines.cli"\nby = 10.9', "for 'lines.cli' has `by = 10.9`: write a whole number"),
        ('[[more]]\nnumber = "lines.cli"\nby = "10"', "for 'lines.cli' has `by = '10'`: write a whole number"),
        ("[[more]]\nby = true", "for None has `by = True`: write a whole number"),
        ('[[more]]\nnumber = "lines.cli"\nwhy = 3', "for 'lines.cli' has `why = 3`: write a text"),
    ],
)
def test_a_file_of_another_form_is_told_and_not_written(
    text: str, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = find_faults(parse(text), TODAY)
    assert fault in found
    (tmp_path / "house.toml").write_text(text)
    assert main([], tmp_path / "house.toml") == 1
    assert (capsys.readouterr().err, (tmp_path / "house.toml").read_text()) == (f"{found}\n", text)


LATER = Row("lines.cli", 30, "an option", "a review")


@pytest.mark.parametrize(
    ("now", "raised"),
    [
        (HOUSE, {}),
        (replace(HOUSE, base={**HOUSE.base, "lines.cli": 1100, "lines.paddock": 1600}), {"lines.cli", "lines.paddock"}),
        (replace(HOUSE, base={**HOUSE.base, "counts.texts": 41}), {"counts.texts"}),
        (replace(HOUSE, base={**HOUSE.base, "lines.node": 400}), {}),
        (replace(HOUSE, more=[ROW, LATER]), {}),
        # A row that has become part of the base, and one that has as well and is there once more.
        (replace(HOUSE, base={**HOUSE.base, "lines.cli": 1100, "lines.paddock": 1600}, more=[LATER]), {}),
        (replace(HOUSE, base={**HOUSE.base, "lines.cli": 1101}, more=[LATER]), {"lines.cli"}),
        (replace(HOUSE, more=[replace(ROW, by=130)]), {"lines.cli", "lines.paddock"}),
        (replace(HOUSE, more=[ROW, ROW]), {"lines.cli", "lines.paddock"}),
        (replace(HOUSE, base={**HOUSE.base, "lines.submit": 7}), {"lines.submit"}),
        (replace(HOUSE, base={**HOUSE.base, "lines.submit": 0}, more=[ROW, replace(LATER, number="lines.submit")]), {}),
    ],
)
def test_a_number_is_raised_by_a_new_row_alone(now: House, raised: set[str]) -> None:
    faults = find_raised(now, HOUSE, "1a2b3c4")
    assert {each.partition(" ")[0] for each in faults} == set(raised)


def test_who_has_raised_a_number_by_hand_reads_what_to_do() -> None:
    (fault,) = find_raised(replace(HOUSE, base={**HOUSE.base, "counts.texts": 43}), HOUSE, "1a2b3c4")
    assert fault.startswith("counts.texts was raised by hand: house.toml allows 40 at 1a2b3c4, and 43 now without")
    assert "write a row [[more]] of their own with `by = 3`" in fault


def test_tests_that_were_counted_to_the_line_are_full_thousands_now() -> None:
    to_the_line = House({"lines.tests": 172_816}, [], {})
    assert find_raised(House({"lines.tests": 173_000}, [], {}), to_the_line, "1a2b3c4") == []
    assert len(find_raised(House({"lines.tests": 174_000}, [], {}), to_the_line, "1a2b3c4")) == 1


class Repository:
    """One that has house.toml in some of its commits."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "-q")

    def git(self, *words: str) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        command = [need("git"), *names, *words]
        return subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True).stdout

    def commit(self, name: str, text: str) -> str:
        self.write(name, text)
        self.git("add", name)
        self.git("commit", "-q", "-m", "a")
        return self.git("rev-parse", "--short=12", "HEAD").strip()

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_the_earlier_file_is_that_of_the_commit_at_which_all_passed(repository: Repository) -> None:
    repository.commit("house.toml", "[lines]\ncli = 9\n")
    passed = repository.commit("house.toml", "[lines]\ncli = 1\n")
    repository.commit("house.toml", "[lines]\ncli = 5\n")
    repository.commit(".ci/passed", f"# how it is moved\n{passed} 2026-12-02, CI\n")
    repository.write("house.toml", "[lines]\ncli = 7\n")
    assert read_earlier(repository.root) == (passed, "[lines]\ncli = 1\n")


def test_the_earlier_file_is_the_first_one_where_all_passed_before_there_was_one(repository: Repository) -> None:
    passed = repository.commit("other", "")
    first = repository.commit("house.toml", "[lines]\ncli = 1\n")
    repository.commit("house.toml", "[lines]\ncli = 5\n")
    for text in (f"{passed} of a day", "1a2b3c4d5e6f of another history", ""):
        repository.write(".ci/passed", text)
        commit, found = read_earlier(repository.root)
        assert (first.startswith(commit), found) == (True, "[lines]\ncli = 1\n")


def test_a_folder_without_history_has_no_earlier_file(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explain(root: Path) -> str:
        with pytest.raises(LookupError) as raised:
            read_earlier(root)
        return str(raised.value)

    assert "git tells no history" in explain(repository.root)
    repository.commit("other", "")
    repository.write("house.toml", "[lines]\ncli = 1\n")
    assert "no commit has one" in explain(repository.root)
    repository.commit("house.toml", "[lines]\ncli = 1\n")
    repository.git("clone", "-q", "--depth=1", repository.root.as_uri(), "shallow")
    assert "this clone is shallow" in explain(tmp_path / "shallow")
    monkeypatch.setenv("PATH", "")
    assert "git tells no history" in explain(repository.root)


def write_costs(folder: Path, **calls: dict[str, float]) -> None:
    for call, rooms in calls.items():
        (folder / f"{call}.json").write_text(json.dumps(rooms))


def test_the_seconds_of_rooms_are_those_of_the_last_run(tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_text(render(replace(HOUSE, cpu={"cli": 900, "gone": 7})))
    write_costs(tmp_path, pure={"jobs": 2.0, "cli": 1.2, "sdk": 0.1}, waiting={"cli": 3.1})
    assert main(["--cpu", str(tmp_path)], file) == 0
    assert parse(file.read_text()) == replace(HOUSE, cpu={"cli": 5, "jobs": 2, "sdk": 1})


def test_the_seconds_of_half_a_run_are_not_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "house.toml"
    file.write_text(render(HOUSE))
    write_costs(tmp_path, pure={"jobs": 2.0})
    assert main(["--cpu", str(tmp_path)], file) == 1
    assert f"{tmp_path / 'waiting.json'} cannot be read" in capsys.readouterr().err
    assert parse(file.read_text()) == HOUSE


def test_the_calls_of_make_test_are_those_whose_costs_are_kept() -> None:
    assert CALLS == costs._CALLS


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
