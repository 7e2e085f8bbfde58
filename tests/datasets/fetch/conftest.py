from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from datasets.fetch.buckets import Bucket, open_bucket, open_server


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    with open_server() as endpoint:
        yield endpoint


@pytest.fixture
def bucket(s3_endpoint: str) -> Iterator[Bucket]:
    with open_bucket(s3_endpoint) as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials, no proxies, no certificates of whoever runs the tests."""
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy") or name == "SSL_CERT_FILE":
            monkeypatch.delenv(name)
