"""`paddock init --from`: the manifest of a script of the documents, and of files that start nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from paddock.cli.cluster.errors import UserError
from paddock.cli.main import cli

DOCUMENT = Path(__file__).parents[1] / "preflight/run.sh"


def init(*words: str) -> Result:
    return CliRunner().invoke(cli, ["init", *words], prog_name="paddock")


def test_the_documents_script_becomes_a_job_of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train_with_fleet.py").write_text("import paddle\n")
    done = init("--from", str(DOCUMENT), "-o", "job.yaml")
    assert done.exit_code == 0, done.output
    worker = yaml.safe_load((tmp_path / "job.yaml").read_text())["spec"]["worker"]
    container = worker["template"]["spec"]["containers"][0]
    assert worker["replicas"] == 2
    assert container["command"] == ["python", "-m", "paddle.distributed.launch", "train_with_fleet.py"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 4}
    assert "run.sh:3 is left out" in done.stderr


def test_options_that_are_typed_count_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.py").write_text("import paddle\n")
    (tmp_path / "run.sh").write_text("fleetrun --nnodes 4 --devices 0,1 t.py\n")
    done = init("--from", "run.sh", "--workers", "3", "-o", "-")
    worker = yaml.safe_load(done.stdout)["spec"]["worker"]
    assert worker["replicas"] == 3


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        ("ls\n", (), "no command in it starts"),
        ("echo 'a\n", (), "a quote is not closed"),
        ("fleetrun t.py\n", ("--", "python", "t.py"), "leave one of them out"),
    ],
)
def test_what_no_job_can_be_made_of_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(text)
    done = init("--from", "run.sh", *words)
    assert isinstance(done.exception, UserError)
    assert sentence in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["run.sh"]
