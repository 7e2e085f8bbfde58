"""What is kept of builds, and what of an image is changed."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from paddock.images import building
from paddock.images.base import write_whole
from paddock.images.building import Recipe, Workplace, build_variables, with_scheme
from paddock.images.platforms import Platform
from paddock.images.references import Reference, Repository


@pytest.mark.parametrize(
    ("base", "path", "modules"),
    [
        ({}, "/paddock/packages/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "/paddock/packages"),
        (
            {"PATH": "/opt/conda/bin", "PYTHONPATH": "/app"},
            "/paddock/packages/bin:/opt/conda/bin",
            "/paddock/packages:/app",
        ),
    ],
)
def test_packages_come_before_what_the_image_has(base: dict[str, str], path: str, modules: str) -> None:
    assert build_variables(base) == {"PATH": path, "PYTHONPATH": modules}


@pytest.mark.parametrize(("host", "scheme"), [("r.example", "http"), ("other.example", "")])
def test_the_base_image_of_the_same_registry_is_read_as_the_image_is_pushed(host: str, scheme: str) -> None:
    recipe = Recipe(Reference(Repository(host, "b")), Reference(Repository("r.example", "x", "http")), Platform())
    assert with_scheme(recipe).base.repository.scheme == scheme


def test_the_folder_of_a_command_that_was_killed_goes_later(tmp_path: Path) -> None:
    (tmp_path / "images/work-old").mkdir(parents=True)
    (tmp_path / "images/work-new").mkdir()
    long_ago = time.time() - 7 * 86400
    os.utime(tmp_path / "images/work-old", (long_ago, long_ago))
    place = Workplace(tmp_path)
    folder = place.folder
    assert {each.name for each in (tmp_path / "images").iterdir()} == {"work-new", folder.name}
    place.close()
    assert not folder.exists()


def test_of_layers_with_packages_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_KEPT", 25)
    for age, name in enumerate("abc"):
        (tmp_path / f"{name}.tar.gz").write_bytes(b"x" * 10)
        (tmp_path / f"{name}.json").write_text(json.dumps({}))
        os.utime(tmp_path / f"{name}.json", (1000 - age, 1000 - age))
    building._forget_oldest(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.json", "a.tar.gz", "b.json", "b.tar.gz"]


def test_a_file_that_several_commands_write_at_once_is_one_of_theirs_whole(tmp_path: Path) -> None:
    texts = [f"{number}" * 200_000 for number in range(8)]
    with ThreadPoolExecutor(len(texts)) as threads:
        for written in [threads.submit(write_whole, tmp_path / "layer.json", text) for text in texts]:
            written.result()
    assert (tmp_path / "layer.json").read_text() in texts
    assert [each.name for each in tmp_path.iterdir()] == ["layer.json"]
