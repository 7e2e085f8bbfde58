"""A real kube-apiserver answers the corpus as the goldens say, with which the embedded API is compared."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from apiserver.conformance.answers import Answer, ask_real
from apiserver.conformance.corpus import CASES, is_asked, read_goldens, read_minor, write_goldens
from support.worlds import ControlPlane

_WORD = re.compile(r"[^\s\[\],]+")
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
    assert [_settle(each) for each in answers[name]] == [_settle(each) for each in wanted]


def _settle(value: Any) -> Any:
    """Without the order that Go leaves to chance, of a map's errors, and the spaces that it varies on purpose, where it
    tells what differs (go-cmp): a text as its words, and causes, in one order."""
    if isinstance(value, Mapping):
        settled = {key: _settle(each) for key, each in value.items()}
        return settled | ({"causes": sorted(settled["causes"], key=_in_order)} if settled.get("causes") else {})
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_settle(each) for each in value]
    return sorted(_WORD.findall(value)) if isinstance(value, str) else value


def _in_order(cause: Any) -> str:
    return json.dumps(cause, sort_keys=True)
