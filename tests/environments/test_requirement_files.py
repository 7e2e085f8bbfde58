"""requirements.txt, line by line: what uv is told, and what it does not take, with what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from paddock.environments.requirement_files import Requirements, decode, read_requirements


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
        ("numpy \\\n  ==1.26.4", ["numpy    ==1.26.4"]),
        ("tiny==1.*\ntiny!=1.2", ["tiny==1.*", "tiny!=1.2"]),
        ("git+https://github.com/openai/CLIP.git", ["git+https://github.com/openai/CLIP.git"]),
        ("-e git+https://x.example/mine.git@v1#egg=mine", ["git+https://x.example/mine.git@v1#egg=mine"]),
        ("https://x.example/my_lib-1.0-py3-none-any.whl", ["https://x.example/my_lib-1.0-py3-none-any.whl"]),
        ("six==1.16.0 --hash=sha256:00 \\\n --hash sha256:01", ["six==1.16.0 --hash=sha256:00 --hash=sha256:01"]),
    ],
)
def test_packages(text: str, packages: list[str]) -> None:
    found = read(text)
    assert (found.packages, found.problems, found.unshared) == (packages, [], [])


@pytest.mark.parametrize(
    ("text", "packages", "options"),
    [
        ("paddlepaddle==2.6.2 -f https://x.example/stable.html", ["paddlepaddle==2.6.2"],
         ["-f https://x.example/stable.html"]),
        ("--trusted-host x.example --pre\n--find-links=https://x.example/w\nsix", ["six"],
         ["--trusted-host x.example", "--pre", "-f https://x.example/w"]),
        ("-c limits.txt\nsix", ["six"], ["-c numpy<2", "-c tiny", "-f https://y.example"]),
        ("-r https://x.example/r.txt\n--no-binary :all:", [], ["-r https://x.example/r.txt", "--no-binary :all:"]),
        ("# Linux alone\nsix ; sys_platform == 'linux'\n--require-hashes", ["six ; sys_platform == 'linux'"],
         ["--require-hashes"]),
    ],
)  # fmt: skip
def test_options_go_to_uv_on_lines_of_their_own(text: str, packages: list[str], options: list[str]) -> None:
    found = read(text, {"limits.txt": "numpy<2\n-r deep.txt\n", "deep.txt": "tiny\n-f https://y.example"})
    assert (found.packages, found.options, found.problems) == (packages, options, [])


def test_indexes_and_further_files() -> None:
    more = {"team/more.txt": "--extra-index-url=https://two.example/simple\n-r deep.txt", "team/deep.txt": "scipy"}
    found = read("-i https://one.example/simple\nnumpy\n-r more.txt", more, "team/requirements.txt")
    assert (found.index_url, found.extra_index_urls) == ("https://one.example/simple", ["https://two.example/simple"])
    assert (found.packages, found.problems) == (["numpy", "scipy"], [])
    found = read("paddlepaddle-gpu==3.0.0 -i https://one.example/cu118/ --trusted-host one.example")
    assert (found.index_url, found.packages) == ("https://one.example/cu118/", ["paddlepaddle-gpu==3.0.0"])


def test_what_lies_on_this_machine_counts_from_the_file_and_is_for_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "my lib/src").mkdir(parents=True)
    (tmp_path / "my lib/pyproject.toml").touch()
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"
    wheel.write_bytes(b"1")
    lines = (f"{wheel.name} --hash=sha256:00",
             "-e './my lib'", "./my lib", "-e './my lib[extra]'", f"tiny @ {wheel.as_uri()}", f"tiny @ ./{wheel.name}",
             wheel.name, f"file://{wheel}")  # fmt: skip
    file = str(tmp_path / "requirements.txt")
    found = read("\n".join(lines), file=file)
    assert found.problems == []
    place = f"{tmp_path}/my lib"
    assert found.packages == [f"{wheel} --hash=sha256:00",
                              f"-e {place}", f"-e {place}", f"-e {place}[extra]", f"tiny @ {wheel.as_uri()}",
                              f"tiny @ {wheel.as_uri()}", str(wheel), str(wheel)]  # fmt: skip
    assert [str(each).partition(": ")[0] for each in found.unshared] == [f"{file}:{number}" for number in (2, 3, 4)]
    wheel.write_bytes(b"12")
    assert read(wheel.name, file=file).options != found.options[-1:], "another content is another environment"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("numpy=1.2", "requirements.txt:1: found 'numpy=1.2'; one = is none: did you mean numpy==1.2?"),
        ("numpy=1.26.4=py311h64a7726_0", "did you mean numpy==1.26.4?"),
        ("pip install numpy", "a package is wanted, and which versions of it"),
        ("./mine", "found './mine'; "),
        ("-e /nowhere/mine", "found '-e /nowhere/mine'; /nowhere/mine is not there"),
        ("-e /etc", "found '-e /etc'; that directory is no package: it has no pyproject.toml and no setup.py"),
        ("tiny @ file:///w/tiny-1.0-py3-none-any.whl", "; /w/tiny-1.0-py3-none-any.whl is not there"),
        ("numpy @ file:///home/conda/feedstock_root/build_artifacts/numpy_1651020388495/work", "conda built it there"),
        ("-c none.txt", "none.txt: No such file or directory"),
        ("--bogus x", "found '--bogus'; uv, which installs, takes no such option"),
        ("six --config-settings a=b", "found '--config-settings'; uv, which installs, takes no such option"),
        ("six==${VERSION}", "found 'six==${VERSION}'; uv, which installs, takes no variable there: write its value"),
        ("--find-links", "found '--find-links'; a value is wanted behind it"),
        ("-i index", "requirements.txt:1: -i: an address that begins with https://"),
        ("-r none.txt", "none.txt: No such file or directory"),
        ("-r requirements.txt", "requirements.txt:1: -r requirements.txt leads back to this file"),
        ("# nothing", "requirements.txt: no package is named in it"),
        ("-i https://x.example/simple", "requirements.txt: no package is named in it"),
    ],
)
def test_what_uv_does_not_take(line: str, said: str) -> None:
    (problem,) = read(line).problems
    assert said in str(problem)


def test_all_lines_are_reported_at_once_and_a_password_never() -> None:
    found = read("a=1\n-i ftp://me:secret@x.example\nb=2\n-f https://me:secret@y.example")
    assert [str(problem).split(": ")[0] for problem in found.problems] == [f"requirements.txt:{n}" for n in (1, 2, 3)]
    assert "secret" not in "".join(map(str, found.problems)) + repr(found)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_file_is_decoded_by_its_byte_order_mark(encoding: str) -> None:
    assert decode("six  # 六\n".encode(encoding)) == "six  # 六\n"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("pyproject.toml", "[project]\ndependencies = ['torch>=2', 'einops']", ["torch>=2", "einops"]),
        ("pyproject.toml", "[project]\ndependencies = ['torch']\n[tool.uv.sources]\ntorch = {index = 'x'}",
         "write a requirements.txt, `uv export --no-hashes -o requirements.txt`, and name"),
        ("pyproject.toml", "[tool.poetry.dependencies]\ntorch = '^2'", "`poetry export -o requirements.txt`"),
        ("pyproject.toml", "[project", "no TOML: "),
        ("Pipfile", "[packages]\ntorch = '*'", "`pipenv requirements > requirements.txt`"),
        ("environment.yml", "name: p\ndependencies:\n- python=3.10\n- pytorch=2.1\n- pytorch-cuda=12.1\n"
         "- conda-forge::numpy>=1.20\n- scipy=1.11.4=py310_0\n- pip\n- pip:\n  - einops==0.7.0\n",
         "`printf '%s\\n' 'torch==2.1.*' 'numpy>=1.20' scipy==1.11.4 einops==0.7.0 > requirements.txt`"),
    ],
)  # fmt: skip
def test_files_of_other_managers(name: str, text: str, found: list[str] | str) -> None:
    given = read(text, file=f"team/{name}")
    if isinstance(found, list):
        assert (given.packages, given.places, given.problems) == (found, [f"team/{name}"] * len(found), [])
    else:
        assert found in str(given.problems[0]) and str(given.problems[0]).startswith(f"team/{name}: ")
