"""Sign-in by OpenID Connect at a real Kubernetes API server, which trusts the same provider as the console."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from aiohttp import web

from paddock.app.consoles.cluster import Oidc, Options, Shown, run_readers
from paddock.app.consoles.readers import check_user
from paddock.app.health import Address
from paddock.app.home import Home
from paddock.client.client import Client
from paddock.client.kubeconfig import read_server
from paddock.kube.errors import Unauthorized
from support.deployed import Kubectl
from support.oidc_provider import CLIENT, SECRET, Provider, providing, read, sign_in
from support.operator_seam import JOBS, build_job
from support.readers import reading
from support.worlds import ControlPlane, open_control_plane, open_real

pytestmark = [pytest.mark.kubernetes]


@dataclass(frozen=True, slots=True)
class Place:
    """`namespace`: with a job `mine`, which `lab:ann` may look at."""

    plane: ControlPlane
    provider: Provider
    namespace: str

    @asynccontextmanager
    async def serving(self, provider: Provider, directory: Path) -> AsyncIterator[str]:
        """The console as a pod runs it, with this provider. Its address."""
        secret = directory / "secret"
        secret.write_text(f"{SECRET}\n")
        stop, started = asyncio.Event(), asyncio.get_running_loop().create_future()
        oidc = Oidc(provider.issuer, CLIENT, secret, ("groups",), provider.certificates.authority)
        options = Options(Address("127.0.0.1", 0), oidc=oidc)
        server, shown = read_server(str(self.plane.kubeconfig)), Shown("prod", " --context prod")
        home = Home(directory, directory)
        task = asyncio.create_task(run_readers(server, shown, options, home, stop, started.set_result))
        try:
            yield f"http://{await started}"
        finally:
            stop.set()
            await task

    async def trusts(self, token: str) -> bool:
        """Whether the API server takes an ID token: it asks for the provider's keys some time after its start."""
        async with Client(replace(read_server(str(self.plane.kubeconfig)), token=token)) as api:
            try:
                await check_user(api)
            except Unauthorized:
                return False
        return True


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(300):
        while not await holds():  # noqa: ASYNC110 - it is the server that is waited for
            await asyncio.sleep(0.5)


@contextmanager
def trusting(provider: Provider, directory: Path) -> Iterator[ControlPlane]:
    """A control plane whose API server takes the provider's word."""
    flags = (
        f"--oidc-issuer-url={provider.issuer}",
        f"--oidc-client-id={CLIENT}",
        f"--oidc-ca-file={provider.certificates.authority}",
        "--oidc-username-claim=sub",
        "--oidc-username-prefix=lab:",
        "--oidc-groups-claim=groups",
    )
    with open_control_plane(directory, *(f"--flag=kube-apiserver:{flag}" for flag in flags)) as plane:
        yield plane


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with providing(tmp_path / "id") as provider:
        opening = trusting(provider, tmp_path / "plane")
        plane = await asyncio.to_thread(opening.__enter__)  # the provider answers meanwhile
        try:
            async with open_real(plane) as world:
                await world.api.create(JOBS, build_job("mine", ps=0, worker=1, namespace=world.namespace))
                found, kubectl = Place(plane, provider, world.namespace), Kubectl(plane)
                what = ("--clusterrole=view", "--user=lab:ann")
                await asyncio.to_thread(kubectl, "create", "rolebinding", "ann", "-n", world.namespace, *what)
                rights = ("--verb=get,list,watch", f"--resource={JOBS.plural}.{JOBS.group}")
                await asyncio.to_thread(kubectl, "create", "role", "jobs", "-n", world.namespace, *rights)
                what = ("--role=jobs", "--user=lab:ann")
                await asyncio.to_thread(kubectl, "create", "rolebinding", "jobs", "-n", world.namespace, *what)
                await _until(lambda: found.trusts(provider.write_token({})))
                yield found
        finally:
            await asyncio.to_thread(opening.__exit__, None, None, None)


async def _refuse(_: web.Request) -> web.StreamResponse:
    return web.json_response({"error": "invalid_grant", "error_description": "the lab is closed"}, status=400)


async def test_a_reader_comes_in_by_the_provider_goes_on_by_renewed_tokens_and_is_told_when_they_end(
    place: Place, tmp_path: Path
) -> None:
    provider, address = place.provider, f"/jobs/{place.namespace}/paddlejobs.{JOBS.group}/mine"
    provider.lives = 20.0
    async with place.serving(provider, tmp_path) as url, reading(url) as ann:
        done = await sign_in(ann, provider, address)
        assert done.status == 200, await read(done)

        async def show(path: str) -> tuple[int, str]:
            async with ann.get(path) as page:
                return page.status, await read(page)

        status, text = await show(address)
        assert (status, "mine" in text) == (200, True), text
        assert "You may not look into" in (await show("/?namespace=kube-system"))[1]

        async def renewed() -> bool:
            assert (await show(f"{address}/manifest"))[0] == 200
            return len(provider.posts) >= 3

        async def over() -> bool:
            return (await show(f"{address}/manifest"))[0] != 200

        await _until(renewed)
        assert {form["grant_type"] for form in provider.posts[1:]} == {"refresh_token"}
        provider.instead["/token"] = _refuse
        await _until(over)
        status, text = await show(address)
        assert status == 401
        assert "has expired or was not renewed" in text


async def test_a_cluster_that_does_not_trust_the_provider_is_named(place: Place, tmp_path: Path) -> None:
    async with (
        providing(tmp_path / "another") as another,
        place.serving(another, tmp_path) as url,
        reading(url) as eve,
    ):
        answer = await sign_in(eve, another)
        assert answer.status == 401
        assert "the cluster does not take its word" in await read(answer)
