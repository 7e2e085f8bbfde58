"""What all tests share: goldens, and the two worlds that an operator serves.

Goldens are files that hold what a function gave when somebody last read it with care; `pytest --rewrite-goldens` writes
them anew, and the difference is to be read before it is kept. Worlds are in `worlds`; the real one is skipped, with the
reason, where this machine has no control plane (`make kubernetes` builds it).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from support.worlds import ControlPlane, World

pytest_plugins = [
    "support.affected",
    "support.costs",
    "support.guard",
    "support.order",
    "support.pythons",
    "support.signals",
    "support.skips",
]

# Each of the thousand commands that tests start would compile all of its modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# `run` names the variables of a shell that a script would read: this machine's are not what a test is about.
for _name in [each for each in os.environ if each.startswith(("GOMP_", "KMP_", "MKL_", "OMP_", "OPENBLAS_"))]:
    del os.environ[_name]
# A command answers in the language and the colours of the user's session, and asks the cluster that it names.
_OF_SESSIONS = ("CLICOLOR", "FORCE_COLOR", "LANGUAGE", "LC_", "NO_COLOR", "PADDOCK_", "TTY_COMPATIBLE")
for _name in [each for each in os.environ if each.startswith(_OF_SESSIONS)]:
    del os.environ[_name]
os.environ["LANG"] = "C.UTF-8"
# A proxy is for what tests fetch from elsewhere. Their own servers are reached without it.
if any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") for name in os.environ):
    for _name in ("no_proxy", "NO_PROXY"):
        os.environ[_name] = ",".join(filter(None, (os.environ.get(_name), "127.0.0.0/8", "127.0.0.1", "localhost")))

# Seconds say more of the machine than of the code: Hypothesis times no example. Each run of `make test` draws others,
# so a few of each property do; `make test-all`, and CI for what has changed, have `--hypothesis-profile=many`.
for profile, examples in {"few": 10, "many": 200}.items():
    settings.register_profile(
        profile, max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("few")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-goldens", action="store_true", help="write the goldens anew instead of comparing")


@pytest.fixture
def tries_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller tries a refused key again after 20 ms at first, not 100: six tries are told of, and take 0.6 s."""
    monkeypatch.setattr("paddock.controllers.queue.FIRST_DELAY", 0.02)


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
    from support.worlds import open_control_plane  # not at the top, where it would be of every test (`--affected`)

    with open_control_plane(tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane


@pytest.fixture(params=["embedded", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    from support.worlds import open_embedded, open_real

    if request.param == "embedded":
        async with open_embedded(tmp_path) as embedded:
            yield embedded
    else:
        async with open_real(request.getfixturevalue("control_plane")) as real:
            yield real
