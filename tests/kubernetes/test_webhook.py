"""The webhook of `deploy/v1/webhook.yaml` before a real API server: kubectl prints its refusals in the words of
`paddock validate`, it fails open, and its certificate is renewed while it serves.

The control plane has no node, so the process runs here, with the account and the rights of the manifest, and the
configuration leads to it by address.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from cryptography import x509

from paddock.app.health import Address
from paddock.app.webhook import Options, run_webhook
from paddock.cli.main import cli
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.install.deployment import NAMESPACE
from paddock.install.webhook import ACCOUNT, CONFIGURATIONS, NAME, PATH
from paddock.kube.meta import Manifest
from paddock.webhook.keeper import read_bundle
from support.deployed import Kubectl, until_served, webhook, write_kubeconfig
from support.waiting import until
from support.worlds import open_control_plane
from webhook.jobs import Edit, labelled, make, nothing, twice_the_name

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with open_control_plane(tmp_path_factory.mktemp("webhook-control-plane")) as plane:
        found = Kubectl(plane)
        files = ("crd.yaml", "kubeflow.yaml", "operator.yaml", "webhook.yaml")
        found("apply", *(word for file in files for word in ("-f", f"deploy/v1/{file}")))
        asyncio.run(until_served(found))
        yield found


@pytest.fixture
def account(kubectl: Kubectl, tmp_path: Path) -> Path:
    """A kubeconfig with the rights of the webhook."""
    return write_kubeconfig(kubectl.control_plane, tmp_path / "kubeconfig", account=ACCOUNT)


def lead_to(kubectl: Kubectl, port: int) -> None:
    url = {"op": "add", "path": "/webhooks/0/clientConfig/url", "value": f"https://127.0.0.1:{port}{PATH}"}
    service = {"op": "remove", "path": "/webhooks/0/clientConfig/service"}
    found = json.loads(kubectl("get", CONFIGURATIONS.plural, NAME, "-o", "json"))
    steps = [url, service] if "service" in found["webhooks"][0]["clientConfig"] else [{**url, "op": "replace"}]
    kubectl("patch", CONFIGURATIONS.plural, NAME, "--type=json", "-p", json.dumps(steps))


def apply(kubectl: Kubectl, *edits: Edit, name: str = "demo", dry: bool = False) -> subprocess.CompletedProcess[str]:
    job = make(*edits)
    job["metadata"]["name"] = name
    words = ("--dry-run=server",) if dry else ()
    return kubectl.run("apply", *words, "-f", "-", stdin=json.dumps(job))


def sentences(directory: Path, *edits: Edit) -> list[str]:
    """What `paddock validate` says, without the file and the line."""
    file = directory / "job.yaml"
    file.write_text(yaml.safe_dump(make(*edits), sort_keys=False))
    lines = CliRunner().invoke(cli, ["validate", str(file)]).output.splitlines()
    return [line.split(": ", 1)[1] for line in lines if line.startswith(str(file))]


async def until_refused(kubectl: Kubectl, refused: bool = True) -> None:
    """A server hears of a configuration a moment after it is written."""

    async def settled() -> bool:
        done = await asyncio.to_thread(apply, kubectl, twice_the_name, name="probe", dry=True)
        return (done.returncode != 0) is refused

    await until(settled)


async def test_a_wrong_manifest_is_refused_in_the_words_of_validate_and_taken_when_the_process_is_killed(
    kubectl: Kubectl, account: Path, tmp_path: Path
) -> None:
    assert apply(kubectl, twice_the_name, name="before").returncode == 0, "nobody serves the webhook yet"
    with webhook(account) as process:
        lead_to(kubectl, await process.port())
        await until_refused(kubectl)
        refused = apply(kubectl, twice_the_name)
        said = sentences(tmp_path, twice_the_name)
        assert len(said) == 2
        assert refused.returncode == 1
        assert [line for line in said if line not in refused.stderr] == [], refused.stderr
        assert apply(kubectl, nothing).returncode == 0
        taken = apply(kubectl, twice_the_name, labelled, name="before")
        assert taken.returncode == 0, taken.stderr
        kubectl("label", "pdj", "before", "more=labels")
        worse = apply(kubectl, twice_the_name)
        assert worse.returncode == 1
        assert said[0] in worse.stderr
        kubectl("delete", "pdj", "before")
        assert process.end(9) == -9
    assert apply(kubectl, twice_the_name).returncode == 0, "it fails open"
    errors = [each["msg"] for each in process.entries() if each["level"] in ("error", "warning")]
    assert errors == []


async def test_it_ends_in_order(kubectl: Kubectl, account: Path) -> None:
    with webhook(account) as process:
        await process.port()
        assert process.end() == 0
    assert process.entries()[-1]["msg"] == "ended in order"


Bundle = Callable[[], Awaitable[list[x509.Certificate]]]


@asynccontextmanager
async def serving(account: Path, **options: Any) -> AsyncIterator[tuple[Address, Bundle]]:
    """In this process, with another life of the certificate than the command has."""
    stop, where = asyncio.Event(), asyncio.get_running_loop().create_future()
    chosen = Options(NAME, NAME, NAMESPACE, Address("127.0.0.1", 0), **options)
    async with Client(read_config(str(account))) as api:

        async def bundle() -> list[x509.Certificate]:
            found: Manifest = await api.get(CONFIGURATIONS, "", NAME)
            text = read_bundle(found["webhooks"][0]["clientConfig"].get("caBundle"))
            return x509.load_pem_x509_certificates(text.encode()) if text else []

        running = asyncio.create_task(run_webhook(api, chosen, stop, where.set_result))
        try:
            yield await where, bundle
        finally:
            stop.set()
            await running


async def test_a_certificate_is_renewed_while_it_serves_and_put_back_when_it_is_removed(
    kubectl: Kubectl, account: Path
) -> None:
    life = timedelta(seconds=30)
    async with serving(account, life=life, look=1.0, settle=2.0) as (address, bundle):
        await asyncio.to_thread(lead_to, kubectl, address.port)
        await until_refused(kubectl)
        first = (await bundle())[-1]

        async def has_expired() -> bool:
            return first not in await bundle()

        await until(has_expired, 120)
        await until_refused(kubectl)
        empty = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
        words = ("patch", CONFIGURATIONS.plural, NAME, "--type=json", "-p", json.dumps(empty))
        await asyncio.to_thread(kubectl, *words)
        await until_refused(kubectl)
