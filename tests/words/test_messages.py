"""A message of the API, which is stored in English, is told in the reader's language as its writer would tell it."""

from __future__ import annotations

import re
import string
import time

import pytest

from jobs.gangs import NOW
from jobs.test_causes import SENTENCES
from paddock.jobs.causes import Cause
from paddock.jobs.sentences.explain import explain
from paddock.words.catalogues import read_texts, translate, translate_counted
from paddock.words.messages import LONGEST, match, read_template, translate_message

_NUMBERED = ("count", "restart", "limit", "code", "signal", "seconds", "delay", "percent", "number", "needed")
VALUES = dict.fromkeys((*_NUMBERED, "part", "whole", "asked", "has"), "7") | {"positions": "5-9"}
AMBIGUOUS = {"{names} and {count} more", "waiting for {rank}: {why}, {message}"}
"""Texts that a list of names, or another clause, looks like."""


def read_recognised() -> list[tuple[str, str, str]]:
    """Each text that is recognised, with values in it: English, Chinese, and the text."""
    found = []
    for one, many in read_texts("zh"):
        for shown in (one, many) if many else (one,):
            template = read_template(one, many, shown=shown)
            wanted = {name for _, name, _, _ in string.Formatter().parse(many) if name}
            if template is None or not wanted.issubset(template.names) or one in AMBIGUOUS:
                continue
            values = {name: VALUES.get(name) or f"x{n}" for n, name in enumerate(template.names)}
            said = translate_counted(one, many, 2, "zh") if many else translate(one, "zh")
            found.append((shown.format_map(values), said.format_map(values), one))
    return found


def test_each_text_of_the_catalogue_is_recognised_with_its_values() -> None:
    texts = read_recognised()
    assert len(texts) > 300
    assert [(english, said) for english, said, _ in texts if translate_message(english, "zh") != said] == []


@pytest.mark.parametrize("kind", [kind for kind, _ in SENTENCES], ids=lambda kind: kind.reason)
def test_an_event_of_a_cause_is_told_as_the_cause_is(kind: Cause) -> None:
    record = kind.record(NOW)
    english, chinese = explain(record), explain(record, "zh")
    # What no text is known for may begin with either colon; a scheduler's full stop is Chinese in a message.
    said = translate_message(english, "zh").replace(": ", "：").rstrip("。")
    assert said == chinese.replace(": ", "：").rstrip("。.")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("the moon is full", "the moon is full"),
        ("ValueError: optimizer got an empty parameter list", "ValueError: optimizer got an empty parameter list"),
        ("", ""),
        ("failed: worker-0 ended with exit code 3; its log has the reason",
         "失败：worker-0 以退出码 3 结束；原因见它的日志"),
        ("starting all ranks again: worker-0, worker-1, worker-2 and 6 more were deleted; not counted as a restart",
         "重新启动所有 rank：worker-0、worker-1、worker-2 等 9 个 被删除；不计为重启"),
        ("environment paddle-ps: building (paddlepaddle 3.0.0)", "环境 paddle-ps：正在构建（paddlepaddle 3.0.0）"),
        ("used 200 MiB of its limit of 200 MiB", "已用 200 MiB，上限为 200 MiB"),
        ('livenessProbe failed 2 times in a row: command "false" ended with exit code 1',
         'livenessProbe 连续失败 2 次：命令 "false" 以退出码 1 结束'),
        ("postStart hook failed: sh: 1: cannot create /x", "postStart 钩子失败：sh: 1: cannot create /x"),
        ("{braces} {0} %s", "{braces} {0} %s"),
    ],
)  # fmt: skip
def test_what_is_known_is_told_and_what_is_not_stays(message: str, said: str) -> None:
    assert translate_message(message, "zh") == said
    assert translate_message(message, "en") == message
    assert translate_message(message, "tlh") == message


@pytest.mark.parametrize(
    ("text", "message", "values"),
    [
        ("waiting for {pods}", "waiting for 2 pods", {"pods": "2 pods"}),
        ("waiting for {pods}", "waiting for ", None),
        ("{ranks} was deleted", "worker-0 was deleted", {"ranks": "worker-0"}),
        ("{count} of {all} ready", "1 of 2 ready", {"count": "1", "all": "2"}),
        ("{count} of {all} ready", "one of 2 ready", None),
        ("{asked} of {has} asked for", "4 of 16Gi asked for", {"asked": "4", "has": "16Gi"}),
        ("{asked} of {has} asked for", "h sends a part of it, though all was asked for", None),
        ("{verb} {resource} in namespace {namespace}", "there is no pod in namespace a", None),
        ("{name} replaces {name} here", "a replaces a here", {"name": "a"}),
        ("{name} replaces {name} here", "a replaces b here", None),
        ("{{{taint}}} is known", "{x: y} is known", {"taint": "x: y"}),
        ("overlapping {name}ping", "overlapping", None),
    ],
)
def test_values_stand_between_the_fixed_parts(text: str, message: str, values: dict[str, str] | None) -> None:
    template = read_template(text)
    assert template is not None and match(template, message) == values


@pytest.mark.parametrize("text", ["{said}; {why}", "none", "{a!r} is not known", "{a:>3} is known", "the {a}{b}", "{"])
def test_a_text_that_would_fit_anything_or_is_no_sentence_is_not_recognised(text: str) -> None:
    assert read_template(text) is None


@pytest.mark.parametrize("part", ["waiting for ", "a: ", "; ", "worker-0, ", "{", "failed: ", " and ", "0/1 "])
def test_the_longest_message_costs_little(part: str) -> None:
    """Linear in the message for each text: what an attacker writes into an event must not stop a `describe`."""
    message = (part * LONGEST)[:LONGEST]
    begun = time.process_time()
    translate_message(message, "zh")
    assert time.process_time() - begun < 10
    assert translate_message(message + "x" * LONGEST, "zh") == message + "x" * LONGEST


@pytest.mark.parametrize(
    "message",
    [
        "https://h/a.tar has the checksum sha256 5f, and spec.source.sha256 says 9f: the file is another one, or the "
        "checksum is; what was fetched of it is removed",
        "there is no bucket words at http://h: correct spec.source.uri, or the endpoint",
        "there is no directory /data on this machine",
        's3://words/ at http://h has "../x", which cannot be a file: a part of its name is empty, "." or "..", or a '
        "character of it is not allowed; rename it there, or name a prefix without it",
        "the process that fetches ended by signal 9, without a word; what it printed is in /a/b.log",
    ],
)
def test_why_a_dataset_failed_is_chinese_as_a_whole(message: str) -> None:
    said = translate_message(message, "zh")
    left = re.sub(r"\S*[/.\"]\S*|sha256|endpoint|words|\bat\b", "", said)
    assert not re.search("[A-Za-z]{2,}", left), said
