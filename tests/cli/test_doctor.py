"""`paddock doctor --log`: what it prints, in which form, with which exit code; and what it refuses."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from rich.console import Console

from paddock.cli.main import run
from paddock.cli.output.findings import Subject, print_text
from paddock.doctor.asked import Asked
from paddock.doctor.examine import examine, name_logs
from paddock.doctor.launch_block import read_launch_logs
from paddock.words.phrases import phrase

LOGS = Path(__file__).parents[1] / "doctor" / "logs"
WRONG, HEALTHY = LOGS / "devices-are-labels.log", LOGS / "two-hosts.log"


def test_a_finding_says_what_why_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--log", str(WRONG)]) == 1
    assert capsys.readouterr().out == (
        f"{WRONG}: looked at 59 lines of 1 launcher\n"
        "wrong line 3  (devices-are-labels)\n"
        "  --devices 0,1 was asked for, and CUDA_VISIBLE_DEVICES shows 2,3 alone\n"
        "  why: --devices names cards by their number on the machine, of those that CUDA_VISIBLE_DEVICES shows\n"
        "  do: name visible cards, or leave --devices out: the launcher takes all that are visible\n"
        "    python -m paddle.distributed.launch --devices 2,3 train.py\n"
    )


def test_nothing_found_says_what_was_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--log", str(HEALTHY)]) == 0
    assert capsys.readouterr().out == f"{HEALTHY}: nothing found; looked at 95 lines of 2 launchers\n"


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_document_has_all_of_it(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--log", str(WRONG), "-o", form]) == 1
    out = capsys.readouterr().out
    document = json.loads(out) if form == "json" else yaml.safe_load(out)
    assert document["healthy"] is False
    (subject,) = document["subjects"]
    (finding,) = subject["findings"]
    assert finding == {
        "check": "devices-are-labels",
        "severity": "wrong",
        "where": "line 3",
        "what": "--devices 0,1 was asked for, and CUDA_VISIBLE_DEVICES shows 2,3 alone",
        "why": "--devices names cards by their number on the machine, of those that CUDA_VISIBLE_DEVICES shows",
        "mend": "name visible cards, or leave --devices out: the launcher takes all that are visible",
        "command": "python -m paddle.distributed.launch --devices 2,3 train.py",
    }


def test_several_files_are_the_hosts_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (LOGS / "name-127.0.1.1.log").read_text().splitlines()
    for host in "12":
        mine = [line[7:] for line in lines if re.match(rf" *[\d.]+ {host} ", line)]
        (tmp_path / f"host{host}.log").write_text("\n".join(mine))
    files = [str(tmp_path / f"host{host}.log") for host in "12"]
    assert run(["doctor", "--log", files[0], "--log", files[1], "-o", "json"]) == 1
    both = json.loads(capsys.readouterr().out)["subjects"][0]["findings"]
    assert [(each["check"], each["where"]) for each in both] == [
        ("nobody-serves-the-master", "host1, line 35; host2, line 35")
    ]
    assert run(["doctor", "--log", *files, "-o", "json"]) == 1  # a shell's *.log
    assert json.loads(capsys.readouterr().out)["subjects"][0]["findings"] == both


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_a_log_of_another_system_is_read(encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.log"
    file.write_bytes(("开始训练\r\n" + WRONG.read_text().replace("\n", "\r\n")).encode(encoding))
    assert run(["doctor", "--log", str(file)]) == 1
    assert "line 4  (devices-are-labels)" in capsys.readouterr().out


def test_standard_input_is_a_log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(WRONG.read_bytes())))
    assert run(["doctor", "--log", "-"]) == 1
    assert "(devices-are-labels)" in capsys.readouterr().out


REFUSED = {
    "missing": "missing cannot be read: No such file or directory",
    "folder": "folder cannot be read: Is a directory",
    "empty": "empty is empty: the launcher has printed nothing into it",
    "packed": "packed is packed (gzip): unpack it first",
    "notes": 'notes is no log of a launcher: 2 lines, the last of them "see torchrun". A log of PaddlePaddle\'s',
    "rank": "rank is no log of a launcher: 1 line, the last of them",
    "bytes": "bytes is no log of a launcher:",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_log_of_a_launcher_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("empty").touch()
    Path("packed").write_bytes(gzip.compress(WRONG.read_bytes()))
    Path("notes").write_text("master not ready\nsee torchrun\n")
    Path("rank").write_text("Epoch 1, Batch 100, Loss 0.5\n")
    Path("bytes").write_bytes(bytes(range(1, 256)) * 2_000)
    assert run(["doctor", "--log", name]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(REFUSED[name]), captured.err
    assert captured.out == ""


COMBINED = {
    ("--host", "demo"): "--host looks at this machine alone: leave the job and --log out",
    ("--host", "--log", str(WRONG)): "--host looks at this machine alone: leave the job and --log out",
    ("--peer", "host2:6170"): "--peer and --python belong to --host: add it",
    ("one", "two"): "one job is wanted, not 2; files are given by --log",
    ("--host", "--peer", "host:many"): "host:many",
}


@pytest.mark.parametrize("words", COMBINED)
def test_what_does_not_go_together_is_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", *words]) == 2
    assert COMBINED[words] in capsys.readouterr().err


def test_on_a_narrow_terminal_sentences_are_broken_and_commands_are_not() -> None:
    found = examine(Asked(), name_logs(read_launch_logs(WRONG.read_text().splitlines())))
    console = Console(file=io.StringIO(), width=40, force_terminal=True, color_system=None, highlight=False)
    print_text(console, [Subject("run.log", found, phrase("61 lines of 1 launcher"))], "en")
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert "    python -m paddle.distributed.launch --devices 2,3 train.py" in lines
    assert max(len(line) for line in lines if "python" not in line and "looked" not in line) <= 40
