"""`--to kubernetes`: the kind, the operator of the namespace and the job, as a cluster takes them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from paddock.cli.main import cli
from places.manifests import build_paddle, build_role, write_manifest


def test_a_job_with_datasets_brings_an_operator_that_serves_them(tmp_path: Path) -> None:
    manifest = build_paddle(worker=build_role(2, "python", "train.py"))
    manifest["metadata"]["annotations"] = {"paddock.dev/datasets": "words:/data"}
    file = write_manifest(tmp_path, manifest)
    typed = ["render", str(file), "--to", "kubernetes", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, typed, prog_name="paddock")
    assert done.exit_code == 0, done.output
    assert "`paddock manifests crd --datasets | kubectl apply -f -`" in done.output
    assert "--datasets" in (tmp_path / "out" / "operator.yaml").read_text()
    (job,) = yaml.safe_load_all((tmp_path / "out" / "demo.yaml").read_text())
    assert job["metadata"]["annotations"] == {"paddock.dev/datasets": "words:/data"}
    assert job["spec"] == manifest["spec"], "its operator mounts them"


def test_elsewhere_the_files_of_a_dataset_must_be_on_each_machine(tmp_path: Path) -> None:
    manifest = build_paddle(worker=build_role(1, "python", "train.py"))
    manifest["metadata"]["annotations"] = {"paddock.dev/datasets": "words:/data"}
    typed = ["render", str(write_manifest(tmp_path, manifest)), "--to", "bare", "--hosts", "127.0.0.1"]
    done = CliRunner().invoke(cli, [*typed, "-o", str(tmp_path / "out")], prog_name="paddock")
    assert done.exit_code == 0, done.output
    assert "its files must be at /data on each machine" in done.output


def test_what_is_not_rendered_is_named(tmp_path: Path) -> None:
    manifest = build_paddle(worker=build_role(1, "python", "train.py"))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}
    other = build_paddle("other", worker=build_role(1, "python", "train.py"))
    file = write_manifest(tmp_path, manifest, namespace, config, other)
    for place, lost in (("bare --hosts 127.0.0.1", ["Namespace team-a", "PaddleJob other"]), ("kubernetes", ["Pa"])):
        typed = ["render", str(file), "--job", "demo", "--to", *place.split(), "-o", str(tmp_path / place)]
        done = CliRunner().invoke(cli, typed, prog_name="paddock")
        assert done.exit_code == 0, done.output
        said = [line for line in done.stderr.splitlines() if "is not rendered" in line]
        assert len(said) == len(lost)
        assert all(line.startswith(f"warning: {name}") for name, line in zip(lost, said, strict=True))
    assert said == ["warning: PaddleJob other is not rendered: --job other does it"]


@pytest.mark.slow
def test_a_job_brings_its_kind_and_its_operator(tmp_path: Path) -> None:
    manifest = build_paddle(worker=build_role(2, "python", "train.py"))
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}
    file = write_manifest(tmp_path, manifest, config)
    typed = ["render", str(file), "--to", "kubernetes", "-n", "team-a", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, typed, prog_name="paddock")
    assert done.exit_code == 0, done.output
    read = {path.name: list(yaml.safe_load_all(path.read_text())) for path in (tmp_path / "out").iterdir()}
    assert [each["metadata"]["name"] for each in read["crd.yaml"]] == ["paddlejobs.batch.paddlepaddle.org"]
    deployments = [each for each in read["operator.yaml"] if each["kind"] == "Deployment"]
    assert [each["metadata"]["namespace"] for each in deployments] == ["team-a"]
    assert [each["kind"] for each in read["demo.yaml"]] == ["ConfigMap", "PaddleJob"]
    assert read["demo.yaml"][1]["spec"] == manifest["spec"]
    assert "kubectl create -f demo.yaml" in done.output
