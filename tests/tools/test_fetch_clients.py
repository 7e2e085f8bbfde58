"""What tools/fetch_clients.py knows before it fetches anything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fetch_clients import CLIENTS, LOCK, Client, Unavailable, find_mirror, find_place, find_program, read_key


@pytest.mark.parametrize(
    "text",
    [
        "deb http://one.example/debian trixie main\n",
        "deb [signed-by=/k.gpg arch=amd64] http://one.example/debian/ trixie main\n",
        "Types: deb\nURIs: http://one.example/debian\nSuites: trixie\n",
        "deb http://two.example/other x y\n# deb http://three.example/debian x\ndeb http://one.example/debian x y\n",
    ],
)
def test_the_mirror_is_that_of_the_machines_sources(text: str, tmp_path: Path) -> None:
    (tmp_path / "sources").write_text(text)
    assert find_mirror([tmp_path / "sources"]).rstrip("/") == "http://one.example/debian"


def test_a_machine_without_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "sources").write_text("deb http://two.example/debian-security trixie main\n")
    with pytest.raises(Unavailable, match="names no mirror"):
        find_mirror([tmp_path / "sources"])


def test_the_lock_has_each_client_with_its_hashes() -> None:
    locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\\n    --hash=sha256:", LOCK.read_text(), re.MULTILINE))
    assert {each.package: each.version for each in CLIENTS if not each.suite}.items() <= locked.items()


def test_what_was_made_for_another_lock_or_not_to_its_end_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    client = next(each for each in CLIENTS if each.name == "kopf")
    program = find_place(client) / client.program
    program.parent.mkdir(parents=True)
    program.touch()
    assert find_program("kopf") is None
    (find_place(client) / ".ready").write_text(read_key(Client("kopf", "0", "kopf")))
    assert find_program("kopf") is None
    (find_place(client) / ".ready").write_text(read_key(client))
    assert find_program("kopf") == program


@pytest.mark.parametrize("page", ["clients.md", "clients.zh-CN.md"])
def test_the_page_tells_the_versions_that_are_tested(page: str) -> None:
    rows = (LOCK.parents[2] / "docs" / page).read_text(encoding="utf-8").splitlines()
    for client in CLIENTS:
        if client.name not in ("lupa", "cel"):  # what tests alone need
            named = client.name.replace("-debian", "")
            assert any(named in row and f"| {client.version} |" in row for row in rows), client.title
