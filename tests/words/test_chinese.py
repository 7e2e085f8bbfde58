"""The Chinese of the catalogue and of the pages keeps to one style. Whether all is translated: tests/tools."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from catalogues import ROOT, places, read

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
PAGES = rf"您|轮次|挂起|结局|\d %(?!\w)|{HAN}[,:;?!]{HAN}"
"""What no page has; elsewhere than in a sentence 轮 may be an epoch, and 作业 a job of another platform."""


def list_sentences() -> Iterator[tuple[str, str]]:
    """Each Chinese text with its English one, of a plural the last."""
    for message in read("zh"):
        english = message.id if isinstance(message.id, str) else message.id[-1]
        for said in (message.string,) if isinstance(message.string, str) else message.string:
            if english:
                yield english, said


@pytest.mark.parametrize(("rule", "wrong"), STYLE.items(), ids=STYLE)
def test_the_catalogue_keeps_to_one_style(rule: str, wrong: str) -> None:
    assert [said for _, said in list_sentences() if re.search(wrong, said)] == [], rule


def test_each_sentence_is_said_with_places_that_its_english_has() -> None:
    assert [said for english, said in list_sentences() if not said or not places(said) <= places(english)] == []


def test_the_pages_use_the_words_of_the_catalogue() -> None:
    pages = [ROOT / "README.zh-CN.md", *(ROOT / "docs").rglob("*.zh-CN.md")]
    found = {page.name: re.findall(PAGES, page.read_text(encoding="utf-8")) for page in pages}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize("said", ["请您稍候", "第 {attempt} 轮", "任务,已结束", "已下载 41 %", "等待 pod 结束"])
def test_the_rules_find_what_they_forbid(said: str) -> None:
    assert any(re.search(wrong, said) for wrong in STYLE.values())
