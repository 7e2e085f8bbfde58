from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from environments.packages import Index


@pytest.fixture
async def index() -> AsyncIterator[Index]:
    served = Index()
    await served.start()
    yield served
    served.hold = False
    await served.stop()
