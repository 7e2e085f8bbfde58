"""Words of a command that do not come to what they are meant for: in manifests, in scripts, and typed."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.manifests.yaml_nodes import Document
from paddock.preflight import check
from paddock.preflight.command_words import explain_typed
from paddock.preflight.scripts import check_script
from paddock.words.phrases import render

ENDS = "the last command runs in the background, and the shell ends without it"


def build_job(**container: Any) -> Document:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "x:1", **container}]}}
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template}}}
    return Document({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j"}, "spec": spec})


def explain_job(*command: str, **more: Any) -> list[str]:
    problems = check(build_job(command=list(command), **more))
    return [each.message for each in problems if each.path.endswith((".command", ".args"))]


def explain_typing(*command: str) -> list[str]:
    return [render(each) for each in explain_typed(command)]


@pytest.mark.parametrize("text", ["python t.py &", "cd /w && python t.py &\n", "nohup python t.py > log 2>&1 &",
                                  "for i in 0 1; do\n  python t.py &\ndone", "{ python t.py; } &  # so\n"])  # fmt: skip
def test_a_shell_that_ends_before_its_last_command_is_told(text: str) -> None:
    assert [each for each in explain_job("bash", "-c", text) if each.startswith(ENDS)]
    assert explain_typing("bash", "-c", text)[0].startswith(ENDS)
    assert [each.message for each in check_script(text).problems if each.message.startswith(ENDS)]


@pytest.mark.parametrize("text", ["python t.py & wait", "python t.py &\nwait $!", "a & b", "a &\nsleep infinity",
                                  "bash -c 'a &'; b", "f() { a & }; f; tail -f l", "a & while true; do b; done",
                                  'echo "a &"', "if x; then a & fi"])  # fmt: skip
def test_a_shell_that_goes_on_behind_it_is_not(text: str) -> None:
    assert explain_job("bash", "-c", text) == explain_typing("bash", "-c", text) == []


def test_a_script_for_other_machines_ends_before_them() -> None:
    assert not check_script("for h in a b; do ssh $h python t.py & done").problems
    assert not check_script("bash -c 'python t.py &'").problems


def test_only_one_word_is_the_text_of_a_shell() -> None:
    expected = 'bash -c runs python alone, as only the word behind -c is its text: write one text, "python -m pkg"'
    assert explain_job("bash", "-c", args=["python", "-m", "pkg"]) == [expected]
    assert explain_typing("bash", "-c", "python", "-m", "pkg") == [expected]
    assert "--lr 1 behind the text of sh -c" in explain_typing("sh", "-ec", "python t.py", "--lr", "1")[0]


@pytest.mark.parametrize("words", [("$(RUN)", "a", "b"), ('python t.py "$@"', "bash", "--lr"), ("python t.py", "bash"),
                                   ("python t.py",)])  # fmt: skip
def test_arguments_of_a_text_that_reads_them_are_its_own(words: tuple[str, ...]) -> None:
    assert explain_job("bash", "-c", args=list(words)) == []
