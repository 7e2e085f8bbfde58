"""Whose fault it is decides the exit code."""

from __future__ import annotations

import pytest

from paddock.app.home import HomeError
from paddock.app.launch import StartError
from paddock.cli.cluster.errors import Explained, Failed, UserError, explain_error
from paddock.client.errors import ConfigError
from paddock.kube.errors import AlreadyExists, Conflict, Forbidden, InternalError, Invalid, NotFound, Unavailable
from paddock.words.phrases import phrase


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UserError("x"), 2),
        (NotFound("x"), 2),
        (AlreadyExists("x"), 2),
        (Invalid("x"), 2),
        (Failed("x"), 1),
        (HomeError("x"), 1),
        (StartError("x"), 1),
        (Unavailable("x"), 1),
        (InternalError("x"), 1),
        (Forbidden("x"), 1),
        (Conflict("x"), 1),
    ],
)
def test_what_was_foreseen_is_its_own_sentence(error: Exception, code: int) -> None:
    assert explain_error(error) == Explained("x", code)


def test_a_file_that_cannot_be_used_is_named() -> None:
    assert explain_error(PermissionError(13, "Permission denied", "/x")) == Explained("/x: Permission denied", 1)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConfigError("there is no kubeconfig {path}", path="/x"), "没有 kubeconfig /x"),
        (HomeError(phrase("local cluster is not up")), "本地集群未在运行"),
        (UserError("a:1: b", phrase("nothing was submitted")), "a:1: b\n没有提交任何内容"),
        (FileNotFoundError(2, "No such file or directory", "/x"), "/x：没有这个文件"),
    ],
)
def test_each_is_rendered_in_the_readers_language(error: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.delenv("LANGUAGE", raising=False)
    explained = explain_error(error)
    assert explained is not None and explained.message == said


@pytest.mark.parametrize("error", [KeyError("x"), OSError("no file"), AssertionError()])
def test_an_unexpected_error_is_a_bug(error: Exception) -> None:
    assert explain_error(error) is None
