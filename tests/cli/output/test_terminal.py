"""Tables in kubectl's layout; what goes to stdout and what to stderr."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from paddock.cli.output import screen, terminal
from paddock.cli.output.log_lines import Unended
from paddock.cli.output.terminal import (
    PlainConsole,
    build_stacked,
    build_table,
    find_room,
    pod_colour,
    print_table,
    styled,
)

HEADER = ("NAME", "STATUS", "WHY")
WHY = "worker-1 ended with exit code 3"
ROWS = [("one", "Running", ""), ("the-second", "Failed", WHY)]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            None,
            [
                "NAME         STATUS    WHY",
                "one          Running",
                f"the-second   Failed    {WHY}",
            ],
        ),
        (40, ["NAME         STATUS    WHY", "one          Running", "the-second   Failed    worker-1 ended w…"]),
        (20, ["NAME         STATUS    WHY", "one          Running", "the-second   Failed    worker-1 …"]),
        (200, ["NAME         STATUS    WHY", "one          Running", f"the-second   Failed    {WHY}"]),
    ],
)  # fmt: skip
def test_only_the_last_column_is_shortened(width: int | None, lines: list[str]) -> None:
    assert [line.plain for line in build_table(HEADER, ROWS, width)] == lines


def test_on_a_narrow_terminal_why_stands_under_its_row() -> None:
    lines = build_stacked(HEADER, ROWS, 30)
    assert lines is not None
    assert [line.plain.rstrip() for line in lines] == [
        "NAME         STATUS",
        "one          Running",
        "the-second   Failed",
        "    worker-1 ended with exit",
        "    code 3",
    ]


def test_what_of_a_dataset_stands_under_its_row_where_there_is_little_room() -> None:
    text = io.StringIO()
    rows = [("words", "https://data.example.com/words.tar" * 2, "the disk is full: free some space in /data")]
    print_table(Console(file=text, force_terminal=True, width=100), ("NAME", "SOURCE", "WHAT"), rows, cut=True)
    assert text.getvalue().splitlines()[2] == "    the disk is full: free some space in /data"


def test_on_a_narrow_terminal_the_numbers_and_the_changes_of_a_run_stand_under_its_row() -> None:
    rows = [("demo", "1", "", ""), ("demo", "2", "epoch 3 loss 0.12", "environment: a → b; args: --lr 1 → 2")]
    lines = build_stacked(("NAME", "RUN", "METRICS", "CHANGED"), rows, 30)
    assert lines is not None
    assert [line.plain.rstrip() for line in lines] == [
        "NAME   RUN",
        "demo   1",
        "demo   2",
        "    epoch 3 loss 0.12",
        "    environment: a → b; args:",
        "    --lr 1 → 2",
    ]


def test_what_fits_stays_beside_its_row() -> None:
    assert build_stacked(HEADER, ROWS, 80) is None


@pytest.mark.parametrize(("width", "is_terminal", "lines"), [(60, True, 3), (50, True, 4), (50, False, 3)])
def test_a_pipe_has_one_line_for_each_row(width: int, is_terminal: bool, lines: int) -> None:
    text = io.StringIO()
    print_table(Console(file=text, force_terminal=is_terminal, width=width), HEADER, ROWS, cut=True)
    assert len(text.getvalue().splitlines()) == lines


@pytest.mark.parametrize(
    ("width", "is_terminal", "room"), [(120, True, 97), (83, True, None), (120, False, None), (99, True, None)]
)
def test_the_room_of_a_cause_is_what_its_row_leaves(width: int, is_terminal: bool, room: int | None) -> None:
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=width)
    assert find_room(console, HEADER, ROWS) == room


@pytest.mark.parametrize(("name", "lines"), [(10, 2), (60, 3)])
def test_a_cause_with_too_little_room_stands_under_its_row_on_a_wide_terminal_too(name: int, lines: int) -> None:
    text = io.StringIO()
    rows = [("n" * name, "Failed", "why " * 29 if name == 60 else WHY)]
    console = Console(file=text, force_terminal=True, width=120)
    assert (find_room(console, HEADER, rows) is None) == (name == 60)
    print_table(console, HEADER, rows, cut=True)
    assert len(text.getvalue().splitlines()) == lines
    assert "…" not in text.getvalue()


def test_wide_characters_keep_columns_straight() -> None:
    lines = [line.plain for line in build_table(("NAME", "WHY"), [("训练", "a"), ("ab", "b")])]
    assert lines == ["NAME   WHY", "训练   a", "ab     b"]


def test_a_table_without_rows_is_its_header() -> None:
    assert [line.plain for line in build_table(HEADER, [])] == ["NAME   STATUS   WHY"]


def test_a_pod_has_the_same_colour_every_time() -> None:
    assert pod_colour("worker-0") == pod_colour("worker-0")
    assert len({pod_colour(f"worker-{index}") for index in range(8)}) > 3


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


def console(*, is_terminal: bool) -> tuple[Console, io.StringIO]:
    text = Terminal() if is_terminal else io.StringIO()
    made = Console(file=text, force_terminal=is_terminal, color_system="standard" if is_terminal else None, width=60)
    return made, text


def test_in_a_pipe_a_rank_s_lines_are_unchanged() -> None:
    out, text = console(is_terminal=False)
    shown = screen.Screen(out, terminal.stderr())
    with shown:
        shown.status("Running 3s")
        shown.rank_lines("ps-0", 8, ["[bold]no markup[/bold]", "\x1b[31mred\x1b[0m", ""])
        shown.rank_lines("ps-0", 0, ["alone"])
    assert text.getvalue() == "ps-0     │ [bold]no markup[/bold]\nps-0     │ \x1b[31mred\x1b[0m\nps-0     │ \nalone\n"


def test_on_a_terminal_colours_pass_and_other_commands_to_it_do_not() -> None:
    out, text = console(is_terminal=True)
    screen.Screen(out, terminal.stderr()).rank_lines("ps-0", 4, ["\x1b[2J\x1b[31mred\x1b[0m \x1b[5Aup"])
    shown = text.getvalue()
    assert "\x1b[31mred" in shown and "up" in shown
    assert "\x1b[2J" not in shown and "\x1b[5A" not in shown


def test_on_a_terminal_each_line_ends() -> None:
    out, text = console(is_terminal=True)
    screen.Screen(out, terminal.stderr()).rank_lines("ps-0", 0, [Unended("half")])
    assert text.getvalue().endswith("half\n")


@pytest.mark.parametrize(
    ("width", "lines", "printed"),
    [
        (0, ["one", ""], "one\n\n"),
        (0, ["one", Unended("two")], "one\ntwo"),
        (0, [Unended("long "), "line"], "long line\n"),
        (4, [Unended("long "), Unended("line")], "ps-0 │ long \nps-0 │ line\n"),
    ],
)
def test_one_rank_s_lines_end_as_it_ended_them(width: int, lines: list[str], printed: str) -> None:
    out, text = console(is_terminal=False)
    screen.Screen(out, terminal.stderr()).rank_lines("ps-0", width, lines)
    assert text.getvalue() == printed


def test_a_file_for_which_colours_are_forced_has_them_in_names_alone() -> None:
    text = io.StringIO()
    forced = Console(file=text, force_terminal=True, color_system="standard")
    shown = screen.Screen(forced, forced)
    with shown:
        shown.status("Running 3s")
        shown.rank_lines("ps-0", 4, ["a\tb\x1b[5A", "\x1b[31mred"])
        shown.rank_lines("ps-0", 0, ["a\tb\x1b[5A"])
    head = "\x1b[33mps-0 │ \x1b[0m"
    assert text.getvalue() == f"{head}a\tb\x1b[5A\n{head}\x1b[31mred\na\tb\x1b[5A\n"


@pytest.mark.parametrize("is_one", [True, False])
def test_in_a_pipe_paddock_s_sentences_go_to_stderr_each_on_a_line_of_its_own(is_one: bool) -> None:
    out, text = console(is_terminal=False)
    err, said = (out, text) if is_one else console(is_terminal=False)
    shown = screen.Screen(out, err)
    with shown:
        shown.line("a job")
        shown.rank_lines("ps-0", 0, ["one", Unended("two")])
        shown.notify("a word")
        shown.notify_unless_live("building")
        shown.line("Completed", "bold green")
        shown.answer("asked for")
    words = "a word\nbuilding\nCompleted\n"
    if is_one:
        assert text.getvalue() == f"a job\none\ntwo\n{words}asked for\n"
    else:
        assert (text.getvalue(), said.getvalue()) == ("one\ntwo\nasked for\n", f"a job\n{words}")


def test_streams_are_one_place_where_they_are_one_file(tmp_path: Path) -> None:
    with (tmp_path / "a").open("w") as one, (tmp_path / "a").open("a") as same, (tmp_path / "b").open("w") as other:
        assert screen.are_one_place(one, one) and screen.are_one_place(one, same)
        assert not screen.are_one_place(one, other) and not screen.are_one_place(one, io.StringIO())
    assert not screen.are_one_place(one, other), "they are closed"


def test_the_live_line_is_gone_at_the_end_and_the_lines_remain() -> None:
    out, text = console(is_terminal=True)
    shown = screen.Screen(out, out)
    with shown:
        shown.status("Running 3s")
        shown.notify("a word")
        shown.notify_unless_live("needless on a terminal")
        shown.line("Completed")
    said = text.getvalue()
    assert "a word" in said and "Completed" in said and "needless" not in said
    assert said.rstrip().endswith("\x1b[2K") or "Running 3s" not in said.splitlines()[-1]


@pytest.mark.parametrize("console", [terminal.stdout, terminal.stderr])
def test_what_a_program_says_is_printed_as_it_is(console: Callable[[], Console]) -> None:
    with (printed := console()).capture() as capture:
        printed.print("worker-0 failed: [bold] :warning: 3")
    assert capture.get() == "worker-0 failed: [bold] :warning: 3\n"


@pytest.mark.parametrize("width", [200, 40], ids=["beside", "under its row"])
def test_status_and_why_of_a_row_are_red_where_that_is_asked_for_and_only_on_a_terminal(width: int) -> None:
    rows = [
        ("one", "Completed", "completed: 2 ranks succeeded"),
        ("two", "Completed", "completed, but worker-0 failed"),
    ]
    shown = io.StringIO()
    print_table(Console(file=shown, force_terminal=True, width=width), HEADER, rows, cut=True, red={1})
    red = [line for line in shown.getvalue().splitlines() if "\x1b[31m" in line]
    assert "\x1b[31mCompleted" in red[0] and "two" in red[0]
    assert "\x1b[31mcompleted, but" in red[-1]
    assert "\x1b[32mCompleted" in shown.getvalue()
    piped = io.StringIO()
    print_table(Console(file=piped, width=width), HEADER, rows, cut=True, red={1})
    assert "\x1b" not in piped.getvalue()


EVIL = "a\x1b[2Jb\x9b31m\u202ec\x07\rd"
SHOWN = r"a\x1b[2Jb\x9b31m\u202ec\x07\rd"


def print_on_terminal(*printed: object, width: int = 200) -> str:
    out = io.StringIO()
    console = PlainConsole(file=out, force_terminal=True, width=width, highlight=False, markup=False, emoji=False)
    for each in printed:
        console.print(each)
    return out.getvalue()


def test_no_text_acts_on_a_console_and_styles_are_ours() -> None:
    assert print_on_terminal(EVIL, styled(EVIL)) == f"{SHOWN}\n" * 2
    assert print_on_terminal(styled(EVIL, "red")) == f"\x1b[31m{SHOWN}\x1b[0m\n"
    assert print_on_terminal(Text("a\x1b]0;t\u202e")) == "a\\x1b]0;t\\u202e\n", (
        "as a live line makes of what is printed"
    )


def test_a_table_is_measured_as_it_is_shown() -> None:
    out = io.StringIO()
    console = PlainConsole(file=out, force_terminal=True, width=120, highlight=False, markup=False, color_system=None)
    print_table(console, ("NAME", "RUN"), [(EVIL, "1"), ("b", "2")], cut=True)
    lines = out.getvalue().splitlines()
    assert lines == [f"{'NAME':<{len(SHOWN)}}   RUN", f"{SHOWN}   1", f"{'b':<{len(SHOWN)}}   2"]
    rows = [(EVIL, "Failed", WHY)]
    assert find_room(console, HEADER, rows) == 120 - len(SHOWN) - len("Failed") - 6


def test_a_line_end_in_a_cell_begins_no_row() -> None:
    out = io.StringIO()
    print_table(PlainConsole(file=out, width=80), ("NAME", "WHY"), [("a", "x\nb   Completed")], cut=False)
    assert out.getvalue().splitlines()[1:] == ["a      x\\nb   Completed"]


def test_a_line_of_a_log_keeps_colours_and_no_link() -> None:
    link = "\x1b]8;;http://evil\x1b\\here\x1b]8;;\x07"
    assert print_on_terminal(screen.read_colours(f"\x1b[31mred\x1b[0m {link}\x1b[2K")) == "\x1b[31mred\x1b[0m here\n"
