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
from paddock.images.layers import Written
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


def test_a_record_that_another_command_has_just_forgotten_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "a.json").write_text("{}")
    building._forget_oldest(tmp_path)
    assert (tmp_path / "a.json").exists()


@pytest.mark.parametrize("links", [True, False])
def test_a_layer_that_another_command_forgets_stays_for_the_push_that_uses_it(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(Path, "hardlink_to", _refuse)
    monkeypatch.setattr(building, "_KEPT", 5)
    kept, first, second = tmp_path / "packages" / "key", tmp_path / "first.tar.gz", tmp_path / "second.tar.gz"
    first.write_bytes(b"x" * 10)
    building._keep(kept, (Written(first, "sha256:a", "sha256:b", 10), ("numpy 2.1.0",), ()))
    found = building._read_kept(kept, second)
    assert found == (Written(second, "sha256:a", "sha256:b", 10), ("numpy 2.1.0",), ())
    (kept.parent / "later.json").write_text("{}")
    os.utime(kept.with_suffix(".json"), (1000, 1000))
    building._forget_oldest(kept.parent)
    assert [each.name for each in kept.parent.iterdir()] == ["later.json"]
    assert building._read_kept(kept, second) is None
    assert (first.read_bytes(), second.read_bytes()) == (b"x" * 10, b"x" * 10)


def test_a_kept_layer_that_is_cut_is_no_file_that_is_written_again(tmp_path: Path) -> None:
    """Another command may have the same one under its own name."""
    kept, made, own = tmp_path / "packages" / "key", tmp_path / "made.tar.gz", tmp_path / "own.tar.gz"
    made.write_bytes(b"x" * 10)
    building._keep(kept, (Written(made, "sha256:a", "sha256:b", 10), (), ()))
    os.truncate(kept.with_suffix(".tar.gz"), 5)
    assert building._read_kept(kept, own) is None and not own.exists()


def _refuse(file: Path, target: Path) -> None:
    raise OSError(1, "no links here")


def test_a_file_that_several_commands_write_at_once_is_one_of_theirs_whole(tmp_path: Path) -> None:
    texts = [f"{number}" * 200_000 for number in range(8)]
    with ThreadPoolExecutor(len(texts)) as threads:
        for written in [threads.submit(write_whole, tmp_path / "layer.json", text) for text in texts]:
            written.result()
    assert (tmp_path / "layer.json").read_text() in texts
    assert [each.name for each in tmp_path.iterdir()] == ["layer.json"]
