"""What all tests share: goldens, and the two worlds that an operator serves.

Goldens are files that hold what a function gave when somebody last read it with care; `pytest --rewrite-goldens` writes
them anew, and the difference is to be read before it is kept. Worlds are in `worlds`; the real one is skipped, with the
reason, where this machine has no control plane (`make kubernetes` builds it).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.process_state import State, explain_changes
from support.worlds import ControlPlane, World, open_control_plane, open_embedded, open_real

pytest_plugins = ["support.order", "support.pythons", "support.signals", "support.skips"]

# Each of the thousand commands that tests start would compile all of its modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Seconds say more of the machine than of the code: Hypothesis times no example.
settings.register_profile("paddock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("paddock")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-goldens", action="store_true", help="write the goldens anew instead of comparing")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Fails the test that leaves the process otherwise than it found it (`support.process_state`)."""
    before = State()
    yield
    if changes := explain_changes(before):
        pytest.fail("this test leaves for the next one:\n" + "\n".join(changes), pytrace=False)


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


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One for all tests; no node."""
    with open_control_plane(tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane


@pytest.fixture(params=["embedded", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    if request.param == "embedded":
        async with open_embedded(tmp_path) as embedded:
            yield embedded
    else:
        async with open_real(request.getfixturevalue("control_plane")) as real:
            yield real
