"""A real kube-apiserver answers the corpus as the goldens say, with which the embedded API is compared."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

import pytest

from apiserver.conformance.answers import Answer, ask_real
from apiserver.conformance.corpus import CASES, is_asked, read_goldens, read_minor, write_goldens
from support.worlds import ControlPlane

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def version(control_plane: ControlPlane) -> str:
    """1.20"""
    program = control_plane.programs / "kube-apiserver"
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return ".".join(told.strip().rpartition("v")[2].split(".")[:2])


@pytest.fixture(scope="module")
def answers(
    control_plane: ControlPlane, version: str, request: pytest.FixtureRequest
) -> Mapping[str, Sequence[Answer]]:
    asked = [case for case in CASES.values() if is_asked(case, read_minor(version))]
    found = ask_real(control_plane.kubeconfig, asked)
    if request.config.getoption("--rewrite-goldens"):
        write_goldens(version, found)
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_real_server_answers_so(name: str, version: str, answers: Mapping[str, Sequence[Answer]]) -> None:
    case = CASES[name]
    if name not in answers:
        pytest.skip(f"the rule is of Kubernetes {case.since}, and this server is {version}")
    wanted = case.expected if case.since else read_goldens(version).get(name)
    if wanted is None:
        pytest.skip(f"there are no goldens of Kubernetes {version}: --rewrite-goldens records them")
    assert list(answers[name]) == list(wanted)
