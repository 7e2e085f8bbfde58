"""Notes and tags in `paddock history`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from paddock.app.home import Home
from paddock.cli.main import cli
from paddock.history.note_files import write_note
from paddock.history.notes import Note
from paddock.history.records import Attempt, RunRecord, write_record
from paddock.kube.described import OWNER_ANNOTATION, TAGS_ANNOTATION

Ask = Callable[..., Result]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Run 1 has tags from its manifest, run 2 a note of its owner, with a sequence that a terminal acts on."""
    history = Home(tmp_path, tmp_path).history
    annotations = {TAGS_ANNOTATION: "base, sweep", OWNER_ANNOTATION: "ada"}
    for number in (1, 2, 3):
        known = annotations if number == 1 else {}
        run = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", f"u{number}", number,
                        float(number), ended=9.0, annotations=known, phase="Completed", finished=True)  # fmt: skip
        write_record(history, run)
        if number == 2:
            write_note(history, run, Note("first line\nsecond \x1b]0;title\x07", ("sweep",)), Note().digest)
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path))
    return lambda *words: CliRunner().invoke(cli, ["history", *words], prog_name="paddock")


def test_json_has_note_tags_and_owner(ask: Ask) -> None:
    found = [(each["note"], each["tags"], each["owner"]) for each in json.loads(ask("-o", "json").stdout)]
    assert found[0] == ("", ["base", "sweep"], "ada") and found[2] == ("", [], "")
    assert found[1][0].startswith("first line\nsecond") and found[1][1] == ["sweep"]


@pytest.mark.parametrize(("tag", "runs"), [("sweep", [1, 2]), ("base", [1]), ("swee", [])])
def test_only_runs_with_the_tag_are_listed(ask: Ask, tag: str, runs: list[int]) -> None:
    assert [each["run"] for each in json.loads(ask("--tag", tag, "-o", "json").stdout)] == runs
    if not runs:
        assert "no run that is kept has the tag swee" in ask("--tag", tag).output


def test_of_one_job_the_note_stands_below_its_run_and_acts_on_no_terminal(ask: Ask) -> None:
    said = ask("demo").stdout
    assert "tags: sweep\n    first line\n    second \\x1b]0;title\\x07" in said and "\x1b" not in said


def test_the_kind_is_a_column_where_a_name_is_of_two_kinds_and_one_attempt_has_no_table(
    ask: Ask, tmp_path: Path
) -> None:
    assert not {"KIND", "ATTEMPT"} & set(ask("demo").stdout.split())
    torch = RunRecord("kubeflow.org/v1", "PyTorchJob", "default", "demo", "t1", 1, 4.0, ended=9.0, phase="Completed",
                      finished=True, attempts=(Attempt(0, 4.0), Attempt(1, 5.0)))  # fmt: skip
    write_record(Home(tmp_path, tmp_path).history, torch)
    said = ask().stdout
    assert said.startswith("KIND ") and "\nPyTorchJob   demo" in said
    assert ask("pytorchjob.kubeflow.org/demo").stdout.count("ATTEMPT   BEGAN") == 1
