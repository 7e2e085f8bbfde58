from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from paddock.app.boards.shown import list_shared
from paddock.app.home import Home
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.main import cli
from paddock.cli.verbs.board import MOST, find_shown, read_one, read_words
from paddock.client.errors import ConfigError
from paddock.history.records import RunRecord, write_record
from support.printed import take_printed

UIDS = [f"{number:08x}-0000-0000-0000-000000000000" for number in range(1, 4)]
EVENTS = "events.out.tfevents.{}.host.1.0"
Ask = Callable[..., Result]


@pytest.fixture
def place(tmp_path: Path) -> Home:
    """Two runs of `demo` that were started in one directory: each wrote to ./runs, and the second to its outputs."""
    home, work = Home(tmp_path / "home", tmp_path / "cache"), tmp_path / "work"
    for number in (1, 2):
        run = home.outputs / "default" / f"demo-{UIDS[number - 1][:8]}"
        run.mkdir(parents=True)
        started = 1_700_000_000.0 + 1000 * number
        run.with_name(f"{run.name}.json").write_text(json.dumps({"directory": str(work), "started": started}))
        write_record(
            home.history,
            RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", UIDS[number - 1], number, started,
                      ended=started + 100),
        )  # fmt: skip
        (work / f"runs/{number}").mkdir(parents=True)
        (work / f"runs/{number}" / EVENTS.format(int(started) + 10)).write_bytes(b"")
    (run / EVENTS.format(1_700_002_010)).write_bytes(b"")
    empty = home.outputs / "default" / "empty-0000000a"
    empty.mkdir()
    empty.with_name(f"{empty.name}.json").write_text(json.dumps({"directory": "", "started": 1.0}))
    return home


@pytest.fixture
def ask(place: Home, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setenv("PADDOCK_HOME", str(place.root))

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, list(words), prog_name="paddock")

    return run


@pytest.mark.parametrize(
    ("words", "number", "found"),
    [
        (["train"], None, [("train", None)]),
        (["train"], 3, [("train", 3)]),
        (["train:3"], None, [("train", 3)]),
        (["train:3", "resnet"], None, [("train", 3), ("resnet", None)]),
        (["train", "3", "5"], None, [("train", 3), ("train", 5)]),
        (["train", "3", "resnet"], None, [("train", 3), ("resnet", None)]),
        (["train", "train"], None, [("train", None)]),
        (["7"], None, [("7", None)]),
        (["paddlejob/train:2"], None, [("paddlejob/train", 2)]),
    ],
)
def test_the_words_name_runs(words: list[str], number: int | None, found: list[tuple[str, int | None]]) -> None:
    assert read_words(words, number) == found


@pytest.mark.parametrize(
    ("words", "number", "said"),
    [
        (["train:x"], None, "'train:x' is no run: a number stands behind the colon, as in train:3"),
        (["train:"], None, "'train:' is no run"),
        (["train:0"], None, "'train:0' is no run"),
        ([":3"], None, "':3' is no run: a number stands behind the colon, as in JOB:3"),
        (["a", "b"], 3, "--run is of one job without a number: write a:3 for each run"),
        (["a:2"], 3, "--run is of one job without a number"),
        ([f"a{each}" for each in range(MOST + 1)], None, "at most 32 runs stand in one board, here are 33"),
    ],
)
def test_words_that_name_no_run_are_refused(words: list[str], number: int | None, said: str) -> None:
    with pytest.raises(UserError) as refused:
        read_words(words, number)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (("board", "dmo"), UserError, "no run of 'dmo' in namespace default is kept here; did you mean 'demo'?"),
        (("board", "demo", "--run", "9"), UserError, "demo has no run 9; kept are 1 and 2"),
        (("board", "empty"), Failed, "empty: nothing for a board in "),
        (("board", "demo", "--with", "visualdl"), Failed, "demo:2: no file of VisualDL in "),
    ],
)
def test_what_cannot_be_shown_is_said(ask: Ask, words: tuple[str, ...], error: type[Exception], said: str) -> None:
    answer = ask(*words)
    assert isinstance(answer.exception, error) and str(answer.exception).startswith(said)


def test_a_job_without_files_has_the_ways_to_write_them(ask: Ask) -> None:
    said = str(ask("board", "empty").exception)
    assert 'SummaryWriter(os.environ["PADDOCK_OUTPUT_DIR"])' in said
    assert 'LogWriter(os.environ["PADDOCK_OUTPUT_DIR"])' in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("demo", "empty"), "on a cluster a board is of one job, here are 2"),
        (("demo:2",), "a cluster keeps no runs of a job"),
        (("demo", "--run", "2"), "a cluster keeps no runs of a job"),
    ],
)
def test_on_a_cluster_it_is_of_one_job(words: tuple[str, ...], said: str) -> None:
    number = 2 if "--run" in words else None
    with pytest.raises(UserError) as refused:
        read_one([each for each in words if each not in ("--run", "2")], number)
    assert str(refused.value).startswith(said)
    assert read_one(["pytorchjob/demo"], None) == "pytorchjob/demo"


@pytest.mark.parametrize("words", [("--claim", "out"), ("--path", "/out"), ("--image", "mine"), ("--keep",)])
def test_what_is_of_a_cluster_is_refused_on_a_laptop(ask: Ask, words: tuple[str, ...]) -> None:
    answer = ask("board", "demo", *words)
    assert isinstance(answer.exception, UserError)
    assert str(answer.exception).startswith(f"{words[0]} is for a board on a cluster: name it by --context")


def test_a_context_that_is_not_there_is_said(ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    answer = ask("--context", "prod", "board", "demo")
    assert isinstance(answer.exception, ConfigError)


def test_a_run_has_its_outputs_and_its_directory(place: Home, tmp_path: Path) -> None:
    shown = find_shown(place, "default", "demo", None)
    assert (shown.label, shown.started, shown.ended) == ("demo:2", 1_700_002_000.0, 1_700_002_100.0)
    assert [(each.root.name, each.whole, len(each.files)) for each in shown.places] == [
        (f"demo-{UIDS[1][:8]}", True, 1),
        ("work", False, 2),
    ]
    assert find_shown(place, "default", "demo", 1).label == "demo:1"


def test_a_directory_that_the_manifest_names_is_looked_into(place: Home, tmp_path: Path) -> None:
    spec = {"worker": {"template": {"env": [{"name": "PADDOCK_OUTPUT_DIR", "value": str(tmp_path / "mine")}]}}}
    (tmp_path / "mine").mkdir()
    write_record(
        place.history,
        RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", UIDS[1], 2, 1.0, spec=spec),
    )
    roots = [each.root for each in find_shown(place, "default", "demo", None).places]
    assert roots[1:] == [tmp_path / "mine", tmp_path / "work"]


def test_the_word_of_another_tool_leads_to_the_board(ask: Ask) -> None:
    for word in ("tensorboard", "visualdl"):
        command = take_printed(ask(word, "empty").output, "paddock board {job}")
        assert command == "paddock board empty"
        assert "nothing for a board" in str(ask(*shlex.split(command)[1:]).exception)


def test_directories_that_are_gone_are_left_out(place: Home, tmp_path: Path) -> None:
    from paddock.app.outputs import read_runs

    found = read_runs(place.outputs, "default", "demo")[-1]
    assert list_shared(None, found) == [tmp_path / "work"]
    (tmp_path / "work").rename(tmp_path / "moved")
    assert list_shared(None, found) == []
