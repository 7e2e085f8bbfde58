"""What the code of a run was, as a text, and what of it changed."""

from __future__ import annotations

import pytest

from paddock.kube.code_annotation import Code, explain_code_change, read_code, write_code

PLAIN = Code(files={"train.py": "aaaaaa", "data.py": "bbbbbb"})
CLEAN = Code("3f2a1c90d7be")


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (PLAIN, PLAIN, ""),
        (None, PLAIN, ""),
        (PLAIN, None, ""),
        (PLAIN, CLEAN, ""),  # git came or went: nothing can be compared
        (PLAIN, Code(files={**PLAIN.files, "train.py": "cccccc"}), "train.py"),
        (PLAIN, Code(files={"train.py": "aaaaaa"}), "data.py"),
        (PLAIN, Code(files={**PLAIN.files, "new.py": "cccccc"}), "new.py"),
        (PLAIN, Code(files={f"{name}.py": "a" for name in "abcd"}), "a.py, b.py, c.py, +3"),
        (Code(files={}, more=9, rest="aaaaaa"), Code(files={}, more=9, rest="bbbbbb"), "…"),
        (CLEAN, Code("9be0d1f00000"), "3f2a1c9 → 9be0d1f"),
        (CLEAN, Code("3f2a1c90d7be", {"train.py": "aaaaaa"}), "train.py"),
        (Code("3f2a1c90d7be", {"train.py": "aaaaaa"}), CLEAN, "train.py"),
        (Code("3f2a1c90d7be", {"old.py": "a"}), Code("9be0d1f00000", {"t.py": "b"}), "3f2a1c9 → 9be0d1f; t.py"),
    ],
)
def test_a_change_of_code_is_told_by_commits_and_files(before: Code | None, now: Code | None, said: str) -> None:
    assert explain_code_change(before, now) == said


@pytest.mark.parametrize("code", [PLAIN, CLEAN, Code("3f2a1c90d7be", {"ß.py": "-"}, 4, "aaaaaa")])
def test_the_annotation_is_read_as_it_was_written(code: Code) -> None:
    assert read_code(write_code(code)) == code


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', '{"commit": 3}', '{"files": {"a": 1}}', "{" * 5000, "\ud800"])
def test_what_somebody_else_has_written_is_not_known(text: str) -> None:
    assert read_code(text) is None


def test_nothing_known_writes_nothing() -> None:
    assert write_code(Code()) == ""
