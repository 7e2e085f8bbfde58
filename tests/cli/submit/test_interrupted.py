"""Ctrl-C while `paddock run` submits a job."""

from __future__ import annotations

from pathlib import Path

from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home
from paddock.app.kinds import apply_crds, build_crds
from paddock.cli.cluster.places import Local
from paddock.cli.followed_run import Run
from paddock.cli.output.screen import Screen
from paddock.cli.submit.script.documents import Documents
from paddock.cli.submit.script.requests import build_documents
from paddock.environments.library import Environments
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.script.request import ScriptRequest


class Interrupted(Run):
    """It is interrupted at the moment at which it asks for the job."""

    def _note_creating(self) -> None:
        super()._note_creating()
        self._interrupts.put_nowait(None)


async def test_an_interrupt_during_a_detached_submission_deletes_the_job(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    (tmp_path / "train.py").write_text("")
    api = await LocalApi.open(home.api)
    await apply_crds(api, build_crds())
    await Environments(api, home.cache).seed()
    server = Server(api, home.api)
    await server.start()
    words = ["python", "train.py"]
    checked = build_documents(ScriptRequest(words, name="train", namespace="default", directory=str(tmp_path)))
    run = Interrupted(Local(home), Screen(), lambda _: True, None, str(tmp_path), typed=True, detach=True)
    try:
        assert await run.run(Documents(checked), ()) == 130
        assert (await api.list(PADDLEPADDLE.resource)).items == []
    finally:
        await server.stop()
        await api.close()
