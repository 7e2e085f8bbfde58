"""Both sandboxes as parameters of a fixture: `pytest.fixture(params=SANDBOXES)`.

A user of this machine gets bubblewrap where it works and `none` where it does not. `make test` runs that half. Where
bubblewrap works, the other half is marked `unsandboxed` and left to `make test-all`; CI hides bubblewrap once.
"""

from __future__ import annotations

import pytest

from paddock.node.runtime.sandbox import NoSandbox, Sandbox, choose_sandbox
from support.programs import lack, need

_WITHOUT = () if choose_sandbox("auto").name == "none" else pytest.mark.unsandboxed

SANDBOXES = ("bubblewrap", pytest.param("none", marks=_WITHOUT))


def need_sandbox(name: str) -> Sandbox:
    """The sandbox of this name; skips the test where bubblewrap is not installed or does not work."""
    if name == "bubblewrap":
        need("bwrap")
    try:
        return choose_sandbox(name)
    except NoSandbox as error:
        lack("bwrap", f"does not work here: {error}")
