"""Why packages cannot be had for an image: uv's output as one sentence. Pure.

What is the same for every installation (an index that does not answer, a full disk) is said by `environments.failures`.
Patterns fit uv 0.5 to 0.13; URLs are cut to scheme and host.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from paddock.environments.failures import redact
from paddock.environments.resolving.causes import read_cause
from paddock.environments.resolving.conclusions import read_conflict, read_no_version
from paddock.environments.resolving.wheels import join_lines, platform_name, read_minors
from paddock.images.platforms import Wheels
from paddock.words.phrases import Foreign, Names, Phrase, phrase

_NO_WHEEL = re.compile(
    r"Because (?:only )?(?P<name>[\w.-]+)(?P<version>[=<>!~][^\s,]*)? has no usable wheels"
    r"|Wheels are required for `(?P<hinted>[\w.-]+)`"
    r"|Building source distributions for `(?P<source>[\w.-]+)` is disabled"
)
_NOT_FOUND = re.compile(r"Because (\S+) was not found in the (?:package registry|provided package locations)")


def explain_packages(
    output: str, file: str, packages: Sequence[str], python: str, wheels: Wheels, otherwise: str
) -> Phrase:
    """The sentence. `packages`: the requirements of the file; `otherwise`: that of `environments.failures` for
    the same output."""
    text = join_lines(output)
    tags = "matching platform tag" in text, bool(re.search(r"matching Python (ABI|implementation|version) tag", text))
    if any(tags) or _NO_WHEEL.search(text):
        return _no_wheel(text, file, python, wheels)
    if found := _NOT_FOUND.search(text):
        return phrase("{file}: no package index here has {package}: check the name, or --index-url in the file",
                      file=file, package=found[1])  # fmt: skip
    cause = read_cause(output)
    if lacking := read_no_version(cause):
        if lacking.there:
            return phrase("{file} asks for {package}, and there is only {others}: change the version",
                          file=file, package=lacking.wanted, others=" or ".join(lacking.there))  # fmt: skip
        return phrase("{file} asks for {package}, and there is none for Python {version}: change the version",
                      file=file, package=lacking.wanted, version=python)  # fmt: skip
    if conflict := read_conflict(cause, packages):
        why = "; ".join(f"{who} depends on {what}" for who, what in conflict.why)
        return phrase("{file}: change one of {packages}: they exclude each other{why}", file=file,
                      packages=Names(conflict.wanted), why=f" ({why})" if why else "")  # fmt: skip
    if re.search(r"No solution found|unsatisfiable", text):
        return phrase("{file} cannot be met for Python {version} on {platform}: {why}", file=file, version=python,
                      platform=str(wheels), why=Foreign(redact(cause)))  # fmt: skip
    return phrase("{file}: {why}", file=file, why=Foreign(otherwise))


def _no_wheel(text: str, file: str, python: str, wheels: Wheels) -> Phrase:
    found = re.search(r"(?:wheels|available) for `([^`]+)` \(v([^)]+)\)", text)
    match = _NO_WHEEL.search(text)
    if found:
        package = f"{found[1]} {found[2]}"
    elif match is not None:
        version = re.sub(r"^==", " ", match["version"] or "")
        package = f"{match['name'] or match['hinted'] or match['source']}{version}"
    else:
        package = file
    return phrase(
        "{file}: {package} has no wheel for Python {version} on {platform}{others}, and nothing is compiled here for "
        "other machines: choose a version that has one, or a base image that has the package",
        file=file, package=package, version=python, platform=str(wheels), others=_name_others(text),
    )  # fmt: skip


def _name_others(text: str) -> Phrase | str:
    """` (it has for Linux x86_64)`, where uv tells."""
    minors = read_minors(text)
    if minors:
        return phrase(" (it has for Python {others})", others=", ".join(f"3.{minor}" for minor in minors))
    listed = re.search(r"on the following platforms?: (.*)", text)
    names = dict.fromkeys(str(platform_name(tag)) for tag in re.findall(r"`([^`]+)`", listed[1])) if listed else {}
    return phrase(" (it has for {others})", others=", ".join(names)) if names else ""
