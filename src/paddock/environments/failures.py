"""uv's errors as sentences: whose fault, what was found, what to do next. Pure.

One ordered table; the first row that matches speaks. Texts are those of uv 0.5 to 0.13. No URL leaves this module with
more than its host, as index URLs carry passwords and tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paddock.environments.definition import Definition, requirement_name
from paddock.environments.pythons import Python


class BuildFailed(Exception):
    """An environment cannot be built as things are. `message` is one complete sentence for people."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed: the output of the tool, and what it was asked to do."""

    output: str
    definition: Definition
    python: Python
    cache: str

    @property
    def requirements(self) -> str:
        return ", ".join(self.definition.requirements)


def explain_failure(failure: Failure) -> str:
    """The sentence for the output of a failed uv."""
    for pattern, sentence in _SENTENCES:
        if re.search(pattern, failure.output, re.IGNORECASE):
            return redact(sentence(failure))
    return redact(f"building {failure.definition.subject} failed: {_error_line(failure.output)}")


def explain_check(output: str, definition: Definition) -> str:
    """The sentence for a `verify` snippet that failed in a freshly built environment: its last line says why."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return redact(
        f"{definition.subject} was installed but does not pass the environment's check (spec.verify): "
        f"{lines[-1] if lines else 'it ended without a word'}"
    )


def explain_no_time(definition: Definition, limit: float) -> str:
    """The sentence for a `verify` snippet that does not end."""
    return f"{definition.subject} was installed, but the check (spec.verify) had not ended after {limit:.0f} s"


def explain_os_error(error: OSError, cache: str) -> str:
    """Our own writing failed: a full disk, a home that is not writable."""
    if error.errno in (28, 122):  # ENOSPC, EDQUOT
        return _disk_full(cache)
    return (
        f"cannot write {error.filename or cache}: {error.strerror or error}; environments are kept under {cache}: make "
        "it writable, or set XDG_CACHE_HOME to a directory that is"
    )


def redact(text: str) -> str:
    """URLs cut down to scheme and host."""
    return re.sub(r"\b([a-z][a-z0-9+.-]*)://(?:[^\s/@`'\"]*@)?([^\s/`'\")]*)[^\s`'\")]*", r"\1://\2", text)


def _disk_full(cache: str) -> str:
    return f"the disk is full: free some space where {cache} is, or set XDG_CACHE_HOME to a directory with more"


def _network(failure: Failure) -> str:
    host = re.search(r"https?://(?:[^\s/@]*@)?([^\s/)`]+)", failure.output)
    where = f" ({host[1]})" if host else ""
    return (
        f"the package index did not answer{where}: check the network, or set UV_DEFAULT_INDEX or PIP_INDEX_URL to an "
        "index that can be reached from here"
    )


def _certificate(failure: Failure) -> str:
    return (
        "the package index's certificate is not trusted here: set PIP_CERT or SSL_CERT_FILE to a file with your "
        "organisation's certificates"
    )


def _refused(failure: Failure) -> str:
    return (
        "the package index refused access: check the user name and password in its URL (UV_DEFAULT_INDEX, "
        "PIP_INDEX_URL), in ~/.netrc, or in the Environment's spec.indexURL"
    )


def _offline(failure: Failure) -> str:
    return f"uv works offline here and has not all of {failure.requirements}: unset UV_OFFLINE for the first build"


def _no_wheel(failure: Failure) -> str:
    """uv names the Pythons that the version has wheels for."""
    output = _flat(failure.output)
    tags = re.search(r"following Python ABI tags?: (.*)", output)
    minors = sorted({int(minor) for minor in re.findall(r"`cp3(\d+)", tags[1])}) if tags else []
    package = re.search(r"wheels for `([^`]+)` \(v([^)]+)\)", output)
    subject = f"{package[1]} {package[2]}" if package else failure.definition.subject
    current = failure.python.version[1]
    if minors and not minors[0] <= current <= minors[-1]:
        kind = "new" if current > minors[-1] else "old"
        allowed = f"Python 3.{minors[0]} to 3.{minors[-1]}"
        return f"Python {failure.python.short} is too {kind} for {subject}: install {allowed}"
    others = f" (it has for {', '.join(f'3.{minor}' for minor in minors)})" if minors else ""
    return f"{subject} has no wheel for Python {failure.python.short}{others}: install another Python"


def _no_platform(failure: Failure) -> str:
    return f"{failure.definition.subject} has no wheel for this machine's platform: {_cause(failure.output)}"


def _no_package(failure: Failure) -> str:
    name = re.search(r"Because (\S+) was not found in the package registry", _flat(failure.output))
    found = name[1] if name else requirement_name(failure.definition.requirements[0])
    return f"spec.requirements: no package index here has {found}: check the name, or set spec.indexURL"


def _unsatisfiable(failure: Failure) -> str:
    return f"spec.requirements ({failure.requirements}) cannot be met: {_cause(failure.output)}"


def _no_requirement(failure: Failure) -> str:
    return (
        f"spec.requirements: not a requirement: {_cause(failure.output)}; found {failure.requirements}, "
        "wanted the form name==1.2 or name>=1,<2"
    )


def _not_writable(failure: Failure) -> str:
    return (
        f"permission denied: {_error_line(failure.output)}; make {failure.cache} and uv's cache (UV_CACHE_DIR) "
        "writable, or set XDG_CACHE_HOME to a directory that is"
    )


_Sentence = Callable[[Failure], str]
_SENTENCES: Sequence[tuple[str, _Sentence]] = (
    (r"No space left on device|Disk quota exceeded", lambda failure: _disk_full(failure.cache)),
    (r"Permission denied|Read-only file system", _not_writable),
    (r"network was disabled|network connectivity is disabled", _offline),
    (r"invalid peer certificate|UnknownIssuer|certificate verify failed|self.signed certificate", _certificate),
    (r"40[137] (Unauthorized|Forbidden|Proxy)|status code 40[137]|returned a 40[13]", _refused),
    (
        r"dns error|Connection refused|Connection reset|timed out|timeout|Network is unreachable|No route to host|"
        r"error sending request|tcp connect error|failed to lookup address|5\d\d (Bad|Service|Gateway|Internal)",
        _network,
    ),
    (r"matching Python ABI tag|matching Python implementation tag|matching Python version tag", _no_wheel),
    (r"matching platform tag", _no_platform),
    (r"not found in the package registry", _no_package),
    (r"Couldn't parse requirement|Failed to parse:|expected one of .*(version|operator)", _no_requirement),
    (r"No solution found|unsatisfiable", _unsatisfiable),
)


def _flat(output: str) -> str:
    return re.sub(r"\s*\n\s*", " ", output)


_CAUSE = re.compile(
    r"(?:cause:|Caused by:|╰─▶|├─▶)\s*(.+?)(?=\s*(?:\n\s*\n|\n\s*(?:cause|hint):|\n\s*\^|\Z))", re.DOTALL
)


def _cause(output: str) -> str:
    """The first cause under uv's error: `cause:` since 0.13, a tree of branches before."""
    match = _CAUSE.search(output)
    if match is None:
        return _error_line(output)
    return " ".join(re.sub(r"\n[ │╰├─▶]*", " ", match[1]).split()).rstrip(".")


def _error_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(error|×|x )", line)]
    chosen = errors[-1] if errors else lines[-1] if lines else "it ended without a word"
    return re.sub(r"^(error:|×)\s*", "", chosen).rstrip(".")[:300]
