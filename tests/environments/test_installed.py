"""The packages of an interpreter, by the names in its directories."""

from __future__ import annotations

import os
import time
from importlib.metadata import distributions
from pathlib import Path

import pytest

from paddock.environments.installed import MOST_KEPT, MOST_SITES, Installed, find_sites, list_names, read_entry

OLD = time.time() - 3600
NOWHERE = {"HOME": "/nowhere"}


def make_venv(root: Path, *entries: str, settings: str = "home = /usr/bin\n", version: str = "3.11") -> Path:
    """A venv that has changed an hour ago; its interpreter."""
    site = root / "lib" / f"python{version}" / "site-packages"
    site.mkdir(parents=True)
    (root / "bin").mkdir()
    (root / "bin" / "python").symlink_to("/usr/bin/python3")
    (root / "pyvenv.cfg").write_text(settings)
    for each in entries:
        (site / each).mkdir()
    os.utime(site, (OLD, OLD))
    return root / "bin" / "python"


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("torch-2.6.0+cu124.dist-info", ("torch", "2.6.0+cu124")),
        ("Flask_SQLAlchemy-3.1.dist-info", ("flask-sqlalchemy", "3.1")),
        ("zope.interface-5.4.dist-info", ("zope-interface", "5.4")),
        ("old-1.0-py3.11.egg-info", ("old", "1.0")),
        ("older-1.0.egg-info", ("older", "1.0")),
        ("of-a-dash-1.0.dist-info", ("of-a-dash", "1.0")),
        ("~orch-2.5.0.dist-info", None),
        ("torch", None),
        ("mine.egg-info", None),
        (".dist-info", None),
        ("torch-2.6.0.dist-info.bak", None),
    ],
)
def test_the_name_of_an_entry_says_package_and_version(name: str, entry: tuple[str, str] | None) -> None:
    assert read_entry(name) == entry


def test_the_packages_are_those_that_the_interpreter_itself_names() -> None:
    import sys

    python = Path(sys.executable)
    found = Installed().read(python, NOWHERE)
    sites = [str(each) for each in find_sites(python, NOWHERE)]
    names = {each.name.replace("_", "-").replace(".", "-").lower(): each.version for each in distributions(path=sites)}
    assert {**names, "python": "{}.{}".format(*sys.version_info)} == found and "pytest" in found


def test_what_comes_first_counts(tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv", "torch-2.6.0.dist-info")
    own = tmp_path / "own"
    (own / "torch-2.7.0.dist-info").mkdir(parents=True)
    assert Installed().read(python, NOWHERE) == {"python": "3.11", "torch": "2.6.0"}
    named = {**NOWHERE, "PYTHONPATH": f"{own}::relative:{tmp_path}/nowhere"}
    assert Installed().read(python, named) == {"python": "3.11", "torch": "2.7.0"}


def test_a_venv_has_the_packages_of_its_base_only_where_it_says_so(tmp_path: Path) -> None:
    base = tmp_path / "base"
    (base / "bin").mkdir(parents=True)
    (base / "bin" / "python3.11").touch()
    (base / "bin" / "python").symlink_to("python3.11")
    for version in ("3.11", "3.12"):
        (base / "lib" / f"python{version}" / "site-packages" / f"of{version}-1.dist-info").mkdir(parents=True)
    settings = f"home = {base}/bin\ninclude-system-site-packages = "
    alone = make_venv(tmp_path / "alone", settings=f"{settings}false\n")
    shared = make_venv(tmp_path / "shared", settings=f"{settings}true\n")
    assert Installed().read(alone, NOWHERE) == {"python": "3.11"}
    assert Installed().read(shared, NOWHERE) == {"python": "3.11", "of3-11": "1"}
    assert Installed().read(base / "bin" / "python", NOWHERE) == {"python": "3.11", "of3-11": "1"}


def test_users_own_packages_count_outside_of_a_venv(tmp_path: Path) -> None:
    (tmp_path / "base/bin").mkdir(parents=True)
    (tmp_path / "base/bin/python3.11").touch()
    (tmp_path / "home/.local/lib/python3.11/site-packages/mine-1.dist-info").mkdir(parents=True)
    python, home = tmp_path / "base/bin/python3.11", {"HOME": str(tmp_path / "home")}
    assert Installed().read(python, home) == {"python": "3.11", "mine": "1"}
    assert Installed().read(python, {**home, "PYTHONNOUSERSITE": "1"}) == {}


def test_beside_a_shim_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "shims").mkdir()
    (tmp_path / "shims" / "python").touch()
    assert Installed().read(tmp_path / "shims" / "python", {"PYTHONPATH": str(tmp_path)}) == {}


def test_three_thousand_packages_are_listed_once_until_one_changes(tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv", *(f"p{number}-1.0.dist-info" for number in range(3_000)))
    site, listed = tmp_path / "venv/lib/python3.11/site-packages", list[Path]()

    def look(directory: Path) -> list[str]:
        listed.append(directory)
        return list_names(directory)

    installed = Installed(look)
    found = [installed.read(python, NOWHERE) for _ in range(5)]
    assert listed == [site] and len(found[0]) == 3_001 and all(each == found[0] for each in found)
    (site / "p7-1.0.dist-info").rename(site / "p7-2.0.dist-info")
    os.utime(site, (OLD + 9, OLD + 9))
    assert installed.read(python, NOWHERE)["p7"] == "2.0" and listed == [site, site]


def test_a_directory_that_has_just_changed_is_read_again(tmp_path: Path) -> None:
    python, installed = make_venv(tmp_path / "venv", "a-1.dist-info"), Installed()
    site = tmp_path / "venv/lib/python3.11/site-packages"
    now = time.time()
    os.utime(site, (now, now))
    assert installed.read(python, NOWHERE)["a"] == "1"
    (site / "a-1.dist-info").rename(site / "a-2.dist-info")
    os.utime(site, (now, now))  # of a file system whose times are coarse
    assert installed.read(python, NOWHERE)["a"] == "2"


def test_a_directory_of_too_many_entries_is_not_read_whole(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / name).touch()
    assert sorted(list_names(tmp_path, 4)) == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="more than 3"):
        list_names(tmp_path, 3)


def test_runs_with_a_directory_of_their_own_share_what_is_kept_of_an_environment(tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv", "a-1.dist-info")
    site, listed = tmp_path / "venv/lib/python3.11/site-packages", list[Path]()

    def look(directory: Path) -> list[str]:
        listed.append(directory)
        return list_names(directory)

    installed = Installed(look)
    codes = [tmp_path / f"code{number}" for number in range(MOST_KEPT + 3)]
    for code in codes:
        code.mkdir()
        os.utime(code, (OLD, OLD))
        assert installed.read(python, {**NOWHERE, "PYTHONPATH": str(code)})["a"] == "1"
    assert listed.count(site) == 1 and len(installed._known) == MOST_KEPT
    installed.read(python, {**NOWHERE, "PYTHONPATH": str(codes[-1])})
    installed.read(python, {**NOWHERE, "PYTHONPATH": str(codes[0])})
    assert [listed.count(each) for each in (site, codes[-1], codes[0])] == [1, 1, 2]


@pytest.mark.parametrize("what", ["link", "fifo", "directory"])
def test_settings_that_a_program_has_replaced_are_not_opened(tmp_path: Path, what: str) -> None:
    """They leave it unknown whether it is a venv: the packages of its base are not taken for its own."""
    python, settings = make_venv(tmp_path / "venv", "a-1.dist-info"), tmp_path / "venv/pyvenv.cfg"
    settings.unlink()
    if what == "link":
        (tmp_path / "elsewhere").write_text("home = /usr/bin\n")
        settings.symlink_to(tmp_path / "elsewhere")
    elif what == "fifo":
        os.mkfifo(settings)
    else:
        settings.mkdir()
    with pytest.raises(OSError):
        Installed().read(python, NOWHERE)


def test_of_large_settings_the_start_is_read(tmp_path: Path) -> None:
    base = tmp_path / "base"
    (base / "bin").mkdir(parents=True)
    (base / "bin/python").touch()
    (base / "lib/python3.11/site-packages/b-1.dist-info").mkdir(parents=True)
    home, shared = f"home = {base}/bin\n", "include-system-site-packages = true\n"
    large = "#" * 70_000 + "\n"
    before = make_venv(tmp_path / "before", settings=home + shared + large)
    behind = make_venv(tmp_path / "behind", settings=home + large + shared)
    assert Installed().read(before, NOWHERE) == {"python": "3.11", "b": "1"}
    assert Installed().read(behind, NOWHERE) == {"python": "3.11"}


def test_an_interpreter_of_too_many_directories_is_not_known(tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv")
    named = ":".join(f"{tmp_path}/code{number}" for number in range(MOST_SITES + 1))
    with pytest.raises(ValueError, match=f"more than {MOST_SITES}"):
        Installed().read(python, {**NOWHERE, "PYTHONPATH": named})
    for number in range(MOST_SITES):
        (tmp_path / f"venv/lib/python3.{number + 20}/site-packages").mkdir(parents=True)
    with pytest.raises(ValueError, match=f"more than {MOST_SITES}"):
        Installed().read(python, NOWHERE)
