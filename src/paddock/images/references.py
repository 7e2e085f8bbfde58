"""The name of an image, as Docker reads it. Pure.

Source of the grammar: distribution/reference, "Grammar". A first part with a dot, a colon or of the word `localhost` is
a registry; without one the image is Docker Hub's, and one word alone lies in its `library`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address

from paddock.words.phrases import Phrase, phrase

DOCKER_HUB = "docker.io"
_HOST = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)*|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?"
)
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_NAME = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a registry keeps the versions of one image."""

    host: str
    """With its port where one is named: `registry.example.com:5000`."""
    name: str
    """`team/mnist`."""
    scheme: str = ""
    """`http` or `https` where that was said; else it is found out (`is_loopback`)."""

    def __str__(self) -> str:
        return f"{self.host}/{self.name}"


@dataclass(frozen=True, slots=True)
class Reference:
    """One version of an image."""

    repository: Repository
    tag: str = ""
    """Empty where a digest or nothing is named: then `latest`."""
    digest: str = ""
    """`sha256:…`; it counts before the tag."""

    @property
    def version(self) -> str:
        return self.digest or self.tag or "latest"

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}{'@' if self.digest else ''}{self.digest}"


def read_reference(text: str) -> Reference | Phrase:
    """The image of this name, or what is wrong with the name."""
    named, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        return _explain(text, phrase("behind @ a digest is wanted: sha256: and 64 hexadecimal digits"))
    path, _, tag = named.rpartition(":") if ":" in named.rpartition("/")[2] else (named, "", "")
    if tag and not _TAG.fullmatch(tag):
        return _explain(text, phrase("a tag has letters, digits and . _ -, at most 128 of them"))
    if named.endswith(":"):
        return _explain(text, phrase("behind : a tag is wanted"))
    host, name = _split(path)
    if problem := _explain_name(host, name):
        return _explain(text, problem)
    return Reference(Repository(host, name), tag, digest)


def _split(path: str) -> tuple[str, str]:
    """The registry, and the name in it."""
    first, slash, rest = path.partition("/")
    if slash and (re.search(r"[.:\[]", first) or first == "localhost" or first != first.lower()):
        host = DOCKER_HUB if first in ("index.docker.io", "registry-1.docker.io") else first
        return host, rest if host != DOCKER_HUB or "/" in rest else f"library/{rest}"
    return DOCKER_HUB, path if slash else f"library/{path}"


def _explain_name(host: str, name: str) -> Phrase | None:
    if not _HOST.fullmatch(host):
        return phrase("{host} is no address of a registry", host=host)
    if _NAME.fullmatch(name) and len(name) <= _LONGEST_NAME:
        return None
    if name != name.lower() and _NAME.fullmatch(name.lower()):
        return phrase("names of images have no capital letters: did you mean {name}?", name=name.lower())
    return phrase("a name has small letters and digits, with . _ - between them and / between its parts")


def _explain(text: str, why: Phrase) -> Phrase:
    return phrase("{image} is no name of an image: {why}", image=text or "''", why=why)


def read_target(text: str) -> Reference | Phrase:
    """The value of --push: a repository, with or without a tag, or what is wrong with it. `http://` or `https://`
    before it says how the registry is spoken to."""
    scheme, separator, rest = text.partition("://")
    if separator and scheme not in ("http", "https"):
        return phrase(
            "--push {image}: a registry is spoken to by https:// or http://, or without such a beginning", image=text
        )
    read = read_reference(rest if separator else text)
    if isinstance(read, Phrase):
        return phrase("--push: {problem}", problem=read)
    if read.digest:
        return phrase("--push {image}: the digest is what is computed: leave @{digest} out", image=text,
                      digest=read.digest)  # fmt: skip
    if read.repository.host == DOCKER_HUB and read.repository.name.startswith("library/"):
        example = _complete(text, rest if separator else text, read)
        return phrase("--push {image}: a registry and a name in it are wanted, as in {example}", image=text,
                      example=example)  # fmt: skip
    repository = read.repository
    return Reference(Repository(repository.host, repository.name, scheme if separator else ""), read.tag)


def _complete(text: str, named: str, read: Reference) -> str:
    """What may have been meant by one word, `named`: the registry, or the name in one."""
    word = read.repository.name.removeprefix("library/")
    if "/" not in named and ("." in word or word == "localhost"):
        return f"{text}/team/mnist"
    host = DOCKER_HUB if "/" in named else "registry.example.com"
    return f"{host}/team/{word}{':' if read.tag else ''}{read.tag}"


def is_loopback(host: str) -> bool:
    """Whether the registry is of this machine, to which plain HTTP is spoken where it has no TLS, as Docker does.
    `host`: with a port, or without."""
    name = host.rpartition(":")[0] if re.search(r"[^:]:\d+$", host) else host
    if name == "localhost":
        return True
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
