"""What uv and pip print, as one sentence each. The outputs are those of uv 0.13 and pip 23, shortened."""

from __future__ import annotations

import json

import pytest

from paddock.app.filled_claims.told import Failure, Told, explain_failed, explain_filled, explain_step, read_told


def write(**what: object) -> str:
    return f"paddock-fill {json.dumps(what)}\n"


def explain(output: str, **failed: object) -> str:
    told = read_told(write(step="install", tool="pip") + output + "\n" + write(failed=failed))
    return str(explain_failed(Failure(told, "paddle:3.3", "10Gi", "r.txt")))


NO_SOLUTION = "error: No solution found when resolving dependencies\n  cause: "
END = ", we can conclude that your requirements are unsatisfiable."
TOOLS = {
    "a name, by uv": (
        f"{NO_SOLUTION}Because numppy was not found in the package registry and you require numppy{END}",
        "the package index that pods of the cluster use does not have numppy: check its name in r.txt",
    ),
    "a name, by pip": (
        "ERROR: Could not find a version that satisfies the requirement numppy (from versions: none)\n"
        "ERROR: No matching distribution found for numppy",
        "has no numppy for Python 3.11 and the platform of the image paddle:3.3: check its name in r.txt",
    ),
    "a version, by uv": (
        f"{NO_SOLUTION}Because there is no version of six==99.0 and you require six==99.0{END}",
        "there is no six==99.0 in the package index that pods of the cluster use: change it in r.txt",
    ),
    "a version, by pip": (
        "ERROR: Could not find a version that satisfies the requirement paddlepaddle==2.0.0 (from versions: 2.6.2, "
        "3.0.0b2, 3.3.1)\nERROR: No matching distribution found for paddlepaddle==2.0.0",
        "paddlepaddle==2.0.0 is not in the package index that pods of the cluster use; for Python 3.11 of the image "
        "paddle:3.3 it has 2.6.2, 3.0.0b2 and 3.3.1. Change it in r.txt",
    ),
    "a Python, by uv": (
        f"{NO_SOLUTION}Because tensorflow==2.0.0 has no wheels with a matching Python ABI tag (e.g., `cp311`) and you "
        f"require tensorflow==2.0.0{END}\n\nhint: You require CPython 3.11 (`cp311`), but we only found wheels for "
        "`tensorflow` (v2.0.0) with the following Python ABI tags: `cp36m`, `cp37m`",
        "tensorflow 2.0.0 has no wheel for Python 3.11 and the platform of the image paddle:3.3",
    ),
    "a platform, by uv": (
        f"{NO_SOLUTION}Because pywin32==306 has no wheels with a matching platform tag (e.g., `manylinux_2_36_x86_64`) "
        f"and you require pywin32==306{END}\n\nhint: Wheels are available for `pywin32` (v306) on the following "
        "platforms: `win32`, `win_amd64`",
        "pywin32 306 has no wheel for Python 3.11 and the platform of the image",
    ),
    "a conflict, by uv": (
        f"{NO_SOLUTION}Because you require six==1.16.0 and six==1.17.0{END}",
        "r.txt asks for what excludes each other: Because you require six==1.16.0 and six==1.17.0",
    ),
    "a conflict, by pip": (
        "WARNING: Retrying after connection broken by 'NewConnectionError'\nERROR: Cannot install six==1.16.0 and "
        "six==1.17.0 because these package versions have conflicting dependencies.\nERROR: ResolutionImpossible: for",
        "r.txt asks for what excludes each other: six==1.16.0 and six==1.17.0",
    ),
    "a build, by pip": (
        "Collecting six\nCollecting mysqlclient==2.1.0\n      OSError: mysql_config not found\nerror: "
        "subprocess-exited-with-error\n\nnote: This error originates from a subprocess",
        "mysqlclient==2.1.0 has no wheel for Python 3.11, and does not build in the image paddle:3.3",
    ),
    "a build, by uv": (
        "error: Failed to build `mysqlclient==2.1.0`\n  cause: The build backend returned an error",
        "mysqlclient==2.1.0 has no wheel for Python 3.11, and does not build",
    ),
    "the network, by uv": (
        "error: Failed to fetch: https://pypi.org/simple/nnn/\n  cause: error sending request for url "
        "(https://pypi.org/simple/nnn/)\n  cause: dns error",
        "pods of the cluster do not reach the package index pypi.org: name one that they reach, with --env",
    ),
    "the network, by pip": (
        "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(\"HTTPSConnection("
        "host='pypi.org', port=443): Failed to establish a new connection: [Errno -3] Temporary failure in name "
        "resolution\")': /simple/six/\nERROR: Could not find a version that satisfies the requirement six (from "
        "versions: none)\nERROR: No matching distribution found for six",
        "pods of the cluster do not reach the package index pypi.org",
    ),
    "a password": (
        "ERROR: HTTP error 401 Client Error: Unauthorized for url: https://me:pw@host.example/simple/six/",
        "the package index refused access: its user name and password belong into a Secret",
    ),
    "the room": ("OSError: [Errno 28] No space left on device", "the claim, 10Gi, is full: type the command again"),
    "anything else": (
        "something\nERROR: Exception of https://me:pw@host.example/simple", "pip failed: Exception of https://host.example",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TOOLS)
def test_a_failure_is_told_in_one_sentence(what: str) -> None:
    output, said = TOOLS[what]
    told = explain(output, reason="tool", tool="pip", python="3.11")
    assert said in told
    assert "\n" not in told and "pw" not in told


@pytest.mark.parametrize(
    ("failed", "said"),
    [
        ({"reason": "full", "where": "claim"}, "the claim, 10Gi, is full: type the command again with more, as in "
         "--storage 20Gi"),
        ({"reason": "full", "where": "node"}, "the node's own disk, on which paddle:3.3 unpacks packages, is full"),
        ({"reason": "os", "file": "/paddock/packages/env", "why": "Permission denied"},
         "/paddock/packages/env cannot be written: Permission denied. The pod runs as the job's pods do"),
        ({"reason": "no-installer"}, "the image paddle:3.3 has neither uv nor pip"),
        ({"reason": "no-venv"}, "the Python of the image paddle:3.3 has no module venv"),
        ({"reason": "cut"}, "what came was cut or changed on its way"),
        ({"reason": "nothing-came"}, "nothing was sent into the claim in half an hour"),
        ({"reason": "of a later version"}, "the last words"),
    ],
)  # fmt: skip
def test_what_the_program_itself_reports(failed: dict[str, object], said: str) -> None:
    assert explain("the last words", **failed).startswith(said)


def test_lines_that_are_no_reports_are_what_was_printed() -> None:
    log = "cut in the mid\npaddock-fill {broken\npaddock-fill 3\n" + write(step="hold") + write(filled={"bytes": 7})
    told = read_told(log)
    assert told == Told({"step": "hold"}, {"bytes": 7}, None, "cut in the mid\npaddock-fill {broken\npaddock-fill 3")


def test_how_far_it_is() -> None:
    assert str(explain_step(read_told(""))) == "its program has begun"
    assert str(explain_step(read_told(write(step="resolve", tool="uv")))) == "uv has begun"
    log = write(step="install", tool="pip") + "  Downloading https://u:p@h.example/numpy.whl (16 MB)\n\n"
    assert str(explain_step(read_told(log))) == "pip: Downloading https://h.example (16 MB)"


def test_what_is_in_it() -> None:
    report = {"packages": 1, "python": "3.11", "bytes": 2**20}
    assert str(explain_filled(report, "10Gi")) == "1 package over those of the image (Python 3.11), 1.0 MiB of 10Gi"
