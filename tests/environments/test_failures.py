"""Real texts of uv, and the sentences that they become."""

from pathlib import Path

import pytest

from paddock.environments.definition import Definition
from paddock.environments.failures import Failure, explain_check, explain_failure, explain_os_error, redact
from paddock.environments.pythons import Python

PADDLE = Definition("paddle-ps", requirements=("paddlepaddle==3.0.0", "protobuf<7"))

REFUSED = """error: Failed to fetch: `http://127.0.0.1:9/simple/six/`
  cause: error sending request for url (http://127.0.0.1:9/simple/six/)
  cause: client error (Connect)
  cause: tcp connect error
  cause: Connection refused (os error 111)"""
NO_DNS = """error: Failed to fetch: `https://user:secret@index.example/simple/six/`
  cause: error sending request for url (https://index.example/simple/six/)
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
        (NO_VERSION, "spec.requirements (paddlepaddle==3.0.0, protobuf<7) cannot be met: Because there is no version"),
        (NO_VERSION_OLD, "spec.requirements (paddlepaddle==3.0.0, protobuf<7) cannot be met: Because there is no ver"),
        (NO_PACKAGE, "spec.requirements: no package index here has no-such-package: check the name"),
        (NO_WHEEL, "Python 3.14 is too new for paddlepaddle 3.0.0: install Python 3.8 to 3.13"),
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
def test_each_text_of_uv_becomes_a_sentence(output: str, sentence: str) -> None:
    failure = Failure(output, PADDLE, Python(Path("/usr/bin/python3.14"), (3, 14, 0)), "/cache")
    found = explain_failure(failure)
    assert found.startswith(sentence)
    assert "secret" not in found
    assert "\n" not in found


def test_a_cause_is_given_whole_and_on_one_line() -> None:
    failure = Failure(NO_VERSION, PADDLE, Python(Path("p"), (3, 11)), "/cache")
    assert explain_failure(failure).endswith("we can conclude that your requirements are unsatisfiable")


def test_a_failed_check_shows_its_last_line() -> None:
    output = "Traceback (most recent call last):\n  File ...\nAssertionError: no parameter servers on this platform\n"
    assert explain_check(output, PADDLE) == (
        "paddlepaddle 3.0.0 was installed but does not pass the environment's check (spec.verify): "
        "AssertionError: no parameter servers on this platform"
    )


def test_our_own_writing_fails_with_a_sentence() -> None:
    assert explain_os_error(OSError(28, "No space left on device"), "/c").startswith("the disk is full")
    denied = explain_os_error(PermissionError(13, "Permission denied", "/c/x"), "/c")
    assert denied.startswith("cannot write /c/x: Permission denied")
    assert "XDG_CACHE_HOME" in denied


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("at https://u:p@h.example:81/a/token/b?x=1)", "at https://h.example:81)"),
        ("git+https://t@h.example/x.git done", "git+https://h.example done"),
        ("`file:///srv/w/x.whl`", "`file://`"),
        ("no url: a/b", "no url: a/b"),
    ],
)
def test_urls_are_cut_to_their_host(text: str, cut: str) -> None:
    assert redact(text) == cut
