"""Whom the API takes this program for, by what each version of Kubernetes answers."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import AsyncIterator, Mapping
from typing import cast

import pytest

from paddock.client.own_name import fetch_own_name, fetch_user, find_login
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Create, T
from paddock.kube.errors import ApiError, Forbidden, NotFound, Unavailable
from paddock.kube.meta import Manifest, Resource

ADA = {"status": {"userInfo": {"username": "ada@example.com", "groups": ["system:authenticated"]}}}
LOGIN = pwd.getpwuid(os.getuid()).pw_name
GONE = NotFound("the server could not find the requested resource")


class Server(Api):
    """Answers a SelfSubjectReview of each version, or refuses it; another is not served."""

    def __init__(self, answers: Mapping[str, Manifest | ApiError]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    async def send(self, call: Call[T]) -> T:
        assert isinstance(call, Create) and call.resource.kind == "SelfSubjectReview"
        self.asked.append(call.resource.version)
        answer = self._answers.get(call.resource.version, GONE)
        if isinstance(answer, ApiError):
            raise answer
        return cast("T", answer)

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        raise AssertionError("nothing is followed")
        yield Event("", {})


@pytest.mark.parametrize(
    ("answers", "user", "asked"),
    [
        ({"v1": ADA}, "ada@example.com", ["v1"]),
        ({"v1beta1": ADA}, "ada@example.com", ["v1", "v1beta1"]),
        ({"v1": Forbidden("no"), "v1alpha1": ADA}, "ada@example.com", ["v1", "v1beta1", "v1alpha1"]),
        ({}, "", ["v1", "v1beta1", "v1alpha1"]),
        ({"v1": {}}, "", ["v1"]),
        ({"v1": {"status": {"userInfo": {}}}}, "", ["v1"]),
    ],
)
async def test_the_newest_version_that_answers_tells_the_name(
    answers: Mapping[str, Manifest | ApiError], user: str, asked: list[str]
) -> None:
    server = Server(answers)
    assert (await fetch_user(server), server.asked) == (user, asked)


@pytest.mark.parametrize("answers", [{}, {"v1": Unavailable("busy")}])
async def test_where_no_api_tells_it_a_name_says_that_it_is_this_machines(
    answers: Mapping[str, Manifest | ApiError],
) -> None:
    assert await fetch_own_name(Server(answers), local=False) == f"login {LOGIN} of {socket.gethostname()}"


async def test_a_laptop_is_its_logins_and_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(variable, "ceo")
    server = Server({"v1": ADA})
    assert (await fetch_own_name(server, local=True), server.asked) == (LOGIN, [])
    assert find_login() == LOGIN, "whatever the environment says"
