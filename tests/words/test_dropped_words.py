"""Words that the Chinese catalogue had beside another for the same thing: CONTRIBUTING.md, Words in Chinese."""

from __future__ import annotations

import re
from pathlib import Path

import paddock

DROPPED = re.compile("产出|关联环境|任务副本数|(?<!卷)存储声明|Doctor|复制一个现有|结局|杀死|资源请求|决定 [0-9]")


def test_no_dropped_word_is_in_the_catalogue() -> None:
    catalogue = Path(paddock.__file__).parent / "locale/zh/LC_MESSAGES/paddock.po"
    said = re.sub(r'(?m)^(#|msgid).*\n(".*"\n)*', "", catalogue.read_text(encoding="utf-8")).replace('"\n"', "")
    assert "运行中" in said and DROPPED.findall(said) == []
