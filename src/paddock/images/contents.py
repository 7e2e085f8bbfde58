"""What is in an image, by the files of its layers: its Python, its packages, its libc. Pure.

A layer is a list of names; later ones hide what whiteouts name (OCI image specification, "Layer Filesystem Changeset").
What the layers do not show is unknown, and never guessed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

_PYTHON = re.compile(r"(?:.*/)?bin/python[\d.]*|etc/alternatives/python[\d.]*")
_PLACE_OF_PROGRAMS = re.compile(r"(?:.*/)?bin")
_METADATA = re.compile(r".*/(?:site|dist)-packages/[^/]+\.dist-info/METADATA")
_RELEASE = re.compile(r"(?:etc|usr/lib)/os-release")
_LIBC = re.compile(r"(?:.*/)?(?:libc-2\.\d+\.so|ld-musl-[\w]+\.so\.1)")
_HIDDEN, _EMPTIED = ".wh.", ".wh..wh..opq"
_VERSION = re.compile(r"python(3\.\d+)")
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MOST_LINKS = 40  # as Linux follows


@dataclass(slots=True)
class Contents:
    """What is told of the files of a layer, or of several."""

    links: dict[str, str] = field(default_factory=dict)
    """Interpreters and directories of programs by path, with the target of a link; empty for what is none."""
    packages: dict[str, str] = field(default_factory=dict)
    """The head of METADATA by its path."""
    releases: dict[str, str] = field(default_factory=dict)
    """The text of os-release by its path."""
    libraries: list[str] = field(default_factory=list)
    """Names that tell the libc."""
    hidden: list[str] = field(default_factory=list)
    """Paths that the layers below lose; one that ends with a slash is a directory that is emptied."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package of an image."""

    name: str
    version: str
    metadata: str
    """The head of its METADATA."""


def is_wanted(path: str) -> bool:
    """Whether the text of the file is read. `path`: without a slash at its begin."""
    return bool(_METADATA.fullmatch(path) or _RELEASE.fullmatch(path))


def add_entry(contents: Contents, path: str, link: str | None, text: str | None) -> bool:
    """One entry of a layer: its path without a slash at its begin, the target of a link, the text if it `is_wanted`.
    Whether something of it is kept."""
    directory, name = posixpath.split(path)
    if name == _EMPTIED:
        contents.hidden.append(f"{directory}/")
    elif name.startswith(_HIDDEN):
        contents.hidden.append(posixpath.join(directory, name.removeprefix(_HIDDEN)))
    elif _PYTHON.fullmatch(path) or (link is not None and _PLACE_OF_PROGRAMS.fullmatch(path)):
        contents.links[path] = link or ""
    elif text is not None and _METADATA.fullmatch(path):
        contents.packages[path] = text.partition("\n\n")[0] + "\n"
    elif text is not None and _RELEASE.fullmatch(path):
        contents.releases[path] = text
    elif _LIBC.fullmatch(path):
        contents.libraries.append(name)
    else:
        return False
    return True


def join(layers: Iterable[Contents]) -> Contents:
    """What is there when all layers lie on each other, the lowest first."""
    whole = Contents()
    for each in layers:
        hidden = set(each.hidden)
        for found in (whole.links, whole.packages, whole.releases):
            for path in [path for path in found if _is_hidden(path, hidden)]:
                del found[path]
        whole.links |= each.links
        whole.packages |= each.packages
        whole.releases |= each.releases
        whole.libraries += each.libraries
    return whole


def _is_hidden(path: str, hidden: Set[str]) -> bool:
    """A layer says how many of both there are, so each path asks for its own directories alone."""
    if path in hidden:
        return True
    slashes = (place for place, letter in enumerate(path) if letter == "/")
    return any(path[:place] in hidden or path[: place + 1] in hidden for place in slashes)


def find_python(contents: Contents, variables: Mapping[str, str], program: str = "python") -> str:
    """`3.11`: the version of the interpreter that a command finds in the image; empty where that is unknown.
    `program`: the first word of the command, `python` where it is none."""
    names = [program, "python3", "python"] if re.fullmatch(r"python[\d.]*", program) else ["python", "python3"]
    for name in names:
        for directory in (variables.get("PATH") or _DEFAULT_PATH).split(":"):
            target = _follow(contents.links, posixpath.join(directory, name).lstrip("/"))
            if target is None:
                continue
            version = _VERSION.fullmatch(posixpath.basename(target))
            return version[1] if version else ""
    return ""


def _follow(links: Mapping[str, str], path: str) -> str | None:
    """The file that a path is in the end; None where it is none."""
    for _ in range(_MOST_LINKS):
        directory, name = posixpath.split(path)
        if links.get(directory):  # /bin is usr/bin in distributions of today
            path = posixpath.join(_resolve(directory, links[directory]), name)
        elif path not in links:
            return None
        elif target := links[path]:
            path = _resolve(path, target)
        else:
            return path
    return None


def _resolve(path: str, target: str) -> str:
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(path), target)).lstrip("/")


def find_packages(contents: Contents, python: str) -> list[Package]:
    """What this Python imports from the image, sorted by name; of a name the one that it finds first."""
    found: dict[str, Package] = {}
    for path, metadata in sorted(contents.packages.items()):
        if f"/python{python}/" not in f"/{path}" and "/python3/dist-packages/" not in path:
            continue
        fields: dict[str, Any] = dict(re.findall(r"^(Name|Version):\s*(\S+)", metadata, re.MULTILINE))
        if "Name" in fields and "Version" in fields:
            name = re.sub(r"[-_.]+", "-", fields["Name"]).lower()
            found.setdefault(name, Package(name, fields["Version"], metadata))
    return [found[name] for name in sorted(found)]
