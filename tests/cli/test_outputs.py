from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.views import build_job
from paddock.app.home import Home
from paddock.app.outputs import RunDirectory, Size
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.follow.kept_outputs import choose_run
from paddock.cli.follow.outcome import write_resuming
from paddock.cli.main import cli
from paddock.cli.submit.resumed import describe_resumed, explain_resumed, explain_unresumed
from paddock.history.records import RunRecord, write_record
from paddock.jobs.model import Job
from paddock.jobs.variables import read_own_directory
from paddock.words.phrases import render

UIDS = [f"{number:08x}-0000-0000-0000-000000000000" for number in range(1, 5)]
Ask = Callable[..., Result]


def build_record(number: int, **facts: Any) -> RunRecord:
    return RunRecord(
        "batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", UIDS[number - 1], number, float(number), **facts
    )


@pytest.fixture
def place(tmp_path: Path) -> Home:
    """Two runs of `demo`; the second has written a model, a third was never started."""
    home = Home(tmp_path / "home", tmp_path / "cache")
    for number in (1, 2):
        run = home.outputs / "default" / f"demo-{UIDS[number - 1][:8]}"
        (run / "checkpoint").mkdir(parents=True)
        run.with_name(f"{run.name}.json").write_text(json.dumps({"directory": "", "started": number}))
    (run / "model").write_bytes(b"x" * 2000)
    (run / "checkpoint/epoch-1").write_bytes(b"x" * 48)
    for number in (1, 2, 3):
        write_record(home.history, build_record(number))
    return home


@pytest.fixture
def ask(place: Home, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setenv("PADDOCK_HOME", str(place.root))

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, ["outputs", *words], prog_name="paddock")

    return run


def test_the_path_stands_alone_on_standard_output(ask: Ask, place: Home) -> None:
    answer = ask("demo")
    assert answer.stdout == f"{place.outputs}/default/demo-00000002\n"
    assert answer.stderr == "run 2: 2 files, 2.0 KiB\n"
    assert ask("paddlejob/demo").stdout == answer.stdout


def test_an_earlier_run_has_its_own(ask: Ask, place: Home) -> None:
    answer = ask("demo", "--run", "1")
    assert answer.stdout == f"{place.outputs}/default/demo-00000001\n"
    assert answer.stderr == (
        "run 1: nothing is in it: a program writes its results to the directory in PADDOCK_OUTPUT_DIR\n"
    )


def test_its_files_with_their_sizes(ask: Ask, place: Home) -> None:
    assert ask("demo", "-l").stdout == "SIZE      FILE\n48 B      checkpoint/epoch-1\n2.0 KiB   model\n"
    answer = json.loads(ask("demo", "-o", "json").stdout)
    assert (answer["run"], answer["bytes"], len(answer["files"])) == (2, 2048, 2)
    assert answer["checkpoints"] == f"{place.outputs}/default/demo-00000002/checkpoint"


def test_of_a_run_that_wrote_beside_its_script_it_is_said_where(ask: Ask, place: Home, tmp_path: Path) -> None:
    work, annotations = tmp_path / "cifar", {"paddock.dev/working-directory": str(tmp_path / "cifar")}
    written = {"checkpoints/best.pt": 5, "checkpoints/deep/last.pt": 6, "early.pt": 1, "late.pt": 99, "train.py": 5,
               ".git/index": 5, "__pycache__/x": 5, "venv/lib/x": 5, "venv/pyvenv.cfg": 5}  # fmt: skip
    for name, at in written.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(b"x" * 1024)
        os.utime(work / name, (at, at))
    write_record(place.history, build_record(1, annotations=annotations, ended=10.0, finished=True))
    run = place.outputs / "default" / f"demo-{UIDS[0][:8]}"
    run.with_name(f"{run.name}.json").write_text(json.dumps({"directory": str(work), "started": 2}))
    assert ask("demo", "--run", "1").stderr.splitlines()[1:] == [
        f"2 files (2.0 KiB) were written in {work}/checkpoints while it ran, and the next run may overwrite them: what "
        "a program writes to the directory in PADDOCK_OUTPUT_DIR is kept for each run"
    ]
    (work / "many").mkdir()
    for number in range(20_001):
        (work / "many" / str(number)).symlink_to("x")
    assert ask("demo", "--run", "1").stderr.splitlines()[1:] == [
        f"whether it wrote files in {work} is not known: too many are there to look at"
    ]


@pytest.mark.parametrize(
    ("typed", "resuming"),
    [
        ("paddock run -- python train.py --resume", "paddock run --resume -- python train.py --resume"),
        ("paddock run --resume=3 --name a -- python t.py", "paddock run --name a --resume -- python t.py"),
        ("paddock run job.yaml --resume", "paddock run job.yaml --resume"),
        ("", ""),
    ],
)
def test_the_command_that_goes_on_is_the_typed_one_with_resume(typed: str, resuming: str) -> None:
    assert write_resuming(typed) == resuming


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (("dmo",), UserError, "no run of 'dmo' in namespace default is kept here; did you mean 'demo'?"),
        (("demo", "-n", "other"), UserError, "no run of 'demo' in namespace other is kept here"),
        (("../..",), UserError, "no run of '..' in namespace default is kept here"),
        (("demo", "-n", "../default"), UserError, "no run of 'demo' in namespace ../default is kept here"),
        (("demo", "--run", "9"), UserError,
         "demo has no run 9; kept are 1, 2 and 3: `paddock history demo` lists them"),
        (("demo", "--run", "3"), Failed, "run 3 of demo has no outputs: none of its programs was started"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said(ask: Ask, words: tuple[str, ...], error: type[Exception], said: str) -> None:
    answer = ask(*words)
    assert isinstance(answer.exception, error) and str(answer.exception) == said


def test_a_run_without_a_record_has_no_number() -> None:
    found = RunDirectory(Path("/o/demo-00000009"), "00000009", None, 9.0)
    assert choose_run([build_record(1)], [found], None, "demo") == (None, found)
    with pytest.raises(UserError, match="leave --run out"):
        choose_run([], [found], 1, "demo")
    with pytest.raises(Failed, match="none of its programs has been started"):
        choose_run([build_record(1)], [], None, "demo")


def test_a_directory_of_the_users_own_is_printed(ask: Ask, place: Home, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    spec = {"worker": {"template": {"env": [{"name": "PADDOCK_OUTPUT_DIR", "value": str(tmp_path / "mine")}]}}}
    write_record(place.history, build_record(2, spec=spec))
    assert ask("demo").stdout == f"{tmp_path}/mine\n"


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ((), ""),
        (("/mine",), "/mine"),
        (("/mine", "/mine"), "/mine"),
        (("/mine", "/other"), ""),
        (("mine",), ""),
        (("/out/$(PADDLE_TRAINER_ID)",), ""),
    ],
)
def test_the_users_own_directory_is_a_path_that_all_agree_on(values: tuple[str, ...], path: str) -> None:
    spec = {"roles": [{"env": [{"name": "PADDOCK_OUTPUT_DIR", "value": value}, {"name": "A"}]} for value in values]}
    assert read_own_directory(spec) == path


def with_annotation(value: str) -> Job:
    from dataclasses import replace

    return replace(build_job(), annotations={"paddock.dev/resume": value})


def test_what_a_run_resumes_from_is_said_in_one_line(place: Home) -> None:
    said = explain_resumed(with_annotation("true"), place)
    assert str(said) == "resumes from the checkpoints of run 2 (1 file, 48 B)"
    assert explain_resumed(with_annotation("false"), place) is None


def test_a_run_of_a_number_is_resumed_from_or_the_job_is_refused(place: Home) -> None:
    assert str(explain_resumed(with_annotation("2"), place)) == "resumes from the checkpoints of run 2 (1 file, 48 B)"
    assert explain_unresumed(with_annotation("2"), place) is explain_unresumed(with_annotation("true"), place) is None
    assert str(explain_unresumed(with_annotation("1"), place)) == (
        "run 1 of demo has no checkpoints: it wrote none, or a later run has taken them over; run 2 has some: "
        "--resume=2"
    )
    assert str(explain_unresumed(with_annotation("7"), place)) == (
        "demo has no run 7; kept are 1, 2, 3; run 2 has checkpoints: --resume=2"
    )


def test_that_there_is_nothing_to_resume_is_said(place: Home, tmp_path: Path) -> None:
    said = explain_resumed(with_annotation("true"), Home(tmp_path / "empty", tmp_path))
    assert str(said) == (
        "nothing to resume: no earlier run of demo from this directory wrote a checkpoint to PADDOCK_CHECKPOINT_DIR"
    )


def test_a_run_without_a_number_is_named_by_its_time() -> None:
    found = RunDirectory(Path("/o/demo-00000009"), "00000009", "", 9.0)
    said = render(describe_resumed(found, Size(2, 5000), []))
    assert said.startswith("resumes from the checkpoints of the run of 19") and said.endswith(" (2 files, 4.9 KiB)")


def test_they_are_copied_into_a_directory_and_a_second_time_nothing_is_written(ask: Ask, tmp_path: Path) -> None:
    there = tmp_path / "there"
    answer = ask("demo", "--to", str(there))
    assert answer.exit_code == 0 and answer.stdout == f"{there}\n"
    assert answer.stderr == "run 2: 2 files, 2.0 KiB\n"
    assert (there / "model").read_bytes() == b"x" * 2000 and (there / "checkpoint/epoch-1").stat().st_size == 48
    again = ask("demo", "--to", str(there))
    assert again.exit_code == 0 and again.stderr == "run 2: 2 files, 2.0 KiB\n2 files were here already\n"
    other = ask("demo", "--run", "1", "--to", str(there))
    assert other.exit_code == 1 and "has the files of another run (demo 00000002)" in str(other.exception)


def test_a_link_of_the_program_is_not_followed_into_the_copy(ask: Ask, place: Home, tmp_path: Path) -> None:
    (place.outputs / "default/demo-00000002/passwd").symlink_to("/etc/passwd")
    answer = ask("demo", "--to", str(tmp_path / "there"))
    assert answer.exit_code == 0 and answer.stderr.endswith("\n1 link or device is left out\n")
    assert sorted(each.name for each in (tmp_path / "there").iterdir()) == [".paddock-run.json", "checkpoint", "model"]


@pytest.mark.parametrize("option", ["--claim", "--image"])
def test_options_of_a_cluster_are_refused_here(ask: Ask, option: str) -> None:
    assert f"{option} is for a cluster: name it by --context" in str(ask("demo", option, "x").exception)
