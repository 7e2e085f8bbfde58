"""uv's errors as sentences: whose fault, what was found, what to do next. Pure.

One ordered table; the first matching row gives the sentence. The patterns fit uv 0.5 to 0.13. URLs in sentences are cut
to scheme and host, as index URLs contain passwords and tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from paddock.environments.definition import Definition
from paddock.environments.distributions import COMPILER
from paddock.environments.packages.torch import PYTORCH_INDEX
from paddock.environments.pythons import Python, explain_range
from paddock.environments.requirements import explain_requirement, requirement_name
from paddock.environments.resolving.causes import error_line, read_cause
from paddock.environments.resolving.conclusions import NoVersion, read_conflict, read_no_version
from paddock.environments.resolving.wheels import join_lines, platform_name, read_allowed_pythons, read_minors


class Fault(Enum):
    """What a failure depends on, which decides when to retry."""

    # A network error is retried at once, a few times; then it is treated like MACHINE.
    NETWORK = "network"
    # Disk, rights, interpreters, libraries, settings: a new job retries, as its user may have fixed them.
    MACHINE = "machine"
    # The same definition fails again: no retry until it, or the circumstances of the build, change.
    DEFINITION = "definition"


class BuildFailed(Exception):
    """The build of an environment failed. `message` is one complete sentence for the user.

    `pythons`: if the interpreter is the problem, the specifier of those that the packages have wheels for. `tries`: the
    number of tries made.
    """

    def __init__(self, message: str, fault: Fault = Fault.DEFINITION, pythons: str = "", tries: int = 1) -> None:
        super().__init__(message)
        self.message, self.fault, self.pythons, self.tries = message, fault, pythons, tries


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed run of uv: its output and its input. `explain_install`: how this machine gets a thing of
    `environments.distributions`, as in `run `apt-get …``; empty where that is not known."""

    output: str
    definition: Definition
    python: Python
    cache: str
    explain_install: Callable[[str], str] = lambda thing: ""

    @property
    def requirements(self) -> str:
        return ", ".join(self.definition.requirements)


def read_failure(failure: Failure) -> BuildFailed:
    """The error that the output of a failed uv means."""
    for pattern, fault, sentence in _SENTENCES:
        if re.search(pattern, failure.output, re.IGNORECASE):
            pythons = read_allowed_pythons(failure.output) if sentence in (_no_wheel, _unsatisfiable) else ""
            return BuildFailed(redact(sentence(failure)), fault, pythons)
    said = f"building {failure.definition.subject} failed: {error_line(failure.output)}"
    return BuildFailed(redact(said), Fault.DEFINITION)


def explain_tries(tries: int) -> str:
    """The suffix of a network error's sentence; empty for one try."""
    return f" (tried {tries} times)" if tries > 1 else ""


def explain_check(output: str, definition: Definition) -> str:
    """The sentence for a `verify` snippet that failed in a new environment: the reason is its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return redact(
        f"{definition.subject} was installed but does not pass the environment's check (spec.verify): "
        f"{lines[-1] if lines else 'it ended without a word'}"
    )


def explain_check_timeout(definition: Definition, limit: float) -> str:
    """The sentence for a `verify` snippet that exceeded its `limit` in seconds."""
    return f"{definition.subject} was installed, but the check (spec.verify) had not ended after {limit:.0f} s"


def explain_os_error(error: OSError, cache: str) -> str:
    """The sentence for a failed write of Paddock itself: a full disk, a directory that is not writable."""
    if error.errno in (28, 122):  # ENOSPC, EDQUOT
        return _disk_full(cache)
    return (
        f"cannot write {error.filename or cache}: {error.strerror or error}; environments are kept under {cache}: make "
        "it writable, or set XDG_CACHE_HOME to a directory that is"
    )


def redact(text: str) -> str:
    """The text with its URLs cut to scheme and host."""
    return re.sub(r"\b([a-z][a-z0-9+.-]*)://(?:[^\s/`'\"]*@)?([^\s/`'\")]*)[^\s`'\")]*", r"\1://\2", text)


def _disk_full(cache: str) -> str:
    return f"the disk is full: free some space where {cache} is, or set XDG_CACHE_HOME to a directory with more"


def _proxy(failure: Failure) -> str:
    return (
        "the proxy does not let the package index through: check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or the proxy "
        "of pip's settings (`pip config list`)"
    )


def _network(failure: Failure) -> str:
    host = re.search(r"https?://(?:[^\s/]*@)?([^\s/)`]+)", failure.output)
    where = f" ({host[1]})" if host else ""
    if host and host[1] == PYTORCH_INDEX:
        return (
            f"{PYTORCH_INDEX}, which has the build {failure.definition.torch_backend or 'of UV_TORCH_BACKEND'} of "
            "PyTorch, did not answer: check the network, or ask for what the package index has: "
            f"`paddock env update {failure.definition.name} --torch-backend default`"
        )
    if failure.definition.index_url:
        return f"the package index of spec.indexURL{where} did not answer: check the network, and the URL"
    return (
        f"the package index did not answer{where}: check the network, or set UV_DEFAULT_INDEX or PIP_INDEX_URL to an "
        "index that can be reached from here"
    )


def _certificate(failure: Failure) -> str:
    return (
        "the package index's certificate is not trusted here: set PIP_CERT or SSL_CERT_FILE to a file with your "
        "organisation's certificates"
    )


def _unauthorized(failure: Failure) -> str:
    return (
        "the package index refused access: check the user name and password in its URL (UV_DEFAULT_INDEX, "
        "PIP_INDEX_URL), in ~/.netrc, or in the Environment's spec.indexURL"
    )


def _offline(failure: Failure) -> str:
    return f"uv works offline here and has not all of {failure.requirements}: unset UV_OFFLINE for the first build"


def _no_wheel(failure: Failure) -> str:
    """uv's error names the Pythons that the version has wheels for."""
    output = join_lines(failure.output)
    minors = read_minors(output)
    package = re.search(r"wheels for `([^`]+)` \(v([^)]+)\)", output)
    subject = f"{package[1]} {package[2]}" if package else failure.definition.subject
    current = failure.python.version[1]
    if minors and not minors[0] <= current <= minors[-1]:
        kind = "new" if current > minors[-1] else "old"
        allowed = explain_range(f">=3.{minors[0]},<3.{minors[-1] + 1}")
        return f"Python {failure.python.short} is too {kind} for {subject}: install {allowed}"
    others = f" (it has for {', '.join(f'3.{minor}' for minor in minors)})" if minors else ""
    return f"{subject} has no wheel for Python {failure.python.short}{others}: install another Python"


def _no_platform(failure: Failure) -> str:
    """uv's error names this machine's platform and those that the version has wheels for."""
    output = join_lines(failure.output)
    wanted = re.search(r"matching platform tag \(e\.g\., `([^`]+)`\)", output)
    listed = re.search(r"available for `([^`]+)`(?: \(v([^)]+)\))? on the following platforms?: (.*)", output)
    if wanted is None or listed is None:
        return f"{failure.definition.subject} has no wheel for this machine's platform: {read_cause(failure.output)}"
    there = dict.fromkeys(platform_name(tag) for tag in re.findall(r"`([^`]+)`", listed[3]))
    here = platform_name(wanted[1])
    cure = "a distribution with glibc (Debian, Ubuntu, Fedora)" if "musl" in here else "one of these machines"
    subject = f"{listed[1]} {listed[2]}" if listed[2] else listed[1]
    return f"{subject} has no wheel for {here}: it has wheels for {', '.join(there)}; use {cure}"


def _no_package(failure: Failure) -> str:
    name = re.search(r"Because (\S+) was not found in the package registry", join_lines(failure.output))
    found = name[1] if name else requirement_name(failure.definition.requirements[0])
    if failure.definition.index_url:
        return (
            f"spec.requirements: the package index of spec.indexURL does not have {found}: check the name, and the URL"
        )
    return f"spec.requirements: no package index here has {found}: check the name, or set spec.indexURL"


def _unsatisfiable(failure: Failure) -> str:
    cause = read_cause(failure.output)
    if lacking := read_no_version(cause):
        return _no_version(failure, lacking)
    if conflict := read_conflict(cause, failure.definition.requirements):
        *first, last = conflict.wanted
        packages = f"{', '.join(first)} and {last}"
        why = "; ".join(f"{who} depends on {what}" for who, what in conflict.why)
        said = f"spec.requirements: {packages} exclude each other"
        return f"{said} ({why}): change one of them" if why else f"{said}: change one of them"
    return f"spec.requirements ({failure.requirements}) cannot be met: {cause}"


def _no_version(failure: Failure, lacking: NoVersion) -> str:
    said = f"spec.requirements: there is no {lacking.wanted}"
    if lacking.there:
        return f"{said}, only {' or '.join(lacking.there)}: change the version"
    if failure.definition.index_url:  # pip would ask another index, and the URL may hold a password
        return f"{said} in the package index of spec.indexURL: change the version"
    return f"{said}: change the version; `pip index versions {lacking.name}` lists those that exist"


def _confused(failure: Failure) -> str:
    found = re.search(_CONFUSED, join_lines(failure.output))
    assert found is not None, "the row's pattern is a part of this one"
    return f"spec.requirements: {found[1]} is not what you mean: write {found[2]}"


def _no_compiler(failure: Failure) -> str:
    install = failure.explain_install(COMPILER) or "install one"
    return f"{_unbuilt(failure)} has to be compiled, and this machine has no compiler: {install}"


def _no_header(failure: Failure) -> str:
    header = re.search(_HEADER, failure.output)
    missing = header[1] if header else "a header"
    if install := _explain_known(failure, missing):
        return _not_compiled(failure, missing, install)
    return (
        f"{_unbuilt(failure)} does not compile: {missing} is missing; choose a version that has a wheel, or install "
        "the development package that has this file"
    )


def _no_git(failure: Failure) -> str:
    install = failure.explain_install("git") or "install it"
    return f"the program git, which fetches {_of_repositories(failure)}, is missing: {install}"


def _no_repository(failure: Failure) -> str:
    host = re.search(r"https?://(?:[^\s/]*@)?([^\s/)`']+)", failure.output)
    where = host[1] if host else "its server"
    return f"git did not reach {where}, which has {_of_repositories(failure)}: check the network, and the URL"


def _of_repositories(failure: Failure) -> str:
    """The packages that come from repositories."""
    return ", ".join(requirement_name(each) for each in failure.definition.requirements if "git+" in each)


def _no_program(failure: Failure) -> str:
    """A program or a library that a build script looks for and names in words of its own."""
    thing = next(thing for pattern, thing in _LOOKED_FOR if re.search(pattern, failure.output, re.IGNORECASE))
    install = _explain_known(failure, thing) or f"install {thing}"
    return _not_compiled(failure, thing, install)


def _not_compiled(failure: Failure, thing: str, install: str) -> str:
    return f"{_unbuilt(failure)} does not compile: {thing} is missing; {install}, or choose a version that has a wheel"


def _explain_known(failure: Failure, thing: str) -> str:
    """How this machine gets what has a package in `environments.distributions`; empty for what has none."""
    said = failure.explain_install(thing)
    return said if said.startswith("run ") else ""


def _not_built(failure: Failure) -> str:
    raised = re.findall(r"^\s*((?:\w+\.)*\w*(?:Error|Exception): .+)$", failure.output, re.MULTILINE)
    why = raised[-1].strip().rstrip(".")[:200] if raised else "its own build script failed"
    return f"{_unbuilt(failure)} could not be built: {why}; choose a version that has a wheel"


def _unbuilt(failure: Failure) -> str:
    package = re.search(r"Failed to (?:build|download and build)[: ]*`([^`]+)`", failure.output)
    subject = explain_requirement(package[1]) if package else failure.definition.subject
    return f"{subject} has no wheel for Python {failure.python.short} on this machine and"


def _no_requirement(failure: Failure) -> str:
    return (
        f"spec.requirements: not a requirement: {read_cause(failure.output)}; found {failure.requirements}, "
        "wanted the form name==1.2 or name>=1,<2"
    )


def _not_writable(failure: Failure) -> str:
    return (
        f"permission denied: {error_line(failure.output)}; make {failure.cache} and uv's cache (UV_CACHE_DIR) "
        "writable, or set XDG_CACHE_HOME to a directory that is"
    )


_LOOKED_FOR = (
    (r"pg_config executable not found", "libpq-fe.h"),
    (r"pkg-config --exists mysqlclient", "mysql.h"),
    (r"(?:can't find Rust compiler|Cargo, the Rust package manager, is not installed)", "cargo"),
    (r"libxml2 and libxslt development packages", "libxml/xmlversion.h"),
)
"""Texts of the build scripts of psycopg2, mysqlclient, setuptools-rust and maturin, lxml; what is missing then."""
_CONFUSED = r"`(\S+)` is often confused for `(\S+)`"
_BUILD = r"(?:The build backend returned an error|Build backend failed)(?s:.*)"
"""A package without a wheel is built from its source by its own build script."""
_HEADER = r"fatal error: (\S+\.h(?:pp)?): No such file"
_COMPILERS = r"(?:[\w-]*g?cc|[\w-]*[gc]\+\+|clang(?:\+\+)?)"
_Sentence = Callable[[Failure], str]
# Rows of the resolver come before those of the network: its text has names of packages, such as async-timeout.
_SENTENCES: Sequence[tuple[str, Fault, _Sentence]] = (
    (r"No space left on device|Disk quota exceeded", Fault.MACHINE, lambda failure: _disk_full(failure.cache)),
    (
        _BUILD + rf"(?:No such file or directory: '{_COMPILERS}'|command '{_COMPILERS}' failed: No such file|"
        rf"unable to execute '{_COMPILERS}'|\b{_COMPILERS}: (?:command )?not found|no acceptable C compiler|"
        r"CMAKE_CX*_COMPILER not set|Unknown compiler)",
        Fault.MACHINE,
        _no_compiler,
    ),
    (_BUILD + _HEADER, Fault.MACHINE, _no_header),
    (_CONFUSED, Fault.DEFINITION, _confused),
    (_BUILD + f"(?:{'|'.join(pattern for pattern, _ in _LOOKED_FOR)})", Fault.MACHINE, _no_program),
    (_BUILD, Fault.MACHINE, _not_built),
    (r"Git executable not found", Fault.MACHINE, _no_git),
    (r"Git operation failed(?s:.*)(?:Could not resolve host|Failed to connect)", Fault.NETWORK, _no_repository),
    (r"Permission denied|Read-only file system", Fault.MACHINE, _not_writable),
    (r"network was disabled|network connectivity is disabled", Fault.MACHINE, _offline),
    (
        r"invalid peer certificate|UnknownIssuer|certificate verify failed|self.signed certificate",
        Fault.MACHINE,
        _certificate,
    ),
    (r"tunnel error|407 Proxy|status code 407", Fault.MACHINE, _proxy),
    (r"40[13] (Unauthorized|Forbidden)|status code 40[13]|returned a 40[13]", Fault.MACHINE, _unauthorized),
    (
        r"matching Python ABI tag|matching Python implementation tag|matching Python version tag",
        Fault.DEFINITION,
        _no_wheel,
    ),
    (r"matching platform tag", Fault.DEFINITION, _no_platform),
    (r"not found in the package registry", Fault.DEFINITION, _no_package),
    (
        r"Couldn't parse requirement|Failed to parse:|expected one of .*(version|operator)",
        Fault.DEFINITION,
        _no_requirement,
    ),
    (r"No solution found|unsatisfiable", Fault.DEFINITION, _unsatisfiable),
    (
        r"dns error|Connection refused|Connection reset|timed out|timeout|"
        r"Network is unreachable|No route to host|"
        r"error sending request|tcp connect error|failed to lookup address|connection closed|unexpected eof|"
        r"error decoding response body|429 Too Many|5\d\d (Bad|Service|Gateway|Internal)",
        Fault.NETWORK,
        _network,
    ),
)


def root_cause(output: str) -> str:
    """The last cause in uv's error, with URLs redacted: `Connection refused (os error 111)`."""
    causes = re.findall(r"^\s*(?:cause:|Caused by:|╰─▶)\s*(.+)$", output, re.MULTILINE)
    return redact(causes[-1].strip().rstrip(".") if causes else error_line(output))
