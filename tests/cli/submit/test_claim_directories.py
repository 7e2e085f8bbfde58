"""By which way a directory goes to a cluster, and what of a job's manifest tells of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.submit.test_sent_directories import Said, build_checked
from paddock.app.filled_claims.contents import Kind
from paddock.cli.cluster.errors import UserError
from paddock.cli.submit import claim_directories
from paddock.cli.submit.claim_directories import Fill, add_claims
from paddock.cli.submit.directory_map import LARGEST, MOST_FILES
from paddock.cli.submit.storage import USUAL, Storage
from paddock.submission.documents import Checked


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "work"
    directory.mkdir()
    (directory / "train.py").write_text("print(1)\n")
    monkeypatch.chdir(directory)
    return directory


def add(
    said: Said, packages: str = "", storage: Storage = USUAL, named: str | None = "."
) -> tuple[list[Checked], list[Fill]]:
    return add_claims([build_checked()], named, Path(packages) if packages else None, storage, said)


def read_pod(each: Checked) -> dict[str, Any]:
    spec: dict[str, Any] = each.manifest["spec"]["worker"]["template"]["spec"]
    return spec


@pytest.mark.parametrize(
    ("files", "kinds"),
    [
        ({}, ["ConfigMap", "PaddleJob"]),
        ({"w.bin": LARGEST // 2}, ["ConfigMap", "PaddleJob"]),
        ({"w.bin": LARGEST}, ["PaddleJob"]),
        ({f"{number}.txt": 1 for number in range(MOST_FILES)}, ["PaddleJob"]),
    ],
    ids=["small", "half", "large", "many"],
)
def test_what_no_config_map_holds_goes_by_a_claim(files: dict[str, int], kinds: list[str], work: Path) -> None:
    for name, size in files.items():
        (work / name).write_bytes(b"\0" * size)
    documents, fills = add(Said())
    assert [each.resource.kind for each in documents] == kinds
    assert len(fills) == (0 if "ConfigMap" in kinds else 1)


def test_a_job_starts_in_the_claim_read_only(work: Path) -> None:
    (work / "w.bin").write_bytes(b"\0" * LARGEST)
    said = Said()
    (job,), (fill,) = add(said)
    name = fill.content.name
    spec = read_pod(job)
    (container,), (volume,) = spec["containers"], spec["volumes"]
    assert container["workingDir"] == "/paddock/workdir"
    assert container["volumeMounts"] == [
        {"name": volume["name"], "mountPath": "/paddock/workdir", "readOnly": True, "subPath": "content"}
    ]
    assert volume["persistentVolumeClaim"] == {"claimName": name}
    assert (fill.content.kind, fill.ranks, fill.together, fill.directory) == (Kind.CODE, 2, False, Path())
    assert said[0].startswith(f"2 files, 900 KiB, of . go by the claim {name}\n  train.py, w.bin")
    assert add(Said())[1][0].content.name == name, "equal content is the same claim"
    (work / "train.py").write_text("print(2)\n")
    assert add(Said())[1][0].content.name != name


def test_a_secret_does_not_go_by_a_claim_either(work: Path) -> None:
    (work / "w.bin").write_bytes(b"\0" * LARGEST)
    (work / "deploy").write_text("-----BEGIN PRIVATE KEY-----\n")
    with pytest.raises(UserError, match="\n  deploy\n"):
        add(Said())
    (work / ".gitignore").write_text("!deploy\n")
    assert len(add(Said())[1]) == 1


def test_data_is_not_sent(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_directories, "LARGEST", LARGEST)
    (work / "w.bin").write_bytes(b"\0" * LARGEST)
    with pytest.raises(
        UserError, match=r"\. is too large to be sent: 2 files, 900 KiB, and at most 900 KiB: train.py,"
    ):
        add(Said())


def test_packages_go_by_a_claim_of_their_own(work: Path) -> None:
    (work / "requirements.txt").write_text("six\n")
    (config_map, job), (fill,) = add(Said(), "requirements.txt", Storage("20Gi", "fast"))
    assert config_map.resource.kind == "ConfigMap"
    spec = read_pod(job)
    assert {each["name"] for each in spec["volumes"]} == {"paddock-packages", config_map_volume(spec)}
    assert (fill.content.kind, fill.content.size, fill.storage_class) == (Kind.PACKAGES, "20Gi", "fast")
    assert fill.file == "requirements.txt" and fill.directory is None


def config_map_volume(spec: dict[str, Any]) -> str:
    return next(str(each["name"]) for each in spec["volumes"] if "configMap" in each)


def test_roles_of_one_image_share_a_claim_and_of_two_images_have_two(work: Path) -> None:
    (work / "requirements.txt").write_text("six\n")
    each = build_checked()
    worker = each.manifest["spec"]["worker"]
    servers = {"replicas": 1, "template": {"spec": {"containers": [{**worker["template"]["spec"]["containers"][0]}]}}}
    manifest = {**each.manifest, "spec": {**each.manifest["spec"], "ps": servers}}
    packages = Path("requirements.txt")
    assert len(add_claims([each.with_manifest(manifest)], None, packages, USUAL, Said())[1]) == 1
    servers["template"]["spec"]["containers"][0]["image"] = "registry.example/other:1"  # type: ignore[index]
    (*_, job), fills = add_claims([each.with_manifest(manifest)], None, packages, USUAL, Said())
    assert len(fills) == 2 and {fill.ranks for fill in fills} == {3}
    names = [job.manifest["spec"][role]["template"]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
             for role in ("worker", "ps")]  # fmt: skip
    assert set(names) == {fill.content.name for fill in fills}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-e .\n", r"requirements.txt:1: found '-e .'; a directory of this machine"),
        ("x @ file:///etc/hostname\n", "requirements.txt:1: found a file of this machine"),
        ("", "no package is named in it"),
    ],
)
def test_requirements_that_no_cluster_can_have_are_refused_before_anything_is_sent(
    text: str, said: str, work: Path
) -> None:
    (work / "requirements.txt").write_text(text)
    (work / "setup.py").touch()
    with pytest.raises(UserError, match=said):
        add(Said(), "requirements.txt")


def test_a_job_that_has_something_there_is_refused_with_the_field(work: Path) -> None:
    (work / "requirements.txt").write_text("six\n")
    each = build_checked()
    each.manifest["spec"]["worker"]["template"]["spec"]["containers"][0]["volumeMounts"] = [
        {"name": "x", "mountPath": "/paddock/packages"}
    ]
    with pytest.raises(UserError, match=r"PaddleJob team/demo: volumeMounts\[0\].mountPath /paddock/packages is where"):
        add_claims([each], None, Path("requirements.txt"), USUAL, Said())
