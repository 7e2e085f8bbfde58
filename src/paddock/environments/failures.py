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
from paddock.environments.late_builds import NEEDS
from paddock.environments.packages.torch import PYTORCH_INDEX
from paddock.environments.pythons import Python, explain_range
from paddock.environments.requirements import explain_requirement, requirement_name
from paddock.environments.resolving.causes import error_line, read_cause
from paddock.environments.resolving.conclusions import NoVersion, read_conflict, read_no_version
from paddock.environments.resolving.wheels import join_lines, platform_name, read_allowed_pythons, read_minors
from paddock.words.phrases import Phrase, phrase


class Fault(Enum):
    """What a failure depends on, which decides when to retry."""

    # A network error is retried at once, a few times; then it is treated like MACHINE.
    NETWORK = "network"
    # Disk, rights, interpreters, libraries, settings: a new job retries, as its user may have fixed them.
    MACHINE = "machine"
    # The same definition fails again: no retry until it, or the circumstances of the build, change.
    DEFINITION = "definition"


class BuildFailed(Exception):
    """The build of an environment failed."""

    message: str
    """One complete sentence for the user, in English, as the API stores it."""
    fault: Fault
    pythons: str
    """If the interpreter is the problem, the specifier of those that the packages have wheels for."""
    tries: int
    """The number of tries made."""

    def __init__(
        self, message: Phrase | str, fault: Fault = Fault.DEFINITION, pythons: str = "", tries: int = 1
    ) -> None:
        self.message, self.fault, self.pythons, self.tries = str(message), fault, pythons, tries
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed run of uv: its output and its input."""

    output: str
    definition: Definition
    python: Python
    cache: str
    """The directory of the environments."""
    explain_install: Callable[[str], str] = lambda thing: ""
    """How this machine gets a thing of `environments.distributions`, as in `run `apt-get …``; empty where that is not
    known."""

    @property
    def requirements(self) -> str:
        return ", ".join(self.definition.requirements)


def read_failure(failure: Failure) -> BuildFailed:
    """The error that the output of a failed uv means."""
    for pattern, fault, sentence in _SENTENCES:
        if re.search(pattern, failure.output, re.IGNORECASE):
            pythons = read_allowed_pythons(failure.output) if sentence in (_no_wheel, _unsatisfiable) else ""
            return BuildFailed(redact(str(sentence(failure))), fault, pythons)
    said = phrase(
        "building {subject} failed: {why}", subject=failure.definition.subject, why=error_line(failure.output)
    )
    return BuildFailed(redact(str(said)), Fault.DEFINITION)


def explain_tries(said: str, tries: int) -> Phrase | str:
    """A network error's sentence with the number of tries, if there was more than one."""
    return phrase("{what} (tried {count} times)", what=said, count=tries) if tries > 1 else said


def explain_check(output: str, definition: Definition) -> str:
    """The sentence for a `verify` snippet that failed in a new environment: the reason is its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = phrase(
        "{subject} was installed but does not pass the environment's check (spec.verify): {why}",
        subject=definition.subject, why=lines[-1] if lines else phrase("it ended without a word"),
    )  # fmt: skip
    return redact(str(said))


def explain_check_timeout(definition: Definition, limit: float) -> Phrase:
    """The sentence for a `verify` snippet that exceeded its `limit` in seconds."""
    return phrase(
        "{subject} was installed, but the check (spec.verify) had not ended after {seconds} s",
        subject=definition.subject, seconds=f"{limit:.0f}",
    )  # fmt: skip


def explain_os_error(error: OSError, cache: str) -> Phrase:
    """The sentence for a failed write of Paddock itself: a full disk, a directory that is not writable."""
    if error.errno in (28, 122):  # ENOSPC, EDQUOT
        return _disk_full(cache)
    return phrase(
        "cannot write {file}: {why}; environments are kept under {path}: make it writable, or set XDG_CACHE_HOME to a "
        "directory that is",
        file=str(error.filename or cache), why=error.strerror or str(error), path=cache,
    )  # fmt: skip


def redact(text: str) -> str:
    """The text with its URLs cut to scheme and host."""
    return re.sub(r"\b([a-z][a-z0-9+.-]*)://(?:[^\s/`'\"]*@)?([^\s/`'\")]*)[^\s`'\")]*", r"\1://\2", text)


def _disk_full(cache: str) -> Phrase:
    return phrase(
        "the disk is full: free some space where {path} is, or set XDG_CACHE_HOME to a directory with more", path=cache
    )


def _proxy(failure: Failure) -> Phrase:
    return phrase(
        "the proxy does not let the package index through: check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or the proxy "
        "of pip's settings (`pip config list`)"
    )


def _network(failure: Failure) -> Phrase:
    host = re.search(r"https?://(?:[^\s/]*@)?([^\s/)`]+)", failure.output)
    where, definition = f" ({host[1]})" if host else "", failure.definition
    if host and any(host[1] in each for each in (*definition.extra_index_urls, *definition.options)):
        return phrase(
            "the package index {place}, which the requirements name, did not answer: check the network, or the line "
            "that names it",
            place=host[1],
        )
    if host and host[1] == PYTORCH_INDEX:
        return _no_answer_of_pytorch(failure.definition)
    if failure.definition.index_url:
        return phrase(
            "the package index of spec.indexURL{where} did not answer: check the network, and the URL", where=where
        )
    return phrase(
        "the package index did not answer{where}: check the network, or set UV_DEFAULT_INDEX or PIP_INDEX_URL to an "
        "index that can be reached from here",
        where=where,
    )


def _no_answer_of_pytorch(definition: Definition) -> Phrase:
    command = f"paddock env update {definition.name} --torch-backend default"
    if not definition.torch_backend:
        return phrase(
            "{place}, which has the build of UV_TORCH_BACKEND of PyTorch, did not answer: check the network, or ask "
            "for what the package index has: `{command}`",
            place=PYTORCH_INDEX, command=command,
        )  # fmt: skip
    return phrase(
        "{place}, which has the build {name} of PyTorch, did not answer: check the network, or ask for what the "
        "package index has: `{command}`",
        place=PYTORCH_INDEX, name=definition.torch_backend, command=command,
    )  # fmt: skip


def _certificate(failure: Failure) -> Phrase:
    return phrase(
        "the package index's certificate is not trusted here: set PIP_CERT or SSL_CERT_FILE to a file with your "
        "organisation's certificates"
    )


def _unauthorized(failure: Failure) -> Phrase:
    return phrase(
        "the package index refused access: check the user name and password in its URL (UV_DEFAULT_INDEX, "
        "PIP_INDEX_URL), in ~/.netrc, or in the Environment's spec.indexURL"
    )


def _offline(failure: Failure) -> Phrase:
    return phrase(
        "uv works offline here and has not all of {packages}: unset UV_OFFLINE for the first build",
        packages=failure.requirements,
    )


def _no_wheel(failure: Failure) -> Phrase:
    """uv's error names the Pythons that the version has wheels for."""
    output = join_lines(failure.output)
    minors = read_minors(output)
    package = re.search(r"wheels for `([^`]+)` \(v([^)]+)\)", output)
    subject = f"{package[1]} {package[2]}" if package else failure.definition.subject
    version, current = failure.python.short, failure.python.version[1]
    if not minors:
        return phrase(
            "{subject} has no wheel for Python {version}: install another Python", subject=subject, version=version
        )
    if minors[0] <= current <= minors[-1]:
        return phrase(
            "{subject} has no wheel for Python {version} (it has for {others}): install another Python",
            subject=subject, version=version, others=", ".join(f"3.{minor}" for minor in minors),
        )  # fmt: skip
    allowed = explain_range(f">=3.{minors[0]},<3.{minors[-1] + 1}")
    if current > minors[-1]:
        return phrase(
            "Python {version} is too new for {subject}: install {allowed}",
            version=version, subject=subject, allowed=allowed,
        )  # fmt: skip
    return phrase(
        "Python {version} is too old for {subject}: install {allowed}",
        version=version, subject=subject, allowed=allowed,
    )  # fmt: skip


def _no_platform(failure: Failure) -> Phrase:
    """uv's error names this machine's platform and those that the version has wheels for."""
    output = join_lines(failure.output)
    wanted = re.search(r"matching platform tag \(e\.g\., `([^`]+)`\)", output)
    listed = re.search(r"available for `([^`]+)`(?: \(v([^)]+)\))? on the following platforms?: (.*)", output)
    if wanted is None or listed is None:
        return phrase(
            "{subject} has no wheel for this machine's platform: {why}",
            subject=failure.definition.subject, why=read_cause(failure.output),
        )  # fmt: skip
    there = dict.fromkeys(str(platform_name(tag)) for tag in re.findall(r"`([^`]+)`", listed[3]))
    glibc, others = phrase("a distribution with glibc (Debian, Ubuntu, Fedora)"), phrase("one of these machines")
    return phrase(
        "{subject} has no wheel for {machine}: it has wheels for {machines}; use {other}",
        subject=f"{listed[1]} {listed[2]}" if listed[2] else listed[1],
        machine=platform_name(wanted[1]), machines=", ".join(there),
        other=glibc if wanted[1].startswith("musl") else others,
    )  # fmt: skip


def _other_content(failure: Failure) -> Phrase:
    found = re.search(r"Hash mismatch for `([^`]+)`", join_lines(failure.output))
    return phrase(
        "{package} as it was downloaded has none of its hashes and is not installed: check the index, and the --hash "
        "in spec.requirements",
        package=found[1] if found else failure.definition.subject,
    )


def _no_package(failure: Failure) -> Phrase:
    name = re.search(r"Because (\S+) was not found in the package registry", join_lines(failure.output))
    found = name[1] if name else requirement_name(failure.definition.requirements[0])
    if failure.definition.index_url:
        return phrase(
            "spec.requirements: the package index of spec.indexURL does not have {package}: check the name, and the "
            "URL",
            package=found,
        )
    return phrase(
        "spec.requirements: no package index here has {package}: check the name, or set spec.indexURL", package=found
    )


def _unsatisfiable(failure: Failure) -> Phrase:
    cause = read_cause(failure.output)
    if lacking := read_no_version(cause):
        return _no_version(failure, lacking)
    if conflict := read_conflict(cause, failure.definition.requirements):
        *first, last = conflict.wanted
        packages = f"{', '.join(first)} and {last}"
        if not conflict.why:
            return phrase("spec.requirements: {packages} exclude each other: change one of them", packages=packages)
        return phrase(
            "spec.requirements: {packages} exclude each other ({why}): change one of them",
            packages=packages, why="; ".join(f"{who} depends on {what}" for who, what in conflict.why),
        )  # fmt: skip
    return phrase("spec.requirements ({packages}) cannot be met: {why}", packages=failure.requirements, why=cause)


def _no_version(failure: Failure, lacking: NoVersion) -> Phrase:
    if lacking.there:
        return phrase(
            "spec.requirements: there is no {package}, only {others}: change the version",
            package=lacking.wanted, others=" or ".join(lacking.there),
        )  # fmt: skip
    if failure.definition.index_url:  # pip would ask another index, and the URL may hold a password
        return phrase(
            "spec.requirements: there is no {package} in the package index of spec.indexURL: change the version",
            package=lacking.wanted,
        )
    return phrase(
        "spec.requirements: there is no {package}: change the version; `{command}` lists those that exist",
        package=lacking.wanted, command=f"pip index versions {lacking.name}",
    )  # fmt: skip


def _confused(failure: Failure) -> Phrase:
    found = re.search(_CONFUSED, join_lines(failure.output))
    assert found is not None, "the row's pattern is a part of this one"
    return phrase("spec.requirements: {package} is not what you mean: write {other}", package=found[1], other=found[2])


def _no_compiler(failure: Failure) -> Phrase:
    return phrase(
        "{subject} has no wheel for Python {version} on this machine and has to be compiled, and this machine has no "
        "compiler: {install}",
        subject=_read_unbuilt(failure), version=failure.python.short,
        install=failure.explain_install(COMPILER) or phrase("install one"),
    )  # fmt: skip


def _no_cuda(failure: Failure) -> Phrase:
    name = _read_unbuilt(failure)
    return phrase(
        "{subject} has no wheel for Python {version} on this machine and is compiled by CUDA's nvcc, which was not "
        "found: leave it out here, set CUDA_HOME to CUDA's directory, or write the address of a wheel of its releases, "
        "{package}",
        subject=name, version=failure.python.short, package=f"{name.partition(' ')[0]} @ https://….whl",
    )  # fmt: skip


def _no_header(failure: Failure) -> Phrase:
    header = re.search(_HEADER, failure.output)
    missing = header[1] if header else ""
    if command := _find_command(failure, missing):
        return _not_compiled(failure, missing, command)
    return phrase(
        "{subject} has no wheel for Python {version} on this machine and does not compile: {file} is missing; choose a "
        "version that has a wheel, or install the development package that has this file",
        subject=_read_unbuilt(failure), version=failure.python.short, file=missing or phrase("a header"),
    )  # fmt: skip


def _no_git(failure: Failure) -> Phrase:
    return phrase(
        "the program git, which fetches {packages}, is missing: {install}",
        packages=_of_repositories(failure), install=failure.explain_install("git") or phrase("install it"),
    )  # fmt: skip


def _no_repository(failure: Failure) -> Phrase:
    host = re.search(r"https?://(?:[^\s/]*@)?([^\s/)`']+)", failure.output)
    return phrase(
        "git did not reach {host}, which has {packages}: check the network, and the URL",
        host=host[1] if host else phrase("its server"), packages=_of_repositories(failure),
    )  # fmt: skip


def _of_repositories(failure: Failure) -> str:
    """The packages that come from repositories."""
    return ", ".join(requirement_name(each) for each in failure.definition.requirements if "git+" in each)


def _no_program(failure: Failure) -> Phrase:
    """A program or a library that a build script looks for and names in words of its own."""
    thing = next(thing for pattern, thing in _LOOKED_FOR if re.search(pattern, failure.output, re.IGNORECASE))
    if command := _find_command(failure, thing):
        return _not_compiled(failure, thing, command)
    return phrase(
        "{subject} has no wheel for Python {version} on this machine and does not compile: {file} is missing; install "
        "{thing}, or choose a version that has a wheel",
        subject=_read_unbuilt(failure), version=failure.python.short, file=thing, thing=thing,
    )  # fmt: skip


def _not_compiled(failure: Failure, thing: str, command: str) -> Phrase:
    return phrase(
        "{subject} has no wheel for Python {version} on this machine and does not compile: {file} is missing; run "
        "{command}, or choose a version that has a wheel",
        subject=_read_unbuilt(failure), version=failure.python.short, file=thing, command=command,
    )  # fmt: skip


def _find_command(failure: Failure, thing: str) -> str:
    """`` `apt-get install libpq-dev` (Debian GNU/Linux) ``: what gets a thing that has a package in
    `environments.distributions`; empty for one that has none."""
    said = failure.explain_install(thing)
    return said.removeprefix("run ") if said.startswith("run ") else ""


def _needs_another(failure: Failure) -> Phrase:
    found = re.search(NEEDS, failure.output)
    assert found is not None, "the row's pattern ends with this one"
    return phrase(
        "{subject} is built with {package}, and does not say so: write {package} into the requirements, and it is "
        "built after it",
        subject=_read_unbuilt(failure), package=found[2],
    )  # fmt: skip


def _not_built(failure: Failure) -> Phrase:
    raised = re.findall(r"^\s*((?:\w+\.)*\w*(?:Error|Exception): .+)$", failure.output, re.MULTILINE)
    return phrase(
        "{subject} has no wheel for Python {version} on this machine and could not be built: {why}; choose a version "
        "that has a wheel",
        subject=_read_unbuilt(failure), version=failure.python.short,
        why=raised[-1].strip().rstrip(".")[:200] if raised else phrase("its own build script failed"),
    )  # fmt: skip


def _read_unbuilt(failure: Failure) -> str:
    """`psycopg2 2.9.9`: the package that uv could not build; without one in its error, what the environment is of."""
    package = re.search(r"Failed to (?:build|download and build)[: ]*`([^`]+)`", failure.output)
    return explain_requirement(package[1]) if package else failure.definition.subject


def _no_requirement(failure: Failure) -> Phrase:
    return phrase(
        "spec.requirements: not a requirement: {why}; found {found}, wanted the form name==1.2 or name>=1,<2",
        why=read_cause(failure.output), found=failure.requirements,
    )  # fmt: skip


def _not_writable(failure: Failure) -> Phrase:
    return phrase(
        "permission denied: {why}; make {path} and uv's cache (UV_CACHE_DIR) writable, or set XDG_CACHE_HOME to a "
        "directory that is",
        why=error_line(failure.output), path=failure.cache,
    )  # fmt: skip


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
_Sentence = Callable[[Failure], Phrase]
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
    (_BUILD + r"(?:CUDA_HOME environment variable is not set|\bnvcc\b)", Fault.MACHINE, _no_cuda),
    (_BUILD + _HEADER, Fault.MACHINE, _no_header),
    (_CONFUSED, Fault.DEFINITION, _confused),
    (_BUILD + f"(?:{'|'.join(pattern for pattern, _ in _LOOKED_FOR)})", Fault.MACHINE, _no_program),
    (_BUILD + NEEDS, Fault.DEFINITION, _needs_another),
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
    (r"Hash mismatch for", Fault.DEFINITION, _other_content),
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
