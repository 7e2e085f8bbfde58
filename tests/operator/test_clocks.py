"""An operator whose machine has the wrong time: jobs end by the API server's clock, over real HTTP."""

from __future__ import annotations

import time
from pathlib import Path

from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.controllers.clock import ServerClock
from paddock.kube.times import read_time
from paddock.operator.readings import Readings
from support.operator_seam import JOBS, Seam, build_job, have_pods, install_jobs, running, set_phase, settled, status_of
from support.waiting import until

LIMITS = {"activeDeadlineSeconds": 3600, "ttlSecondsAfterFinished": 3600}


async def test_an_operator_two_hours_ahead_fails_no_young_job_and_deletes_no_finished_one(tmp_path: Path) -> None:
    local = await LocalApi.open(tmp_path / "store")
    server = Server(local, tmp_path)
    await server.start()
    try:
        await install_jobs(local)
        await _bring_up(local)
        clock = ServerClock(local=lambda: time.time() + 7200)
        async with Client(read_config(str(server.kubeconfig)), on_date=clock.read_header) as client:
            seam = Seam(client)
            async with running(seam, readings=Readings(clock.now, clock.disagreement)):
                await settled(seam)
                await set_phase(local, "young-worker-0", "Succeeded")
                status = await until(lambda: _completed(local, "young"))
                assert abs((read_time(status["completionTime"]) or 0) - time.time()) < 600
            assert await status_of(local, "finished")
    finally:
        await server.stop()
        await local.close()


async def _bring_up(local: LocalApi) -> None:
    """A job that runs and one that has completed, by an operator with the right time."""
    async with running(local):
        for name in ("young", "finished"):
            await local.create(JOBS, build_job(name, ps=0, worker=1, runPolicy=LIMITS))
            await until(lambda name=name: have_pods(local, 1, name))
            await set_phase(local, f"{name}-worker-0", "Running")
            await until(lambda name=name: _runs(local, name))
        await set_phase(local, "finished-worker-0", "Succeeded")
        await until(lambda: _completed(local, "finished"))


async def _runs(local: LocalApi, name: str) -> bool:
    return (await status_of(local, name)).get("phase") == "Running"


async def _completed(local: LocalApi, name: str) -> dict[str, str] | None:
    status = await status_of(local, name)
    return status if status.get("phase") == "Completed" else None
