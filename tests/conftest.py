"""What all tests share: goldens, files that hold what a function gave when somebody last read it with care.

`pytest --rewrite-goldens` writes them anew; read the difference before you keep it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-goldens", action="store_true", help="write the goldens anew instead of comparing")


@pytest.fixture
def match_golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`match_golden("pods.yaml", text)`: `text` is what `goldens/pods.yaml` beside the test holds."""
    folder = Path(request.path).parent / "goldens"
    rewrite: bool = request.config.getoption("--rewrite-goldens")

    def match(name: str, text: str) -> None:
        path = folder / name
        if rewrite:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"there is no golden {path}; pytest --rewrite-goldens writes it"
        assert text == path.read_text(encoding="utf-8")

    return match
