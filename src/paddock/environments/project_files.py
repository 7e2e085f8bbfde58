"""Files of other managers of packages, where a requirements.txt is wanted: what uv installs of a pyproject.toml, and
what to write in place of the others. Pure."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import yaml

from paddock.environments.requirements import requirement_name
from paddock.words.phrases import Phrase, phrase

_NAMES = {"pytorch": "torch", "pytorch-cpu": "torch", "pytorch-gpu": "torch", "py-opencv": "opencv-python",
          "opencv": "opencv-python", "matplotlib-base": "matplotlib", "tensorflow-gpu": "tensorflow"}  # fmt: skip
"""conda's name of a package -> that of pip's index, where they differ."""
_NO_PACKAGES = re.compile(r"python|pip|setuptools|cuda.*|cudnn|cudatoolkit|pytorch-(cuda|mutex)|nccl|mkl.*|blas|_?lib.*"
                          r"|_.*|openssl|ffmpeg|gcc.*|gxx.*|nodejs|git|make|cmake|ninja|tk|xz|zlib|sqlite|readline"
                          r"|ncurses|bzip2|ca-certificates|intel-openmp|ld_impl.*")  # fmt: skip
"""Of conda's channels: what is no package of Python, or comes with Python or torch."""


def read_project_file(file: str, text: str) -> list[str] | Phrase | None:
    """The requirements of a pyproject.toml; the sentence of what to write in place of a file that uv does not take;
    None of any other, which is a requirements.txt."""
    name = PurePath(file).name
    if name.endswith((".yml", ".yaml")):
        wanted = shlex.join(list_conda(text))
        if not wanted:
            return phrase("a file of conda that names no package of pip's index: name a requirements.txt with -r")
        return phrase(
            "a file of conda, whose packages have other names at pip's index: write them into a requirements.txt, "
            "`{command}`, and name that with -r",
            command=f"printf '%s\\n' {wanted} > requirements.txt",
        )  # fmt: skip
    if name in ("Pipfile", "Pipfile.lock"):
        return _instead("pipenv requirements > requirements.txt")
    if name.endswith(".lock") and name in _EXPORTS:
        return _instead(_EXPORTS[name])
    if name in ("setup.py", "setup.cfg"):
        return _instead("echo '-e .' > requirements.txt")
    return _read_pyproject(text) if name.endswith(".toml") else None


_EXPORTS = {
    "uv.lock": "uv export --no-hashes -o requirements.txt",
    "poetry.lock": "poetry export -o requirements.txt",
    "pdm.lock": "pdm export -o requirements.txt",
}


def _instead(command: str) -> Phrase:
    return phrase("write a requirements.txt, `{command}`, and name that with -r", command=command)


def _read_pyproject(text: str) -> list[str] | Phrase:
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return phrase("no TOML: {why}", why=str(error))
    project = _table(found, "project")
    if not isinstance(project.get("dependencies"), list):
        poetry = bool(_table(found, "tool", "poetry"))
        return _instead(_EXPORTS["poetry.lock"] if poetry else "echo '-e .' > requirements.txt")
    wanted = list(_texts(project["dependencies"]))
    elsewhere = {requirement_name(each) for each in _table(found, "tool", "uv", "sources")}
    return _instead(_EXPORTS["uv.lock"]) if elsewhere & set(map(requirement_name, wanted)) else wanted


def list_named(text: str) -> Iterator[str]:
    """All that a pyproject.toml names: of the project, its extras and groups, and Poetry's."""
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    project, poetry = _table(found, "project"), _table(found, "tool", "poetry")
    yield from _texts(project.get("dependencies"))
    for groups in (_table(project, "optional-dependencies"), _table(found, "dependency-groups")):
        for group in groups.values():
            yield from _texts(group)
    tables = [poetry, *(each for each in _table(poetry, "group").values() if isinstance(each, Mapping))]
    for table in tables:
        yield from (name for name in _table(table, "dependencies") if name != "python")


def list_conda(text: str) -> list[str]:
    """`pytorch=2.1` -> `torch==2.1.*`: the packages of an environment.yml as pip has them, with those below `pip:`."""
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        return []
    wanted = found.get("dependencies") if isinstance(found, Mapping) else None
    packages = list[str]()
    for each in wanted if isinstance(wanted, list) else ():
        if isinstance(each, Mapping):
            packages += _texts(each.get("pip"))
        elif match := re.fullmatch(r"(?:\S+::)?([\w.-]+)\s*(.*)", str(each)):
            packages += [] if _NO_PACKAGES.fullmatch(match[1].lower()) else [_of_pip(match[1].lower(), match[2])]
    return packages


def _of_pip(name: str, version: str) -> str:
    name = _NAMES.get(name, name)
    if exact := re.fullmatch(r"=?\s*=?\s*([\d][\w.]*)(?:=\S+)?(\.\*)?", version):
        return f"{name}=={exact[1]}" if exact[1].count(".") > 1 and not exact[2] else f"{name}=={exact[1]}.*"
    return f"{name}{version}".replace(" ", "")


def _table(value: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    for key in path:
        inner = value.get(key)
        value = inner if isinstance(inner, Mapping) else {}
    return value


def _texts(value: object) -> Iterator[str]:
    yield from (each for each in (value if isinstance(value, list) else []) if isinstance(each, str))
