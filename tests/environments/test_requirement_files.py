"""requirements.txt, line by line: what is taken, and what is refused with what to write instead."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from paddock.environments.requirement_files import Requirements, read_requirements


def read(text: str, others: Mapping[str, str] | None = None, file: str = "requirements.txt") -> Requirements:
    files = {file: text, **(others or {})}

    def fetch(path: str) -> str:
        if path not in files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return files[path]

    return read_requirements(file, fetch)


@pytest.mark.parametrize(
    ("text", "packages"),
    [
        ("numpy\n", ["numpy"]),
        ("\ufeffnumpy==1.26.4\r\nscipy>=1.1,<2 # why\n# all\n\n", ["numpy==1.26.4", "scipy>=1.1,<2"]),
        ("paddlepaddle[gpu] ~= 3.0 ; python_version < '3.13'", ["paddlepaddle[gpu] ~= 3.0 ; python_version < '3.13'"]),
        ("tiny @ file:///wheels/tiny-1.0-py3-none-any.whl", ["tiny @ file:///wheels/tiny-1.0-py3-none-any.whl"]),
        ("numpy \\\n  ==1.26.4", ["numpy    ==1.26.4"]),
        ("tiny==1.*\ntiny!=1.2", ["tiny==1.*", "tiny!=1.2"]),
    ],
)
def test_packages(text: str, packages: list[str]) -> None:
    found = read(text)
    assert (found.packages, found.problems) == (packages, [])


def test_indexes_and_further_files() -> None:
    more = {"team/more.txt": "--extra-index-url=https://two.example/simple\n-r deep.txt", "team/deep.txt": "scipy"}
    found = read("-i https://one.example/simple\nnumpy\n-r more.txt", more, "team/requirements.txt")
    assert (found.index_url, found.extra_index_urls) == ("https://one.example/simple", ["https://two.example/simple"])
    assert (found.packages, found.problems) == (["numpy", "scipy"], [])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("numpy=1.2", "requirements.txt:1: found 'numpy=1.2'; one = is none: did you mean numpy==1.2?"),
        ("pip install numpy", "a package is wanted, and which versions of it"),
        ("./mine", "a directory of this machine is no content that others can share"),
        ("-e .", "found -e; a directory of this machine"),
        ("--editable=.", "found --editable; a directory of this machine"),
        ("/w/tiny-1.0-py3-none-any.whl", "write tiny @ file:///w/tiny-1.0-py3-none-any.whl"),
        (
            "https://x.example/my_lib-1.0-py3-none-any.whl",
            "write my_lib @ https://x.example/my_lib-1.0-py3-none-any.whl",
        ),
        ("-c constraints.txt", "constraints are not read"),
        ("--find-links x", "found --find-links; an environment has packages"),
        ("numpy==1 --hash=sha256:00", "hashes are not kept"),
        ("-i index", "requirements.txt:1: -i: an address that begins with https://"),
        ("-r none.txt", "none.txt: No such file or directory"),
        ("-r requirements.txt", "requirements.txt:1: -r requirements.txt leads back to this file"),
        ("# nothing", "requirements.txt: no package is named in it"),
    ],
)
def test_what_an_environment_cannot_hold(line: str, said: str) -> None:
    (problem,) = read(line).problems
    assert said in str(problem)


def test_all_lines_are_reported_at_once_and_a_password_never() -> None:
    found = read("a=1\n-i ftp://me:secret@x.example\nb=2")
    assert [str(problem).split(": ")[0] for problem in found.problems] == [f"requirements.txt:{n}" for n in (1, 2, 3)]
    assert "secret" not in "".join(map(str, found.problems)) + repr(found)
