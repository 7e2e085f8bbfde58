"""One real registry for all tests of images, and packages without a network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.registries import RealRegistry, serve_registry


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRegistry]:
    with serve_registry(tmp_path_factory.mktemp("registry")) as served:
        yield served
