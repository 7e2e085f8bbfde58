"""Tests that run in two loops: uvloop, of all servers of the product, and asyncio's own, of most tests of them."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

_LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


def in_both_loops(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test for pytest of a coroutine function."""

    @functools.wraps(test)
    def run(loop_of: str, **arguments: Any) -> None:
        with asyncio.Runner(loop_factory=_LOOPS[loop_of]) as runner:
            runner.run(test(**arguments))

    signature = inspect.signature(test)
    chosen = inspect.Parameter("loop_of", inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), chosen])  # type: ignore[attr-defined]
    return pytest.mark.parametrize("loop_of", _LOOPS)(run)
