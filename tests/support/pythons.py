"""Pythons with real frameworks, built once for all tests of a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def python_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """`python_of("paddle")`: a Python of a default environment: paddle (3.3.1), paddle-ps (3.0.0), pytorch."""
    # Not at the top, where they would be of every test (`--affected`).
    from paddock.environments.builder import Builder
    from paddock.environments.defaults import build_defaults
    from paddock.environments.definition import read_definition
    from paddock.environments.uv import find_uv

    builder = Builder(tmp_path_factory.mktemp("environments"), dict(os.environ), find_uv())
    definitions = {each.name: each for each in map(read_definition, build_defaults())}
    built: dict[str, str] = {}

    def find(name: str) -> str:
        if name not in built:
            path = asyncio.run(builder.build(definitions[name], lambda progress: None)).path
            built[name] = f"{path}/bin/python3"
        return built[name]

    return find
