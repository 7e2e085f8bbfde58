"""What is sent of a directory, what is refused, and the fate of its ConfigMap without the job."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.submit.script.requests import build_documents, fetch_foreign_secrets
from paddock.cli.submit.sent_directories import add_directory_maps, create_with_maps, is_too_wide
from paddock.kube.errors import ApiError, Forbidden, NotFound, Unavailable
from paddock.kube.meta import CONFIG_MAPS, SECRETS, Manifest, Resource, name_of
from paddock.manifests.yaml_nodes import Document, Position
from paddock.script.request import ScriptRequest
from paddock.submission.documents import Checked, place_document
from paddock.words.phrases import Phrase

PADDLE = "registry.baidubce.com/paddlepaddle/paddle:2.4.0rc0-cpu"


def build_checked(*, generated: bool = False) -> Checked:
    manifest = build_manifest()
    manifest["metadata"] = {"generateName": "demo-"} if generated else {"name": "demo"}
    (container,) = manifest["spec"]["worker"]["template"]["spec"]["containers"]
    container |= {"image": PADDLE, "command": ["python", "train.py"]}
    checked = place_document("demo.yaml", Document(manifest, {"": Position(1, 1, 1)}), "team")
    assert checked.resource == RESOURCE and checked.is_job
    return checked


class Said(list[str]):
    def __call__(self, text: Phrase) -> None:
        self.append(str(text))


@pytest.mark.parametrize(
    ("here", "home", "wide"),
    [
        ("/", "/home/me", True),
        ("/home", "/home/me", True),
        ("/home/me", "/home/me", True),
        ("/home/me/work", "/home/me", False),
        ("/srv", "/home/me", False),
        ("/", "/", True),
        ("/work", "/", False),
    ],
)
def test_a_directory_that_holds_the_home_directory_is_too_wide(here: str, home: str, wide: bool) -> None:
    assert is_too_wide(Path(here), Path(home)) is wide


def test_the_home_directory_is_sent_only_where_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UserError, match=r"train.py is in no image.* is sent only where --workdir names it"):
        add_directory_maps([build_checked()], None, Said())
    assert len(add_directory_maps([build_checked()], ".", Said())) == 2
    (tmp_path / "work").mkdir()
    (tmp_path / "work/train.py").write_text("")
    monkeypatch.chdir(tmp_path / "work")
    assert len(add_directory_maps([build_checked()], None, Said())) == 2


def test_a_secret_is_refused_until_it_is_ignored_or_negated(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "deploy").write_text("-----BEGIN PRIVATE KEY-----\n")
    said = Said()
    with pytest.raises(UserError, match="\n  deploy\n"):
        add_directory_maps([build_checked()], str(tmp_path), said)
    assert said == [], "it is not said that anything is sent"
    (tmp_path / ".gitignore").write_text("deploy\n")
    sent, _ = add_directory_maps([build_checked()], str(tmp_path), said)
    assert list(sent.manifest["data"]) == ["train.py"]
    (tmp_path / ".gitignore").write_text("!deploy\n")
    sent, _ = add_directory_maps([build_checked()], str(tmp_path), said)
    assert sorted(sent.manifest["data"]) == ["deploy", "train.py"]


class Cluster:
    """Keeps created objects; `fails`: the error for a request of a verb and kind."""

    def __init__(self, **fails: ApiError) -> None:
        self.fails, self.there = fails, dict[tuple[Resource, str], Manifest]()

    def _answer(self, verb: str, resource: Resource) -> None:
        if error := self.fails.get(f"{verb}_{resource.kind.lower()}"):
            raise error

    async def create(self, resource: Resource, manifest: Manifest, **_: Any) -> Manifest:
        name = name_of(manifest) or f"{manifest['metadata']['generateName']}x7"
        if "lost_" + resource.kind.lower() not in self.fails:
            self._answer("create", resource)
        made = {**manifest, "metadata": {**manifest["metadata"], "name": name, "uid": "u"}}
        self.there[resource, name] = made
        self._answer("lost", resource)
        return made

    async def get(self, resource: Resource, _: str, name: str) -> Manifest:
        self._answer("get", resource)
        if (resource, name) not in self.there:
            raise NotFound(name)
        return self.there[resource, name]

    async def delete(self, resource: Resource, _: str, name: str) -> None:
        self._answer("delete", resource)
        if self.there.pop((resource, name), None) is None:
            raise NotFound(name)

    async def patch(self, resource: Resource, _: str, name: str, patch: Manifest) -> Manifest:
        self._answer("patch", resource)
        self.there[resource, name]["metadata"] |= patch["metadata"]
        return self.there[resource, name]

    def kept(self) -> list[Manifest]:
        return [made for (resource, _), made in self.there.items() if resource == CONFIG_MAPS]


REFUSED, LOST = Forbidden("no"), Unavailable("nothing answers")


@pytest.mark.parametrize(
    ("fails", "generated", "kept", "owned", "said"),
    [
        ({"create_paddlejob": REFUSED}, False, 0, False, ""),
        ({"create_paddlejob": REFUSED}, True, 0, False, ""),
        ({"create_configmap": REFUSED}, False, 0, False, ""),
        ({"create_paddlejob": REFUSED, "delete_configmap": LOST}, False, 1, False,
         "the ConfigMap {name} in namespace team may be left behind (nothing answers): delete it if no job uses it"),
        ({"lost_paddlejob": LOST}, False, 1, True, ""),
        ({"lost_paddlejob": LOST, "get_paddlejob": LOST}, False, 1, False, "may be left behind (nothing answers)"),
        ({"lost_paddlejob": LOST, "patch_configmap": REFUSED}, False, 1, False, "will not go with the job (no)"),
        ({"lost_paddlejob": LOST}, True, 1, False, "may be left behind (it is not known whether the job was created)"),
        ({"create_paddlejob": LOST}, False, 0, False, ""),
    ],
)  # fmt: skip
async def test_a_config_map_without_its_job_is_deleted_or_reported(
    tmp_path: Path, fails: dict[str, ApiError], generated: bool, kept: int, owned: bool, said: str
) -> None:
    (tmp_path / "train.py").write_text("")
    checked = add_directory_maps([build_checked(generated=generated)], str(tmp_path), Said())
    cluster, heard = Cluster(**fails), Said()
    with pytest.raises((UserError, Failed)):
        await create_with_maps(cluster, checked, heard)  # type: ignore[arg-type]
    left = cluster.kept()
    assert (len(left), any("ownerReferences" in each["metadata"] for each in left)) == (kept, owned)
    assert (len(heard) == 0) if not said else (said.format(name=checked[0].key.name) in heard[0])


async def test_a_directory_whose_job_was_not_asked_for_is_removed(tmp_path: Path) -> None:
    """The answer about the ConfigMap was lost: the generated job cannot be there."""
    (tmp_path / "train.py").write_text("")
    sent, job = add_directory_maps([build_checked(generated=True)], str(tmp_path), Said())
    cluster, heard = Cluster(lost_configmap=LOST), Said()
    with pytest.raises(Failed):
        await create_with_maps(cluster, [sent, job], heard)  # type: ignore[arg-type]
    assert (cluster.kept(), heard) == ([], [])


def build_script() -> list[Checked]:
    """A typed command with a secret, as it is sent."""
    return build_documents(ScriptRequest(["python", "x.py"], name="demo", namespace="team", secrets=[("TOKEN", "t")]))


async def test_a_secret_goes_with_its_job_beside_a_directory_too(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("")
    checked = add_directory_maps(build_script(), str(tmp_path), Said())
    assert [each.resource.kind for each in checked] == ["Secret", "ConfigMap", "PaddleJob"]
    cluster = Cluster()
    await create_with_maps(cluster, checked, Said())  # type: ignore[arg-type]
    owners = [made["metadata"].get("ownerReferences") for made in cluster.there.values()]
    assert [bool(each) for each in owners] == [True, True, False]
    assert owners[0] == owners[1] and owners[0] is not None and owners[0][0]["name"] == "demo"


@pytest.mark.parametrize(
    ("fails", "kept"), [({"create_paddlejob": REFUSED}, 0), ({"lost_paddlejob": LOST}, 1), ({"get_secret": LOST}, 1)]
)
async def test_a_secret_without_its_job_is_deleted(fails: dict[str, ApiError], kept: int) -> None:
    cluster = Cluster(**fails)
    with suppress(UserError, Failed):
        await create_with_maps(cluster, build_script(), Said())  # type: ignore[arg-type]
    assert sum(resource == SECRETS for resource, _ in cluster.there) == kept


async def test_a_secret_of_somebody_else_is_not_overwritten() -> None:
    cluster, checked = Cluster(), build_script()
    assert await fetch_foreign_secrets(cluster, checked) == []  # type: ignore[arg-type]
    cluster.there[SECRETS, "demo-env"] = checked[0].manifest
    assert await fetch_foreign_secrets(cluster, checked) == []  # type: ignore[arg-type]
    ours = checked[0].manifest["metadata"]["labels"]
    for labels in ({}, {**ours, "paddock.dev/kind": "paddlejobs.kubeflow.org"}):
        cluster.there[SECRETS, "demo-env"] = {"metadata": {"name": "demo-env", "labels": labels}}
        ((hidden, said),) = await fetch_foreign_secrets(cluster, checked)  # type: ignore[arg-type]
        assert hidden is checked[0]
        assert str(said).startswith("there is a Secret demo-env already, which is not this job's")


def test_a_secret_tells_the_kind_of_its_job() -> None:
    labels = build_script()[0].manifest["metadata"]["labels"]
    assert labels["paddock.dev/kind"] == "paddlejobs.batch.paddlepaddle.org"
