"""Two users of a real API server in one list: each with their own rights, and what one may not do the other does."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from yarl import URL

from paddock.app.consoles.cluster import Shown
from paddock.app.consoles.fleets import Member, serve_fleet
from paddock.app.consoles.links import Link
from paddock.app.home import Home
from paddock.client.kubeconfig import read_config, read_server
from support.deployed import Kubectl
from support.operator_seam import JOBS, build_job
from support.readers import reading
from support.worlds import ControlPlane, open_real

pytestmark = [pytest.mark.kubernetes]


HERE = {"Sec-Fetch-Site": "same-origin"}


def let_look(kubectl: Kubectl, namespace: str) -> str:
    """The token of an account that may see the jobs of this namespace, and nothing else."""
    kubectl("create", "serviceaccount", "looks", "-n", namespace)
    resource = f"--resource={JOBS.plural}.{JOBS.group}"
    kubectl("create", "role", "looks", "-n", namespace, "--verb=get,list,watch", resource)
    account = f"--serviceaccount={namespace}:looks"
    kubectl("create", "rolebinding", "looks", "-n", namespace, "--role=looks", account)
    return str(kubectl("create", "token", "looks", "-n", namespace)).strip()


async def test_each_cluster_of_one_list_has_the_rights_of_its_own_user(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    kubeconfig, home = str(control_plane.kubeconfig), Home(tmp_path, tmp_path)
    links: asyncio.Future[Link] = asyncio.get_running_loop().create_future()
    async with open_real(control_plane) as world:
        await world.api.create(JOBS, build_job("mine", ps=0, worker=1, namespace=world.namespace))
        kubectl = Kubectl(control_plane)
        token = await asyncio.to_thread(let_look, kubectl, world.namespace)
        few = replace(read_server(kubeconfig), token=token, context="looks")
        members = [
            Member("team/all", read_config(kubeconfig), Shown("all", "")),
            Member("looks", few, Shown("looks", " --context looks")),
        ]
        serving = asyncio.create_task(
            serve_fleet(members, 0, lambda make: links.set_result(make("/")), home, lambda _: None)
        )
        try:
            link = (await links).address
            async with reading(URL(link).origin(), headers=HERE) as browser:
                await browser.enter(link)
                async with browser.get("/") as answer:
                    page = await answer.text()
                job = f"jobs/{world.namespace}/paddlejobs.{JOBS.group}/mine"
                assert f'href="/c/team~2Fall/{job}"' in page and f'href="/c/looks/{job}"' not in page
                assert "looks: you may not look into all of its namespaces" in page
                async with browser.get(f"/?namespace={world.namespace}") as answer:
                    page = await answer.text()
                assert f'href="/c/team~2Fall/{job}"' in page and f'href="/c/looks/{job}"' in page
                async with browser.post(f"/c/looks/{job}/suspend") as answer:
                    assert answer.status == 403 and "cannot patch resource" in await answer.text()
                async with browser.post(f"/c/team~2Fall/{job}/suspend") as answer:
                    assert (answer.status, answer.within) == (200, f"/c/team~2Fall/{job}")
            stored = json.loads(kubectl("get", f"paddlejob.{JOBS.group}", "mine", "-n", world.namespace, "-o", "json"))
            assert stored["spec"]["runPolicy"]["suspend"] is True
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
