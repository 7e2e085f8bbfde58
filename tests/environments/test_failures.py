"""Real error texts of uv, and their sentences."""

from dataclasses import replace
from pathlib import Path

import pytest

from paddock.environments import distributions
from paddock.environments.definition import Definition
from paddock.environments.failures import (
    Failure,
    Fault,
    explain_check,
    explain_os_error,
    read_failure,
    redact,
    root_cause,
)
from paddock.environments.pythons import Python

PADDLE = Definition("paddle-ps", requirements=("paddlepaddle==3.0.0", "protobuf<7"))

BACKEND = """error: Failed to build `ujson==5.4.0`
  cause: The build backend returned an error
  cause: Call to `setuptools.build_meta:__legacy__.build_wheel` failed (exit status: 1)

         [stdout]
         building 'ujson' extension
         {printed}

         [stderr]
           self._finalize_license_expression()
         {error}

hint: Build failures usually indicate a problem with the package or the build environment"""
_SAID_UNBUILT = "ujson 5.4.0 has no wheel for Python 3.11 on this machine and"
_SAID_COMPILER = "run `apt-get install build-essential` (Debian GNU/Linux 12 (bookworm))"


def _explain_install(thing: str) -> str:
    return _SAID_COMPILER if thing == distributions.COMPILER else f"install the package of Debian that has {thing}"


_SAID_NO_COMPILER = f"has to be compiled, and this machine has no compiler: {_SAID_COMPILER}"
REFUSED = """error: Failed to fetch: `http://127.0.0.1:9/simple/six/`
  cause: error sending request for url (http://127.0.0.1:9/simple/six/)
  cause: client error (Connect)
  cause: tcp connect error
  cause: Connection refused (os error 111)"""
NO_DNS = """error: Failed to fetch: `https://user:secret@index.example/simple/six/`
  cause: error sending request for url (https://index.example/simple/six/)
  cause: dns error
  cause: failed to lookup address information: Name or service not known"""
NO_PYTORCH = """error: Failed to fetch: `https://download.pytorch.org/whl/cu128/torch/`
  cause: error sending request for url (https://download.pytorch.org/whl/cu128/torch/)
  cause: dns error
  cause: failed to lookup address information: Name or service not known"""
NO_VERSION = """error: No solution found when resolving dependencies
  cause: Because there is no version of six==99 and you require six==99, we can conclude that your
         requirements are unsatisfiable."""
NO_VERSION_OLD = """  × No solution found when resolving dependencies:
  ╰─▶ Because there is no version of six==99 and you require six==99, we can
      conclude that your requirements are unsatisfiable."""
NO_PACKAGE = """error: No solution found when resolving dependencies
  cause: Because no-such-package was not found in the package registry and you require no-such-package, we can conclude
         that your requirements are unsatisfiable."""
NO_WHEEL = """error: No solution found when resolving dependencies
  cause: Because paddlepaddle==3.0.0 has no wheels with a matching Python ABI tag (e.g., `cp314`) and you require
         paddlepaddle==3.0.0, we can conclude that your requirements are unsatisfiable.
hint: You require CPython 3.14 (`cp314`), but we only found wheels for `paddlepaddle` (v3.0.0) with the following Python
      ABI tags: `cp38`, `cp39`, `cp310`, `cp311`, `cp312`, `cp313`"""
NO_MUSL = """error: No solution found when resolving dependencies
  cause: Because paddlepaddle==3.0.0 has no wheels with a matching platform tag (e.g., `musllinux_1_2_x86_64`) and you
         require paddlepaddle==3.0.0, we can conclude that your requirements are unsatisfiable.

hint: Wheels are available for `paddlepaddle` (v3.0.0) on the following platforms: `manylinux1_x86_64`,
      `manylinux2014_aarch64`, `macosx_10_9_x86_64`, `macosx_11_0_arm64`, `win_amd64`"""
NO_RISCV = NO_MUSL.replace("musllinux_1_2_x86_64", "manylinux_2_39_riscv64")
CUT = """error: Failed to fetch: `https://files.example/numpy.whl`
  cause: error decoding response body
  cause: unexpected EOF during chunk size line"""
PROXY = """error: Failed to fetch: https://pypi.example/simple/six/
  cause: error sending request for url (https://pypi.example/simple/six/)
  cause: client error (Connect)
  cause: tunnel error: unsuccessful"""
TOO_OLD = """error: No solution found when resolving dependencies
  cause: Because newer==1.0 has no wheels with a matching Python implementation tag (e.g., `cp311`) and you require
         newer==1.0, we can conclude that your requirements are unsatisfiable.

hint: You require CPython 3.11 (`cp311`), but we only found wheels for `newer` (v1.0) with the following Python
      implementation tags: `cp312`, `cp314`"""
REQUIRES = """error: No solution found when resolving dependencies
  cause: Because the current Python version (3.11.7) does not satisfy Python>=3.12 and needs==1.0 depends on
         Python>=3.12, we can conclude that needs==1.0 cannot be used."""
NO_TIMEOUT = """error: No solution found when resolving dependencies
  cause: Because there is no version of async-timeout==99 and you require async-timeout==99, we can conclude that your
         requirements are unsatisfiable."""
OFFLINE = """error: No solution found when resolving dependencies
  cause: Because six was not found in the cache and you require six, we can conclude that your requirements are
hint: Packages were unavailable because the network was disabled. When the network is disabled, registry packages"""
BAD_REQUIREMENT = """error: Couldn't parse requirement in `bad.in` at position 0
  cause: no such comparison operator "=!", must be one of ~= == != <= >= < > ===
         six=!3
            ^^^"""
FULL_UNPACKING = """error: Failed to download `numpy==2.4.6`
  cause: Failed to extract archive: numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl
  cause: failed to write to file `/small/c/.tmpAfjY1O/numpy/__version__.py`: No space left on device (os error 28)"""
CERTIFICATE = """error: Failed to fetch: `https://index.example/simple/six/`
  cause: client error (Connect)
  cause: invalid peer certificate: UnknownIssuer"""
NO_PASSWORD = """error: Failed to fetch: `https://index.example/simple/six/`
  cause: HTTP status client error (401 Unauthorized) for url (https://index.example/simple/six/)"""
NOT_WRITABLE = "error: failed to create directory `/home/someone/.cache/uv`: Permission denied (os error 13)"
UNKNOWN = "warning: something\nerror: The thing broke at https://u:secret@index.example/simple/x\n  cause: deep"


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        (REFUSED, "the package index did not answer (127.0.0.1:9): check the network, or set UV_DEFAULT_INDEX or PIP"),
        (NO_DNS, "the package index did not answer (index.example): check the network"),
        (NO_VERSION, "spec.requirements: there is no six==99: change the version; `pip index versions six` lists"),
        (NO_VERSION_OLD, "spec.requirements: there is no six==99: change the version; `pip index versions six` lists"),
        (REQUIRES, "spec.requirements (paddlepaddle==3.0.0, protobuf<7) cannot be met: Because the current Python ve"),
        (NO_PACKAGE, "spec.requirements: no package index here has no-such-package: check the name"),
        (NO_WHEEL, "Python 3.14 is too new for paddlepaddle 3.0.0: install Python 3.8 to 3.13"),
        (
            NO_MUSL,
            "paddlepaddle 3.0.0 has no wheel for Linux x86_64 with musl (Alpine): it has wheels for Linux x86_64, "
            "Linux aarch64, macOS x86_64, macOS arm64, Windows; use a distribution with glibc (Debian, Ubuntu, Fedora)",
        ),
        (NO_RISCV, "paddlepaddle 3.0.0 has no wheel for Linux riscv64: it has wheels for Linux x86_64, Linux aarch64"),
        (NO_PYTORCH, "download.pytorch.org, which has the build of UV_TORCH_BACKEND of PyTorch, did not answer: check"),
        (CUT, "the package index did not answer (files.example): check the network"),
        (PROXY, "the proxy does not let the package index through: check HTTPS_PROXY"),
        (OFFLINE, "uv works offline here and has not all of paddlepaddle==3.0.0, protobuf<7: unset UV_OFFLINE"),
        (BAD_REQUIREMENT, 'spec.requirements: not a requirement: no such comparison operator "=!", must be one of'),
        (FULL_UNPACKING, "the disk is full: free some space where /cache is, or set XDG_CACHE_HOME"),
        (CERTIFICATE, "the package index's certificate is not trusted here: set PIP_CERT"),
        (NO_PASSWORD, "the package index refused access: check the user name and password"),
        (NOT_WRITABLE, "permission denied: failed to create directory `/home/someone/.cache/uv`"),
        (UNKNOWN, "building paddlepaddle 3.0.0 failed: The thing broke at https://index.example"),
        ("", "building paddlepaddle 3.0.0 failed: it ended without a word"),
    ],
)
def test_each_error_of_uv_has_a_sentence(output: str, sentence: str) -> None:
    failure = Failure(output, PADDLE, Python(Path("/usr/bin/python3.14"), (3, 14, 0)), "/cache")
    found = read_failure(failure).message
    assert found.startswith(sentence)
    assert "secret" not in found
    assert "\n" not in found


@pytest.mark.parametrize(
    ("output", "fault", "pythons"),
    [
        (REFUSED, Fault.NETWORK, ""),
        (CUT, Fault.NETWORK, ""),
        (PROXY, Fault.MACHINE, ""),
        (FULL_UNPACKING, Fault.MACHINE, ""),
        (NO_VERSION, Fault.DEFINITION, ""),
        (NO_WHEEL, Fault.DEFINITION, ">=3.8,<3.14"),
        (TOO_OLD, Fault.DEFINITION, ">=3.12,<3.15,!=3.13.*"),
        (REQUIRES, Fault.DEFINITION, ">=3.12"),
        (NO_TIMEOUT, Fault.DEFINITION, ""),
        (UNKNOWN, Fault.DEFINITION, ""),
    ],
)
def test_each_error_of_uv_has_a_fault_that_decides_when_to_retry(output: str, fault: Fault, pythons: str) -> None:
    failed = read_failure(Failure(output, PADDLE, Python(Path("p"), (3, 14)), "/cache"))
    assert (failed.fault, failed.pythons) == (fault, pythons)


def test_the_root_cause_is_the_last_one_and_short() -> None:
    assert root_cause(NO_DNS) == "failed to lookup address information: Name or service not known"
    assert root_cause("error: Python downloads are not allowed") == "Python downloads are not allowed"


def test_a_cause_of_several_lines_is_joined() -> None:
    failure = Failure(REQUIRES, PADDLE, Python(Path("p"), (3, 11)), "/cache")
    assert read_failure(failure).message.endswith(
        "depends on Python>=3.12, we can conclude that needs==1.0 cannot be used"
    )


def test_a_failed_check_shows_its_last_line() -> None:
    output = "Traceback (most recent call last):\n  File ...\nAssertionError: no parameter servers on this platform\n"
    assert explain_check(output, PADDLE) == (
        "paddlepaddle 3.0.0 was installed but does not pass the environment's check (spec.verify): "
        "AssertionError: no parameter servers on this platform"
    )


def test_a_failed_write_has_a_sentence() -> None:
    assert str(explain_os_error(OSError(28, "No space left on device"), "/c")).startswith("the disk is full")
    denied = str(explain_os_error(PermissionError(13, "Permission denied", "/c/x"), "/c"))
    assert denied.startswith("cannot write /c/x: Permission denied")
    assert "XDG_CACHE_HOME" in denied


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("at https://u:p@h.example:81/a/token/b?x=1)", "at https://h.example:81)"),
        ("git+https://t@h.example/x.git done", "git+https://h.example done"),
        ("`file:///srv/w/x.whl`", "`file://`"),
        ("https://me:p@ss@index.example/x", "https://index.example"),
        ("no url: a/b", "no url: a/b"),
    ],
)
def test_urls_are_cut_to_their_host(text: str, cut: str) -> None:
    assert redact(text) == cut


@pytest.mark.parametrize(
    "definition",
    [
        Definition("a", requirements=("torch",), extra_index_urls=("https://me:secret@download.pytorch.org/whl/",)),
        Definition("a", requirements=("torch",), options=("-f https://download.pytorch.org/whl/torch_stable.html",)),
    ],
)
def test_an_index_that_the_requirements_name_is_named_as_theirs(definition: Definition) -> None:
    failure = Failure(NO_PYTORCH, definition, Python(Path("p"), (3, 11)), "/cache")
    assert read_failure(failure).message == (
        "the package index download.pytorch.org, which the requirements name, did not answer: check the network, or "
        "the line that names it"
    )


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        (REFUSED, "the package index of spec.indexURL (127.0.0.1:9) did not answer: check the network, and the URL"),
        (NO_PACKAGE, "spec.requirements: the package index of spec.indexURL does not have no-such-package: check the"),
    ],
)
def test_errors_of_an_index_in_the_spec_name_the_field(output: str, sentence: str) -> None:
    own = replace(PADDLE, index_url="http://127.0.0.1:9/simple")
    failure = Failure(output, own, Python(Path("p"), (3, 11)), "/cache")
    assert read_failure(failure).message.startswith(sentence)


@pytest.mark.parametrize(
    ("printed", "error", "said"),
    [
        ("", "error: [Errno 2] No such file or directory: 'g++'", _SAID_NO_COMPILER),
        ("", "error: command 'gcc' failed: No such file or directory", _SAID_NO_COMPILER),
        (
            "configure: error: no acceptable C compiler found in $PATH",
            "RuntimeError: autoconf error",
            _SAID_NO_COMPILER,
        ),
        (
            "src/_fastmath.c:33:10: fatal error: longintrepr.h: No such file or directory",
            "error: command 'gcc' failed",
            "does not compile: longintrepr.h is missing; choose a version that has a wheel, or install the development "
            "package that has this file",
        ),
        (
            "connection timed out",
            "Exception: Can not find valid pkg-config name.",
            "could not be built: Exception: Can not find valid pkg-config name; choose a version that has a wheel",
        ),
        (
            "",
            "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
            "is compiled by CUDA's nvcc, which was not found: leave it out here, set CUDA_HOME to CUDA's directory, or "
            "write the address of a wheel of its releases, ujson @ https://….whl",
        ),
        ("", "exit status 2", "could not be built: its own build script failed; choose a version that has a wheel"),
    ],
)
def test_a_package_without_a_wheel_that_cannot_be_built(printed: str, error: str, said: str) -> None:
    text = BACKEND.format(printed=printed, error=error)
    python = Python(Path("/usr/bin/python3"), (3, 11, 7))
    failed = read_failure(
        Failure(text, Definition("mine", requirements=("ujson==5.4.0",)), python, "/c", _explain_install)
    )
    assert (failed.message, failed.fault) == (f"{_SAID_UNBUILT} {said}", Fault.MACHINE)
