"""Tables in the reader's language: heads, states and durations; columns are as wide as what is shown."""

from __future__ import annotations

from paddock.cli.output.appended_rows import AppendedRows
from paddock.cli.output.tables import build_lines
from paddock.cli.output.terminal import build_table

HEADER = ("NAME", "STATUS", "WORKER", "AGE", "WHY")
ROWS = (("demo", "Running", "2/2", "2m46s", ""), ("other", "CrashLoopBackOff", "0/1", "9s", "Running"))
ENGLISH = [
    "NAME    STATUS             WORKER   AGE     WHY",
    "demo    Running            2/2      2m46s",
    "other   CrashLoopBackOff   0/1      9s      Running",
]
CHINESE = [
    "名称    状态               WORKER   存在时间       原因",
    "demo    运行中             2/2      2 分钟 46 秒",
    "other   CrashLoopBackOff   0/1      9 秒           Running",
]


def test_heads_states_and_durations_have_words_of_the_language_and_nothing_else_has() -> None:
    for language, lines in (("en", ENGLISH), ("zh", CHINESE)):
        assert build_lines(HEADER, ROWS, language) == lines
        assert [line.plain for line in build_table(HEADER, ROWS, language=language)] == lines
        appended = AppendedRows(language)
        assert appended.begin(HEADER, dict(enumerate(ROWS))) == lines
        assert appended.add(0, HEADER, ROWS[0]) == [] and appended.add(1, HEADER, ROWS[0]) == [lines[1]]


def test_a_state_has_its_colour_in_every_language() -> None:
    (_, line, *_) = build_table(HEADER, ROWS, language="zh")
    assert [span.style for span in line.spans if span.style] == ["cyan"]
