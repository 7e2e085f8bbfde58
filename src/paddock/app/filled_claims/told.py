"""What a pod that fills a claim has printed: how far it is, and why it failed, in one sentence. Pure.

The tables fit uv 0.5 to 0.13 and pip 20 to 26. Addresses in sentences are cut to scheme and host, as they may contain
passwords.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paddock.environments.failures import redact
from paddock.environments.resolving.causes import error_line, read_cause
from paddock.environments.resolving.conclusions import read_no_version
from paddock.environments.resolving.wheels import join_lines
from paddock.kube.quantities import format_bytes
from paddock.words.phrases import Foreign, Names, Phrase, counted, phrase

MARK = "paddock-fill "
_LONGEST, _COLUMNS = 300, 120
_MOST_VERSIONS = 6


@dataclass(frozen=True, slots=True)
class Told:
    """What its lines say."""

    step: Mapping[str, Any] = field(default_factory=dict)
    """The last one that it began."""
    filled: Mapping[str, Any] | None = None
    failed: Mapping[str, Any] | None = None
    output: str = ""
    """What uv or pip printed."""


def read_told(log: str) -> Told:
    """Lines that are cut at the beginning of the log are what uv or pip printed."""
    told: dict[str, Any] = {}
    output = []
    for line in log.splitlines():
        found = _read_line(line)
        if found is None:
            output.append(line)
            continue
        if "step" in found:
            told["step"] = found
        for name in ("filled", "failed"):
            if isinstance(found.get(name), dict):
                told[name] = found[name]
    return Told(**told, output="\n".join(output))


def _read_line(line: str) -> dict[str, Any] | None:
    if not line.startswith(MARK):
        return None
    try:
        found = json.loads(line[len(MARK) :])
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def explain_step(told: Told) -> Phrase:
    """How far it is: `pip: Downloading numpy-2.1.0-…whl (16.3 MB)`."""
    tool = str(told.step.get("tool") or "")
    last = next((line.strip() for line in reversed(told.output.splitlines()) if line.strip()), "")
    if tool and last:
        return phrase("{tool}: {line}", tool=tool, line=redact(last)[:_COLUMNS])
    return phrase("{tool} has begun", tool=tool) if tool else phrase("its program has begun")


def explain_filled(report: Mapping[str, Any], size: str) -> Phrase:
    """What is in a claim of packages."""
    return counted(
        "{count} package over those of the image (Python {python}), {bytes} of {size}",
        "{count} packages over those of the image (Python {python}), {bytes} of {size}",
        count=int(report.get("packages") or 0), python=str(report.get("python") or "?"),
        bytes=format_bytes(int(report.get("bytes") or 0)), size=size,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed, for its sentence."""

    told: Told
    image: str
    size: str
    """Of the claim."""
    file: str
    """The requirements file, as typed."""

    @property
    def python(self) -> str:
        return str((self.told.failed or {}).get("python") or "?")


def explain_failed(failure: Failure) -> Phrase:
    """Whose fault it is, what was found, what to do next."""
    failed = failure.told.failed or {}
    reason = str(failed.get("reason") or "")
    if reason == "full" and failed.get("where") == "node":
        return phrase("the node's own disk, on which {image} unpacks packages, is full", image=failure.image)
    if reason == "full":
        return _full(failure)
    if reason == "os":
        return phrase(
            "{file} cannot be written: {why}. The pod runs as the job's pods do: runAsUser and fsGroup of their "
            "securityContext decide who may write",
            file=str(failed.get("file") or ""), why=Foreign(str(failed.get("why") or "")),
        )  # fmt: skip
    if reason == "no-venv":
        return phrase("the Python of the image {image} has no module venv: install python3-venv in it, or name another "
                      "image", image=failure.image)  # fmt: skip
    if reason == "no-installer":
        return phrase("the image {image} has neither uv nor pip: name one that has, with --image", image=failure.image)
    if reason == "cut":
        return phrase("what came was cut or changed on its way: type the command again")
    if reason == "nothing-came":
        return phrase("nothing was sent into the claim in half an hour: type the command again")
    if reason == "tool":
        return _explain_tool(failure)
    return phrase("{why}", why=Foreign(error_line(failure.told.output)))


def _explain_tool(failure: Failure) -> Phrase:
    output = failure.told.output
    for pattern, sentence in _SENTENCES:
        if re.search(pattern, output, re.IGNORECASE):
            return sentence(failure)
    why = redact(read_cause(output) if "error:" in output or "×" in output else _last_error(output))
    tool = str((failure.told.failed or {}).get("tool") or "")
    return phrase("{tool} failed: {why}", tool=tool, why=Foreign(why[:_LONGEST]))


def _last_error(output: str) -> str:
    """pip's last `ERROR: `; else the last line."""
    errors = re.findall(r"^ERROR: (.+)$", output, re.MULTILINE)
    return str(errors[-1]).rstrip(".") if errors else error_line(output)


def _full(failure: Failure) -> Phrase:
    return phrase(
        "the claim, {size}, is full: type the command again with more, as in --storage {more}",
        size=failure.size, more=_double(failure.size),
    )  # fmt: skip


def _double(size: str) -> str:
    found = re.match(r"(\d+)(.*)", size)
    return f"{int(found[1]) * 2}{found[2]}" if found else "20Gi"


def _network(failure: Failure) -> Phrase:
    host = re.search(r"(?:https?://(?:[^\s/]*@)?|\bhost=')([^\s/)`'\"]+)", failure.told.output)
    return phrase(
        "pods of the cluster do not reach the package index {host}: name one that they reach, with --env "
        "PIP_INDEX_URL=URL or a line --index-url in {file}, or use an image that has the packages",
        host=host[1] if host else "", file=failure.file,
    )  # fmt: skip


def _unauthorized(failure: Failure) -> Phrase:
    return phrase("the package index refused access: its user name and password belong into a Secret, which the "
                  "container of a manifest names in PIP_INDEX_URL (valueFrom)")  # fmt: skip


def _no_package(failure: Failure) -> Phrase:
    output = join_lines(failure.told.output)
    found = re.search(r"Because (\S+) was not found in the package registry", output) or re.search(
        r"No matching distribution found for ([A-Za-z0-9._-]+)", output
    )
    return phrase(
        "the package index that pods of the cluster use does not have {package}: check its name in {file}, or name "
        "another index there (--index-url)",
        package=found[1] if found else "?", file=failure.file,
    )  # fmt: skip


def _other_versions(failure: Failure) -> Phrase:
    """pip lists the versions that have a wheel for its Python and platform, or a source."""
    found = re.search(_OF_PIP, failure.told.output)
    assert found is not None, "the row's pattern"
    versions = [each.strip() for each in found[2].split(",") if each.strip() and each.strip() != "none"]
    if not versions:  # pip says the same of a name that is not there and of one without a wheel
        return phrase(
            "the package index that pods of the cluster use has no {package} for Python {python} and the platform of "
            "the image {image}: check its name in {file}, or name another index there (--index-url)",
            package=redact(found[1]), python=failure.python, image=failure.image, file=failure.file,
        )  # fmt: skip
    return phrase(
        "{package} is not in the package index that pods of the cluster use; for Python {python} of the image {image} "
        "it has {versions}. Change it in {file}, or name an image with another Python",
        package=redact(found[1]), python=failure.python, image=failure.image, file=failure.file,
        versions=Names(tuple(versions[-_MOST_VERSIONS:]), most=_MOST_VERSIONS),
    )  # fmt: skip


def _no_version(failure: Failure) -> Phrase:
    lacking = read_no_version(read_cause(failure.told.output))
    if lacking is None:
        return _conflict(failure)
    if not lacking.there:
        return phrase("there is no {package} in the package index that pods of the cluster use: change it in {file}",
                      package=lacking.wanted, file=failure.file)  # fmt: skip
    return phrase(
        "there is no {package} in the package index that pods of the cluster use, only {others}: change it in {file}",
        package=lacking.wanted, others=Names(tuple(lacking.there), "or"), file=failure.file,
    )  # fmt: skip


def _no_wheel(failure: Failure) -> Phrase:
    output = join_lines(failure.told.output)
    found = re.search(r"wheels for `([^`]+)` \(v([^)]+)\)", output) or re.search(
        r"available for `([^`]+)` \(v([^)]+)\)", output
    )
    what = f"{found[1]} {found[2]}" if found else ""
    return phrase(
        "{package} has no wheel for Python {python} and the platform of the image {image}: choose another version in "
        "{file}, or an image with another Python",
        package=what or Foreign(redact(read_cause(failure.told.output))[:_LONGEST]), python=failure.python,
        image=failure.image, file=failure.file,
    )  # fmt: skip


def _not_built(failure: Failure) -> Phrase:
    output = failure.told.output
    found = (
        re.search(r"Failed to (?:build|download and build)[: ]*`([^`]+)`", output)
        or re.search(r"ERROR: Failed building wheel for (\S+)", output)
        or re.search(r"ERROR: Failed to build '?([A-Za-z0-9._-]+)'?", output)
        or re.search(r"Could not build wheels for ([^\s,]+)", output)
        or next(reversed([*re.finditer(r"Collecting (\S+)", output)]), None)
    )
    return phrase(
        "{package} has no wheel for Python {python}, and does not build in the image {image}: choose a version that "
        "has a wheel, in {file}",
        package=redact(found[1]) if found else "?", python=failure.python, image=failure.image, file=failure.file,
    )  # fmt: skip


def _conflict(failure: Failure) -> Phrase:
    output = failure.told.output
    found = re.search(r"Cannot install (.+?) because these package versions have conflicting dependencies", output)
    why = found[1] if found else read_cause(output)
    return phrase("{file} asks for what excludes each other: {why}", file=failure.file,
                  why=Foreign(redact(why)[:_LONGEST]))  # fmt: skip


_OF_PIP = (
    r"Could not find a version that satisfies the requirement (.+?)(?: \(from [^v][^)]*\))? \(from versions: ([^)]*)\)"
)
_Sentence = Callable[[Failure], Phrase]
_SENTENCES: Sequence[tuple[str, _Sentence]] = (
    (r"No space left on device|Disk quota exceeded|os error 28", _full),
    (
        r"The build backend returned an error|Build backend failed|subprocess-exited-with-error|Failed building wheel|"
        r"metadata-generation-failed",
        _not_built,
    ),
    (r"401 (?:Unauthorized|Client Error|Error)|403 (?:Forbidden|Client Error|Error)|status code 40[13]", _unauthorized),
    (
        r"matching Python ABI tag|matching Python implementation tag|matching Python version tag|matching platform tag|"
        r"is not a supported wheel on this platform",
        _no_wheel,
    ),
    (r"ResolutionImpossible|conflicting dependencies", _conflict),
    # before that of the package: pip tells of a name that no server has as of a package without versions
    (
        r"Temporary failure in name resolution|Name or service not known|NewConnectionError|Connection refused|"
        r"ConnectTimeout|dns error|failed to lookup address|error sending request|Network is unreachable|"
        r"No route to host|tcp connect error|ProxyError|timed out",
        _network,
    ),
    (_OF_PIP, _other_versions),
    (r"not found in the package registry|No matching distribution found", _no_package),
    (r"No solution found|unsatisfiable", _no_version),
)
