"""The Chinese of the catalogue keeps to one style. What is translated at all: tests/tools/test_catalogues.py."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from catalogues import places, read

HAN = "[\u4e00-\u9fff]"
STYLE = {
    "the reader is 你": "您",
    "an attempt is 一次尝试, as 轮 is an epoch": "轮",
    "a job is 暂停": "挂起",
    "how a run ended is 最终状态": "结局",
    "a job is 任务": "作业",
    "punctuation between Chinese characters is full-width": f"{HAN}[,:;?!]{HAN}",
    "no space stands before %": r"(?:\d|\}) %(?!\()",
    "Kubernetes writes Pod": rf"{HAN} ?pods? ?{HAN}",
    "one form of the API server": "API server",
}
TEMPLATES = frozenset({"格式应为 地址:端口", "把 --nnodes 写成 最小:最大"})
"""Forms of what is typed, with a half-width colon."""


def list_sentences() -> Iterator[tuple[str, str]]:
    """Each Chinese text with its English one, of a plural the last."""
    for message in read("zh"):
        english = message.id if isinstance(message.id, str) else message.id[-1]
        for said in (message.string,) if isinstance(message.string, str) else message.string:
            if english:
                yield english, said


@pytest.mark.parametrize(("rule", "wrong"), STYLE.items(), ids=STYLE)
def test_the_catalogue_keeps_to_one_style(rule: str, wrong: str) -> None:
    found = [said for _, said in list_sentences() if re.search(wrong, said)]
    assert [said for said in found if not any(each in said for each in TEMPLATES)] == [], rule


def test_each_sentence_is_said_with_places_that_its_english_has() -> None:
    assert [said for english, said in list_sentences() if not said or not places(said) <= places(english)] == []


@pytest.mark.parametrize("said", ["请您稍候", "第 {attempt} 轮", "任务,已结束", "已下载 41 %", "等待 pod 结束"])
def test_the_rules_find_what_they_forbid(said: str) -> None:
    assert any(re.search(wrong, said) for wrong in STYLE.values())
