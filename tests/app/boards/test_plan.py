from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest

from paddock.app.boards.files import EventFile, find_event_files
from paddock.app.boards.plan import Place, ShownRun, explain_nothing, explain_plan, find_tops, plan_board
from paddock.app.boards.tools import TENSORBOARD, TOOLS, VISUALDL, Tool, find_tool, read_begun

OUT, WORK = Path("/home/outputs/train"), Path("/home/work")
EVENTS = "events.out.tfevents.1700000100.host.7.0"


def build_file(path: str, modified: float = 1_700_000_150.0) -> EventFile:
    tool = find_tool(PurePosixPath(path).name)
    assert tool is not None
    return EventFile(PurePosixPath(path), tool, modified, read_begun(path))


def build_place(root: Path, *paths: str, whole: bool = False, modified: float = 1_700_000_150.0) -> Place:
    return Place(root, tuple(build_file(each, modified) for each in paths), whole)


def build_run(*places: Place, label: str = "train:3", ended: float | None = 1_700_000_200.0) -> ShownRun:
    return ShownRun(label, 1_700_000_000.0, ended, places)


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("events.out.tfevents.1700000100.host.7.0", TENSORBOARD),
        ("events.out.tfevents.1700000100.host.v2", TENSORBOARD),
        ("events.out.tfevents.1700000100.host.profile-empty", TENSORBOARD),
        ("mine.tfevents.17", TENSORBOARD),
        ("vdlrecords.1700000100.log", VISUALDL),
        ("vdlrecords.mine.log", VISUALDL),
        ("vdlgraph.1700000100.log", VISUALDL),
        ("vdlrecords.1700000100.log.bak", None),
        ("worker-0.log", None),
        ("tfevents", None),
        ("notfevents.1", None),
        ("events.csv", None),
    ],
)
def test_a_file_belongs_to_the_program_that_reads_it(name: str, tool: Tool | None) -> None:
    assert find_tool(name) is tool


@pytest.mark.parametrize(
    ("name", "begun"),
    [(EVENTS, 1_700_000_100), ("vdlrecords.1700000100.log", 1_700_000_100), ("vdlrecords.mine.log", None)],
)
def test_the_name_of_a_file_says_when_it_was_begun(name: str, begun: int | None) -> None:
    assert read_begun(name) == begun


@pytest.mark.parametrize(
    ("run", "directories"),
    [
        # its outputs alone have the run's name
        (build_run(build_place(OUT, f"a/{EVENTS}", f"b/{EVENTS}", whole=True)), {"train:3": OUT}),
        # in outputs all is the run's own, whatever the clock says
        (build_run(build_place(OUT, "events.out.tfevents.1600000000.h", whole=True)), {"train:3": OUT}),
        # of the working directory only what was begun while the run went on
        (build_run(build_place(WORK, f"runs/a/{EVENTS}", "runs/old/events.out.tfevents.1699999000.h")),
         {"train:3/runs/a": WORK / "runs/a"}),
        (build_run(build_place(WORK, "runs/later/events.out.tfevents.1700000900.h", f"runs/a/{EVENTS}")),
         {"train:3/runs/a": WORK / "runs/a"}),
        # a run that goes on has no end
        (build_run(build_place(WORK, "runs/a/events.out.tfevents.1700000900.h"), ended=None),
         {"train:3/runs/a": WORK / "runs/a"}),
        # a name without a time: by the last change
        (build_run(build_place(WORK, "vdl_log/vdlrecords.mine.log")), {"train:3/vdl_log": WORK / "vdl_log"}),
        # a directory below another is shown with it
        (build_run(build_place(WORK, f"runs/{EVENTS}", f"runs/val/{EVENTS}")), {"train:3/runs": WORK / "runs"}),
        # right in the working directory
        (build_run(build_place(WORK, EVENTS)), {"train:3/work": WORK}),
        # both places
        (build_run(build_place(OUT, EVENTS, whole=True), build_place(WORK, f"runs/{EVENTS}")),
         {"train:3/outputs": OUT, "train:3/runs": WORK / "runs"}),
        # a program that was told to write below its working directory: once
        (build_run(build_place(WORK / "out", EVENTS), build_place(WORK, f"out/{EVENTS}")),
         {"train:3/out": WORK / "out"}),
        # a directory that has the name of the outputs
        (build_run(build_place(OUT, EVENTS, whole=True), build_place(WORK, f"outputs/x/{EVENTS}")),
         {"train:3/outputs": OUT, "train:3/outputs-2/x": WORK / "outputs/x"}),
    ],
)  # fmt: skip
def test_the_directories_of_a_run_have_names(run: ShownRun, directories: dict[str, Path]) -> None:
    plan = plan_board([run])
    assert plan is not None
    assert plan.directories == directories


@pytest.mark.parametrize(
    ("places", "tool", "others"),
    [
        ([build_place(OUT, EVENTS, whole=True)], TENSORBOARD, 0),
        ([build_place(OUT, "vdlrecords.1700000100.log", whole=True)], VISUALDL, 0),
        ([build_place(OUT, EVENTS, f"a/{EVENTS}", "vdlrecords.1700000100.log", whole=True)], TENSORBOARD, 1),
        ([build_place(OUT, EVENTS, whole=True),
          build_place(WORK, "v/vdlrecords.1700000100.log", modified=1_700_000_190.0)], VISUALDL, 1),
    ],
)  # fmt: skip
def test_the_program_with_more_files_is_taken_and_of_as_many_the_newer(
    places: Sequence[Place], tool: Tool, others: int
) -> None:
    plan = plan_board([build_run(*places)])
    assert plan is not None
    assert (plan.tool, plan.others) == (tool, others)


@pytest.mark.parametrize("wanted", list(TOOLS.values()))
def test_the_wanted_program_is_taken(wanted: Tool) -> None:
    plan = plan_board([build_run(build_place(OUT, EVENTS, EVENTS, "vdlrecords.1700000100.log", whole=True))], wanted)
    assert plan is not None
    assert plan.tool is wanted


def test_runs_stand_side_by_side_and_one_without_files_is_named() -> None:
    runs = [
        build_run(build_place(OUT, EVENTS, whole=True)),
        build_run(build_place(WORK, whole=True), label="train:30"),
        build_run(build_place(Path("/r"), EVENTS, whole=True), label="resnet:1"),
    ]
    plan = plan_board(runs)
    assert plan is not None
    assert plan.directories == {"train:3": OUT, "resnet:1": Path("/r")}
    assert [str(each) for each in explain_plan(plan)] == [
        "TensorBoard over 2 files of train:3, resnet:1",
        "train:30 has no files of TensorBoard",
    ]


def test_files_of_the_other_program_are_told_with_the_option_that_shows_them() -> None:
    plan = plan_board([build_run(build_place(OUT, EVENTS, EVENTS, "vdlrecords.1700000100.log", whole=True))])
    assert plan is not None
    assert str(explain_plan(plan)[1]) == "there is 1 file of VisualDL too: --with visualdl shows it"


def test_without_a_file_it_is_said_what_is_looked_for_where_and_how_it_is_written() -> None:
    run = build_run(build_place(OUT, whole=True), build_place(WORK, "old/events.out.tfevents.1600000000.h"))
    assert plan_board([run]) is None
    said = "\n".join(map(str, explain_nothing([run], None)))
    assert "events.out.tfevents.*" in said and "vdlrecords.*.log" in said
    assert str(OUT) in said and str(WORK) in said
    assert 'SummaryWriter(os.environ["PADDOCK_OUTPUT_DIR"])' in said
    assert 'LogWriter(os.environ["PADDOCK_OUTPUT_DIR"])' in said


def test_without_a_file_of_the_wanted_program_the_other_one_is_offered() -> None:
    run = build_run(build_place(OUT, EVENTS, whole=True))
    assert plan_board([run], VISUALDL) is None
    said = "\n".join(map(str, explain_nothing([run], VISUALDL)))
    assert "--with tensorboard" in said
    assert "SummaryWriter" not in said


def test_of_directories_those_below_another_are_left_out() -> None:
    assert find_tops(map(PurePosixPath, ["a/b", "a", "ab", "a/c/d", "."])) == [PurePosixPath()]
    assert find_tops(map(PurePosixPath, ["a/b", "a", "ab"])) == [PurePosixPath("a"), PurePosixPath("ab")]


def test_files_are_found_below_a_directory_and_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "root"
    for directory in (elsewhere, root / "runs/a", root / ".hidden", root / "venv"):
        directory.mkdir(parents=True)
        (directory / EVENTS).write_bytes(b"")
    (root / "link").symlink_to(elsewhere)
    (root / "runs/a/model.pdparams").write_bytes(b"")
    (root / f"x{EVENTS}").symlink_to(elsewhere / EVENTS)
    os.mkfifo(root / "vdlrecords.1700000100.log")
    assert [str(each.path) for each in find_event_files(root)] == [f"runs/a/{EVENTS}"]
    assert find_event_files(tmp_path / "none") == []


def test_the_newest_file_is_the_first(tmp_path: Path) -> None:
    for name, moment in (("a", 1), ("b", 3), ("c", 2)):
        path = tmp_path / f"vdlrecords.{name}.log"
        path.write_bytes(b"")
        os.utime(path, (moment, moment))
    assert [each.path.name[11] for each in find_event_files(tmp_path)] == ["b", "c", "a"]
