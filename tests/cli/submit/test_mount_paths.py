"""What ranks cannot mount without bubblewrap is known before anything is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.app.home import UNSANDBOXED, Home
from paddock.cli.submit.mount_paths import find_unmountable
from paddock.preflight import Document
from paddock.submission.documents import Checked, build_checked

ALIKE = {"configMap": {"name": "settings"}}


def check(path: str, volume: dict[str, Any]) -> Checked:
    manifest = build_manifest(workers=2)
    spec = manifest["spec"]["worker"]["template"]["spec"]
    spec["volumes"] = [{"name": "v", **volume}]
    spec["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": path}]
    return build_checked("job.yaml", Document(manifest), manifest, RESOURCE)


def find(each: Checked, root: Path, sandbox: str = UNSANDBOXED) -> list[str]:
    home = Home(root / "home", root / "cache")
    return [str(why) for _, why in find_unmountable([each], home, lambda _: sandbox)]


@pytest.mark.parametrize(
    ("volume", "said"),
    [
        ({"emptyDir": {}}, "the ranks would each have files of their own at {path} (volume v)"),
        (ALIKE, ""),
        ({"secret": {"secretName": "keys"}}, ""),
        ({"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}}, "the ranks would"),
        ({"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}, ""),
    ],
)
def test_what_differs_between_ranks_is_refused_and_one_copy_is_enough_for_the_rest(
    volume: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "data")
    found = find(check(path, volume), tmp_path)
    assert [each for each in found if not each.startswith(said.format(path=path))] == []
    assert bool(found) == bool(said), found
    assert find(check(path, volume), tmp_path, "bubblewrap") == [], "each pod has its own files there"


def test_a_directory_with_the_users_own_files_is_no_place_for_a_volume(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine.txt").touch()
    (said,) = find(check(str(tmp_path / "data"), ALIKE), tmp_path)
    assert str(tmp_path / "data") in said
