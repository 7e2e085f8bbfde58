"""Version specifiers, and the sentences if no interpreter suits."""

from pathlib import Path

import pytest

from paddock.environments.pythons import (
    Python,
    choose_python,
    explain_range,
    explain_unsuitable,
    fetch_pythons,
    match_version,
    read_pythons,
    running_python,
)
from paddock.environments.uv import find_uv

Row = dict[str, object]


def python(*version: int) -> Python:
    return Python(Path(f"/usr/bin/python{version[0]}.{version[1]}"), version)


@pytest.mark.parametrize(
    ("specifier", "version", "matches"),
    [
        ("", (3, 11, 7), True),
        (">=3.9,<3.14", (3, 13, 9), True),
        (">=3.9,<3.14", (3, 14, 0), False),
        (">=3.9,<3.14", (3, 8, 19), False),
        (">= 3.11.8", (3, 11, 7), False),
        ("==3.11.*", (3, 11, 7), True),
        ("==3.11", (3, 11, 7), False),
        ("==3.11", (3, 11, 0), True),
        ("!=3.11.*,>3", (3, 11, 7), False),
        ("~=3.11", (3, 12, 1), True),
        ("~=3.11.2", (3, 12, 0), False),
        ("<=3.12", (3, 12, 1), False),
    ],
)
def test_specifiers(specifier: str, version: tuple[int, ...], matches: bool) -> None:
    assert match_version(specifier, version) is matches


def test_the_error_for_an_invalid_specifier_names_it() -> None:
    with pytest.raises(ValueError, match='"about 3" is no version specifier'):
        match_version(">=3.9, about 3", (3, 11))


@pytest.mark.parametrize(
    ("specifier", "words"),
    [
        (">=3.9,<3.14", "Python 3.9 to 3.13"),
        (">=3.11", "Python 3.11 or later"),
        ("==3.11.*", "Python 3.11"),
        ("<3", "Python <3"),
        (">=3.9,!=3.10.*", "Python >=3.9,!=3.10.*"),
        ("", "any Python"),
    ],
)
def test_ranges_in_words(specifier: str, words: str) -> None:
    assert str(explain_range(specifier)) == words


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ([python(3, 14, 0)], "Python 3.14 is too new for paddlepaddle 3.0.0"),
        ([python(3, 15, 0), python(3, 14, 0)], "Python 3.14 is too new for paddlepaddle 3.0.0"),
        ([python(3, 6, 8), python(3, 8, 0)], "Python 3.8 is too old for paddlepaddle 3.0.0"),
        ([python(3, 8, 0), python(3, 14, 0)], "no Python here suits paddlepaddle 3.0.0, found 3.8, 3.14"),
        ([], "no Python was found for paddlepaddle 3.0.0"),
    ],
)
def test_the_error_if_no_python_suits(found: list[Python], sentence: str) -> None:
    assert str(explain_unsuitable("paddlepaddle 3.0.0", ">=3.9,<3.14", found)) == sentence


def test_the_first_matching_python_is_chosen() -> None:
    assert choose_python("<3.14", [python(3, 14, 1), python(3, 12, 1), python(3, 11, 1)]) == python(3, 12, 1)
    assert choose_python("<3.9", [python(3, 14, 1)]) is None


def test_uvs_list_is_read_newest_first_and_cpython_only() -> None:
    def row(path: str, minor: int, implementation: str = "cpython", more: str = "", variant: str = "default") -> Row:
        parts = {"major": 3, "minor": minor, "patch": 1}
        version = f"3.{minor}.1{more}"
        return {"path": path, "version": version, "version_parts": parts, "implementation": implementation,
                "variant": variant}  # fmt: skip

    listing = [
        row("/a/python3.11", 11), row("/b/python3.11", 11), row("/a/python3.13t", 13, variant="freethreaded"),
        row("/a/python3.13", 13), row("/pypy", 12, "pypy"), row("/a/python3.15", 15, more="rc1"),
    ]  # fmt: skip
    assert read_pythons(listing) == (
        Python(Path("/a/python3.13"), (3, 13, 1)),
        Python(Path("/a/python3.11"), (3, 11, 1)),
    )


def test_the_running_interpreter_exists() -> None:
    assert running_python().path.exists()


async def test_the_interpreters_of_pyenv_are_found(tmp_path: Path) -> None:
    """pyenv's shims start only the version that a directory selects."""
    binaries = tmp_path / ".pyenv/versions/3.x/bin"
    binaries.mkdir(parents=True)
    running = running_python()
    (binaries / f"python{running.short}").symlink_to(running.path)
    found = await fetch_pythons(find_uv(), {"PATH": "/nowhere", "HOME": str(tmp_path)})
    assert [each.version for each in found] == [running.version]
