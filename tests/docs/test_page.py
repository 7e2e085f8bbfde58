"""How a page of the documentation is read as a test."""

from __future__ import annotations

import pytest

from docs.page import Step, find_missing, read_calls, read_page

PAGE = """# A page
<!-- file: train.py -->
```python
print("here")
```
Then:
```sh
paddock run -- python train.py   # a comment
paddock get \\
  -o json
```
It prints
```text
here
Completed in … s.
```
<!-- file: names.txt -->
```text
one
```
<!-- exit: 1 -->
<!-- not run: it needs a cluster -->
```sh
paddock wait x
```
```yaml
for: the reader
```
"""


def test_a_page_is_files_and_commands_in_its_order() -> None:
    assert read_page(PAGE) == (
        Step(3, 'print("here")\n', file="train.py"),
        Step(
            7,
            "paddock run -- python train.py   # a comment\npaddock get \\\n  -o json\n",
            prints=("here", "Completed in … s."),
        ),
        Step(18, "one\n", file="names.txt"),
        Step(23, "paddock wait x\n", exit_code=1, not_run="it needs a cluster"),
    )


def test_commands_are_read_without_comments_and_line_ends() -> None:
    assert read_page(PAGE)[1].commands == ("paddock run -- python train.py", "paddock get -o json")


@pytest.mark.parametrize(
    ("text", "said"),
    [("```sh\ntrue\n", "line 1: the fence is not closed"), ("<!-- exit: 1 -->\n", "these marks stand before no block")],
)
def test_a_page_that_is_not_whole_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_page(text)


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("paddock get", [["get"]]),
        ("paddock run -- python a.py 'a b' '$HOME'", [["run", "--", "python", "a.py", "a b", "$HOME"]]),
        ("paddock wait x && paddock get -o json | head -1", [["wait", "x"], ["get", "-o", "json"]]),
        ('echo "$(paddock kubeconfig)"', []),
        ("echo nothing", []),
    ],
)  # fmt: skip
def test_each_paddock_of_a_line_is_found_with_its_arguments(line: str, calls: list[list[str]]) -> None:
    assert list(read_calls(line)) == calls


@pytest.mark.parametrize(
    ("expected", "missing"),
    [
        ((), ""),
        (("one", "three 3"), ""),
        (("…", "th…ee …"), ""),
        (("three 3", "one"), "one"),
        (("one", "one"), "one"),
        (("on",), "on"),
    ],
)
def test_lines_are_printed_in_the_order_of_the_page(expected: tuple[str, ...], missing: str) -> None:
    assert find_missing(expected, "one\ntwo  \nthree 3\n") == missing
