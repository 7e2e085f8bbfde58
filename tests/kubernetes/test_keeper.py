"""A console that keeps, at a real Kubernetes API server, with the account that `paddock manifests console --keep`
prints: runs are recorded, and readers see those that their own tokens may see."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.app.consoles.cluster import Options, Shown, run_readers
from paddock.app.consoles.keeping.keeper import Keeping
from paddock.app.health import Address
from paddock.app.home import Home
from paddock.client.kubeconfig import read_server
from paddock.install.console import KEEPER, build_keeper
from paddock.kube.meta import name_of, uid_of
from support.deployed import Kubectl
from support.kept import ask, list_runs
from support.operator_seam import JOBS, build_job
from support.waiting import until
from support.worlds import ControlPlane, create_namespace, open_real, remove_namespace

pytestmark = [pytest.mark.kubernetes]


def make_token(kubectl: Kubectl, namespace: str, account: str) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    address = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    answer = kubectl("create", "--raw", address, "-f", "-", stdin=json.dumps(request))
    return str(json.loads(answer)["status"]["token"])


def let_in(kubectl: Kubectl, namespace: str, name: str, *resources: str) -> str:
    """The token of a new account that may get these in the namespace."""
    kubectl("create", "serviceaccount", name, "-n", namespace)
    for number, resource in enumerate(resources):
        role = f"{name}-{number}"
        kubectl("create", "role", role, "-n", namespace, "--verb=get,list,watch", f"--resource={resource}")
        kubectl(
            "create", "rolebinding", role, "-n", namespace, f"--role={role}", f"--serviceaccount={namespace}:{name}"
        )
    return make_token(kubectl, namespace, name)


@asynccontextmanager
async def keeping(control_plane: ControlPlane, token: str, directory: Path) -> AsyncIterator[str]:
    """The address of a console with this token of the keeper's account."""
    stop, started = asyncio.Event(), asyncio.get_running_loop().create_future()
    server = read_server(str(control_plane.kubeconfig))
    options = Options(Address("127.0.0.1", 0), keeping=Keeping(directory / "kept", replace(server, token=token)))
    home = Home(directory / "home", directory / "cache")
    task = asyncio.create_task(run_readers(server, Shown("prod", ""), options, home, stop, started.set_result))
    try:
        yield f"http://{await started}"
    finally:
        stop.set()
        await task


@pytest.mark.timeout(300)
async def test_the_printed_account_is_enough_and_readers_see_what_their_tokens_may_see(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    kubectl = Kubectl(control_plane)
    async with open_real(control_plane) as world, AsyncExitStack() as stack:
        where = await create_namespace(world.api)
        theirs = await create_namespace(world.api)
        for namespace in (where, theirs):
            stack.push_async_callback(remove_namespace, world.api, namespace)
        for manifest in build_keeper(where):
            await asyncio.to_thread(kubectl, "apply", "-f", "-", stdin=json.dumps(manifest))
        for kind in ("clusterrole", "clusterrolebinding"):  # other tests of this control plane count what is left
            stack.push_async_callback(asyncio.to_thread, kubectl, "delete", kind, KEEPER)
        mine = world.namespace
        jobs = f"{JOBS.plural}.{JOBS.group}"
        reader = await asyncio.to_thread(let_in, kubectl, mine, "reader", jobs, "pods/log")
        other = await asyncio.to_thread(let_in, kubectl, theirs, "other", jobs, "pods/log")
        token = await asyncio.to_thread(make_token, kubectl, where, KEEPER)
        async with keeping(control_plane, token, tmp_path) as url:

            async def list_recorded() -> list[tuple[str, bool]]:
                answer = await ask(url, f"/kept/v1/namespaces/{mine}/runs", reader)
                runs = (await list_runs(url, reader, mine)).runs if answer.status == 200 else ()
                return [(run.uid, run.deleted is not None) for run in runs]

            async def is_recorded(deleted: bool) -> bool:
                return await list_recorded() == [(uid_of(job), deleted)]

            job = await world.api.create(JOBS, build_job("kept", ps=0, worker=1, namespace=mine))
            # A job that goes before the console has looked for the first time is seen by nobody.
            await until(lambda: is_recorded(False))
            await world.api.delete(JOBS, mine, name_of(job))
            await until(lambda: is_recorded(True))
            assert (await ask(url, f"/kept/v1/namespaces/{mine}/runs", other)).status == 403
            assert (await ask(url, f"/kept/v1/namespaces/{mine}/logs?name=kept", other)).status == 403
            assert (await ask(url, f"/kept/v1/namespaces/{mine}/logs?name=kept", reader)).status == 200
            assert (await ask(url, f"/kept/v1/namespaces/{mine}/runs", "no.such.token")).status == 401
            assert (await ask(url, "/healthz")).body == b"ok\n"
