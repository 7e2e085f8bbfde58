"""The certificate is kept in the configuration: put back, renewed, beside those of others; trouble ends nothing."""

from __future__ import annotations

import base64
import copy
import logging
from datetime import timedelta

import pytest

from paddock.install.webhook import NAME, build_webhook_rights
from paddock.kube.api import Api
from paddock.kube.calls import Call, T
from paddock.kube.errors import Forbidden
from paddock.webhook.certificates import Certificate, make_certificate
from paddock.webhook.keeper import Keeper, with_bundle
from support.rights import Guard
from webhook.cluster import SHIPPED, START, Cluster


class Process:
    """A keeper with what it serves, by a virtual clock that its pauses move."""

    def __init__(self, api: Api) -> None:
        self.api, self.now, self.slept = api, START, 0.0
        self.served: list[Certificate] = []
        self.waited: list[float] = []
        """How long before each was served."""
        self.keeper = Keeper(
            api, NAME, ("a.b.svc",), self._load, clock=lambda: self.now.timestamp(), life=timedelta(days=30),
            sleep=self._sleep,
        )  # fmt: skip

    def _load(self, certificate: Certificate) -> None:
        self.served.append(certificate)
        self.waited.append(self.slept)
        self.slept = 0.0

    async def _sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.now += timedelta(seconds=seconds)

    @property
    def pem(self) -> str:
        return self.served[-1].pem


async def test_a_process_writes_its_certificate_once_and_is_ready_then() -> None:
    cluster = Cluster()
    process = Process(cluster)
    assert process.keeper.unready_reason
    await process.keeper.keep()
    assert (process.pem in cluster.bundle, process.keeper.unready_reason) == (True, "")
    await process.keeper.keep()
    assert cluster.writes == 1


async def test_nothing_else_of_the_configuration_is_changed() -> None:
    cluster = Cluster()
    before = copy.deepcopy(cluster.stored)
    await Process(cluster).keeper.keep()
    del cluster.client["caBundle"]
    cluster.stored["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
    assert cluster.stored == before


async def test_two_replicas_keep_both_certificates() -> None:
    cluster = Cluster()
    first, second = Process(cluster), Process(cluster)
    for each in (first, second, first, second):
        await each.keeper.keep()
    assert first.pem in cluster.bundle
    assert second.pem in cluster.bundle
    assert cluster.writes == 2


async def test_a_write_of_another_meanwhile_is_not_lost() -> None:
    cluster = Cluster()
    other = make_certificate(("a.b.svc",), START).pem

    async def write_another() -> None:
        cluster.before_write = None
        changed = with_bundle(cluster.stored, other, START)
        cluster.write(changed)

    cluster.before_write = write_another
    process = Process(cluster)
    await process.keeper.keep()
    assert process.pem in cluster.bundle
    assert other in cluster.bundle


async def test_conflicts_without_end_are_trouble_and_no_loop(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()

    async def write_always() -> None:
        cluster.write(cluster.stored)

    cluster.before_write = write_always
    process = Process(cluster)
    assert 0 < await process.keeper.keep() <= 10
    assert process.keeper.unready_reason
    assert "cannot be read or written" in caplog.text


async def test_a_certificate_that_an_apply_took_out_is_put_back() -> None:
    cluster = Cluster()
    process = Process(cluster)
    await process.keeper.keep()
    del cluster.client["caBundle"]
    await process.keeper.keep()
    assert process.pem in cluster.bundle


@pytest.mark.parametrize("value", ["", "no base64!", base64.b64encode(b"\xff\xfe").decode(), "aGFsbG8="])
async def test_a_bundle_that_cannot_be_read_is_replaced(value: str) -> None:
    cluster = Cluster()
    cluster.client["caBundle"] = value
    process = Process(cluster)
    await process.keeper.keep()
    assert cluster.bundle.strip() == process.pem


async def test_it_renews_with_a_third_left_and_serves_the_new_one_when_it_is_known() -> None:
    cluster = Cluster()
    process = Process(cluster)
    await process.keeper.keep()
    process.now = START + timedelta(days=19)
    await process.keeper.keep()
    assert len(process.served) == 1
    process.now = START + timedelta(days=20)
    process.slept = 0.0
    await process.keeper.keep()
    old, new = process.served
    assert process.waited[1] >= 5, "the API servers had no time to hear of it"
    assert old.pem in cluster.bundle, "connections with the old one would fail meanwhile"
    assert new.pem in cluster.bundle
    assert new.ends > old.ends
    process.now = START + timedelta(days=31)
    await process.keeper.keep()
    assert cluster.bundle.strip() in (new.pem, f"{old.pem}\n{new.pem}"), "nothing else was written"


async def test_a_renewal_that_cannot_be_written_is_not_served() -> None:
    cluster = Cluster()
    process = Process(cluster)
    await process.keeper.keep()
    stored, cluster.stored = cluster.stored, None
    process.now = START + timedelta(days=25)
    await process.keeper.keep()
    assert len(process.served) == 1
    cluster.stored = stored
    await process.keeper.keep()
    assert len(process.served) == 2


async def test_without_a_configuration_it_says_so_once_and_tries_again(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    stored, cluster.stored = cluster.stored, None
    process = Process(cluster)
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            assert await process.keeper.keep() <= 10
    said = f"there is no ValidatingWebhookConfiguration {NAME}"
    assert (process.keeper.unready_reason, caplog.text.count(said)) == (said, 1)
    cluster.stored = stored
    await process.keeper.keep()
    assert process.keeper.unready_reason == ""


async def test_a_bug_or_a_refusal_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Cluster):
        error: Exception = Forbidden("may not")

        async def send(self, call: Call[T]) -> T:
            raise self.error

    cluster = Broken()
    process = Process(cluster)
    await process.keeper.keep()
    cluster.error = KeyError("webhooks")
    await process.keeper.keep()
    assert process.keeper.unready_reason
    assert [each.levelname for each in caplog.records] == ["WARNING", "ERROR"]


async def test_an_expired_certificate_is_not_ready() -> None:
    cluster = Cluster()
    process = Process(cluster)
    await process.keeper.keep()
    cluster.stored = None
    process.now = START + timedelta(days=31)
    await process.keeper.keep()
    assert process.keeper.unready_reason == "the certificate has expired"


async def test_it_lives_with_exactly_the_rights_of_its_role() -> None:
    guard = Guard(Cluster(), SHIPPED)
    await Process(guard).keeper.keep()
    assert guard.refused == set()
    assert guard.used == guard.granted
    (right,) = build_webhook_rights(NAME)
    assert {each.name for each in guard.granted} == {right.name} == {NAME}
