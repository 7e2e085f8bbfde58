"""The guard finds changes that a test leaves: here each kind is made, found, and reverted."""

from __future__ import annotations

import functools
import importlib
import locale
import logging
import os
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import paddock
from paddock.kube import quantities
from paddock.node.runtime import processes
from support.process_state import PURE_CACHES, PURE_CONTAINERS, State, explain_changes


def _set_umask() -> Callable[[], Any]:
    return functools.partial(os.umask, os.umask(0o027))


def _set_handler() -> Callable[[], Any]:
    return functools.partial(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, signal.SIG_IGN))


def _set_locale() -> Callable[[], Any]:
    before = locale.setlocale(locale.LC_TIME)
    other = next(each for each in ("C.UTF-8", "C") if each != before)
    locale.setlocale(locale.LC_TIME, other)
    return functools.partial(locale.setlocale, locale.LC_TIME, before)


def _add_handler() -> Callable[[], Any]:
    handler = logging.NullHandler()
    logging.root.addHandler(handler)
    return functools.partial(logging.root.removeHandler, handler)


def _silence_a_logger() -> Callable[[], Any]:
    logger = logging.getLogger("paddock.somewhere")
    logger.setLevel(logging.ERROR)
    return functools.partial(logger.setLevel, logging.NOTSET)


def _start_a_child() -> Callable[[], Any]:
    return subprocess.Popen([sys.executable, "-c", ""]).wait


def _remember_a_process() -> Callable[[], Any]:
    processes._children[0] = None  # type: ignore[assignment]
    return functools.partial(processes._children.pop, 0)


def _replace_a_name() -> Callable[[], Any]:
    return functools.partial(setattr, quantities, "read_quantity", _exchange(quantities, "read_quantity"))


def _exchange(module: Any, name: str) -> Any:
    before = getattr(module, name)
    setattr(module, name, print)
    return before


LEFT: dict[str, tuple[Callable[[], Callable[[], Any]], str]] = {
    "umask": (_set_umask, "the umask was"),
    "handler of a signal": (_set_handler, "a signal's handler was"),
    "locale": (_set_locale, "the locale was"),
    "handler of logs": (_add_handler, "a logger was {"),
    "level of a logger": (_silence_a_logger, "paddock.somewhere"),
    "child": (_start_a_child, "a child process that nobody has waited for: "),
    "entry of a table": (_remember_a_process, "paddock.node.runtime.processes._children was {}, and is {0: None}"),
    "another value of a name": (_replace_a_name, "paddock.kube.quantities.read_quantity was <function"),
}


@pytest.mark.parametrize(("leave", "sentence"), LEFT.values(), ids=LEFT)
def test_what_is_left_is_found_and_named(leave: Callable[[], Callable[[], Any]], sentence: str) -> None:
    before = State()
    put_back = leave()
    try:
        (said,) = explain_changes(before)
    finally:
        put_back()
    assert sentence in said
    assert explain_changes(before) == []


def test_variables_the_directory_and_the_path_are_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = State()
    with monkeypatch.context() as patch:
        patch.setenv("LEFT", "here")
        patch.chdir(tmp_path)
        patch.syspath_prepend(tmp_path)
        said = explain_changes(before)
    kinds = [line.partition(" was ")[0] for line in said]
    assert kinds == ["an environment variable", "the working directory", "sys.path"]
    assert explain_changes(before) == []


def test_a_module_that_is_imported_is_no_change() -> None:
    before = State()
    sys.modules.pop("paddock.words.sentences", None)
    importlib.import_module("paddock.words.sentences")
    assert explain_changes(before) == []


def _modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(paddock.__path__, "paddock."):
        if ".programs" not in found.name and not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def test_every_cache_for_the_life_of_the_process_is_known_to_depend_on_its_arguments_alone() -> None:
    found = {
        f"{value.__module__}.{value.__qualname__}"
        for module in _modules()
        for value in vars(module).values()
        if hasattr(value, "cache_info") and value.__module__.startswith("paddock.")
    }
    assert found == set(PURE_CACHES)
    for name in PURE_CONTAINERS:
        module, _, held = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), held), set)
