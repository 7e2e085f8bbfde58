"""A function becomes a program that runs without the notebook, or an error says what it lacks."""

from __future__ import annotations

import json
import math
import os.path as paths
import subprocess
import sys
import textwrap
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.sdk.functions import build_script
from paddock.sdk.literals import NoLiteral, write_literal

RATE = 0.1


def whole(lr: float, *, tags: tuple[str, ...] = ()) -> None:
    import json

    def again(depth: int) -> int:
        return depth and again(depth - 1)

    class Model:
        size = 2

        def total(self) -> float:
            return self.size * lr

    print(json.dumps([Model().total(), list(tags), again(3), len(tags)]), __name__)
    if lr > 1:
        whole(lr / 10)


def annotated(rate: Callable[..., OrderedDict[str, int]]) -> Path | None:
    found: OrderedDict[str, int] | None = rate  # type: ignore[assignment]
    print(found)
    return None


def uses_a_module() -> None:
    print(math.pi)


def uses_another_name() -> None:
    print(paths.join("a", "b"))


def uses_an_import() -> None:
    print(OrderedDict())


def uses_a_value() -> None:
    print(RATE)


def uses_a_function() -> None:
    whole(RATE)


def uses_nothing_known() -> None:
    print(nowhere)  # type: ignore[name-defined]  # noqa: F821


def uses_a_default(rate: float = RATE) -> None:
    print(rate)


def of_a_notebook() -> None:
    display(1)  # type: ignore[name-defined]  # noqa: F821


def sets_a_global() -> None:
    global COUNT
    COUNT = 1
    print(COUNT)


COUNT = 0


async def waits() -> None:
    pass


def yields() -> Any:
    yield 1


def run(text: str) -> str:
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return ended.stdout


def test_the_program_calls_the_function_with_its_arguments() -> None:
    script = build_script(whole, (5.0,), {"tags": ("a b", '$"x"')})
    assert script.name == "whole"
    lines = run(script.text).splitlines()
    assert json.loads(lines[0].removesuffix(" __main__")) == [10.0, ["a b", '$"x"'], 0, 2]
    assert len(lines) == 2, "it may call itself"


def test_annotations_may_name_what_the_program_lacks() -> None:
    assert run(build_script(annotated, (7,), {}).text) == "7\n"


def test_a_global_of_its_own_is_its_own() -> None:
    assert run(build_script(sets_a_global, (), {}).text) == "1\n"


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (uses_a_module, "uses_a_module uses math, which is not inside it: write `import math` inside it"),
        (uses_another_name, "uses_another_name uses paths, which is not inside it: write `import posixpath as paths` "
         "inside it"),
        (uses_an_import, "uses_an_import uses OrderedDict, which is not inside it: write `from collections import "
         "OrderedDict` inside it"),
        (uses_a_value, "uses_a_value uses RATE, which is not inside it: give it as an argument, by args= or kwargs="),
        (uses_a_function, "uses_a_function uses RATE, which is not inside it: give it as an argument, by args= or "
         "kwargs=\nuses_a_function uses whole, which is not inside it: define it inside"),
        (uses_nothing_known, "uses_nothing_known uses nowhere, which is not inside it: nothing has this name"),
        (uses_a_default, "uses_a_default uses RATE, which is not inside it: give it as an argument, by args= or "
         "kwargs="),
        (of_a_notebook, "of_a_notebook uses display, which is not inside it: nothing has this name"),
        (waits, "waits is async or yields, so a call of it trains nothing: a plain function is wanted"),
        (yields, "yields is async or yields, so a call of it trains nothing: a plain function is wanted"),
        (lambda: None, "train takes a function made by `def`; <lambda> is a lambda"),
        (print, "train takes a function made by `def`; print is a builtin_function_or_method"),
        (Path, "train takes a function made by `def`; Path is a type"),
    ],
)  # fmt: skip
def test_what_is_not_inside_is_named(function: Callable[..., Any], told: str) -> None:
    with pytest.raises(UserError) as error:
        build_script(function, (), {})
    assert str(error.value) == told


def test_a_decorator_and_a_closure_are_not_inside() -> None:
    count = 3

    def closed() -> None:
        print(count)

    with pytest.raises(UserError, match="closed uses count of the function that it was made in"):
        build_script(closed, (), {})


def test_a_function_without_source_is_refused() -> None:
    made: dict[str, Any] = {}
    exec(textwrap.dedent("def typed():\n    pass\n"), made)
    with pytest.raises(UserError, match="the source of typed cannot be read: define it in a cell"):
        build_script(made["typed"], (), {})


def test_arguments_that_do_not_fit_are_told_before_anything_runs() -> None:
    with pytest.raises(UserError, match=r"whole\(\): missing a required argument: 'lr'"):
        build_script(whole, (), {})
    with pytest.raises(UserError, match=r"args\[0\]\[1\] is of type object, which cannot be sent"):
        build_script(whole, ([1, object()],), {})


@pytest.mark.parametrize(
    "value",
    [None, True, -3, 1.5, 2j, "a\n'\"$ 中", b"\x00", [], (), set(), {}, (1,), [1, [2, (3, {4})]], {"a": {1: None}},
     float("inf"), -float("inf"), ...],
)  # fmt: skip
def test_a_literal_reads_back_as_it_was(value: object) -> None:
    assert eval(write_literal(value, "it")) == value


def test_what_is_more_than_a_literal_is_refused() -> None:
    class Number(int):
        pass

    for value in (Number(3), Path("a"), OrderedDict(), frozenset({1}), print):
        with pytest.raises(NoLiteral, match=r"is of type .*, which cannot be sent to another process"):
            write_literal(value, "it")
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(NoLiteral, match="nested too deeply"):
        write_literal(deep, "it")
