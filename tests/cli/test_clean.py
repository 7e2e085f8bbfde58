"""`paddock clean` and `paddock env rm` of a home whose cluster is down: nothing is started for them."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.test_cleaning import KEY, OTHER, make_environment, write
from cli.views import RESOURCE, build_manifest
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home, Lock, is_up, note_home
from paddock.app.kinds import apply_crds, build_crds
from paddock.cli.cluster.uses import fetch_all_needs, read_uses
from paddock.cli.main import run
from paddock.environments.seeding import SEED
from paddock.kube.meta import ENVIRONMENTS, Manifest
from support.printed import take_printed


def environment(name: str, key: str) -> Manifest:
    return {
        "apiVersion": ENVIRONMENTS.api_version,
        "kind": ENVIRONMENTS.kind,
        "metadata": {"name": name},
        "spec": {"requirements": ["tiny==1.0"]},
        "status": {"phase": "Ready", "key": key},
    }


def job(name: str, phase: str, environment: str) -> Manifest:
    made = build_manifest()
    made["metadata"] |= {"name": name, "annotations": {"paddock.dev/environment": environment}}
    return {**made, "status": {"phase": phase}}


async def _fill(home: Home, environments: Sequence[Manifest], jobs: Sequence[Manifest]) -> None:
    api = await LocalApi.open(home.api)
    try:
        await apply_crds(api, build_crds())
        for resource, manifests in ((ENVIRONMENTS, environments), (RESOURCE, jobs)):
            for each in manifests:
                metadata = {**each["metadata"], "uid": None, "resourceVersion": None, "creationTimestamp": None}
                body = {**each, "metadata": {name: value for name, value in metadata.items() if value is not None}}
                made = await api.create(resource, body)
                await api.patch(
                    resource, made["metadata"].get("namespace", ""), made["metadata"]["name"],
                    {"status": each["status"]}, subresource="status",
                )  # fmt: skip
    finally:
        await api.close()


def fill(home: Home, environments: Sequence[Manifest] = (), jobs: Sequence[Manifest] = ()) -> None:
    asyncio.run(_fill(home, environments, jobs))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return Home(tmp_path / "home", tmp_path / "caches/paddock")


def test_space_is_given_back_while_the_cluster_is_down(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an unfinished job needs stays, also of another home; each command that is printed is typed."""
    fill(home, [environment("mine", KEY), environment("used", "2" * 20)], [job("waits", "Pending", "used")])
    mine, orphan = make_environment(home), make_environment(home, OTHER)
    used, shared = make_environment(home, "2" * 20), make_environment(home, "3" * 20)
    other = Home(tmp_path / "other", home.cache)
    fill(other, [environment("theirs", "3" * 20)], [job("theirs", "Running", "theirs")])
    note_home(other)
    write(home.outputs / "default/ended-00000001/model")
    write(home.outputs / "default/waits-00000002/model")

    assert run(["prune"]) == 2
    said = capsys.readouterr().err
    assert run(shlex.split(take_printed(said, "paddock clean --dry-run"))[1:]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].split()[:2] == ["environments", "2"]
    assert "kept: environments used: in use by PaddleJob default/waits\n" in shown.err
    assert "kept: environments theirs: in use by PaddleJob default/theirs\n" in shown.err
    assert mine.exists() and orphan.exists() and "uv's cache" not in shown.err
    (home.cache.parent / "uv").mkdir()

    assert run(shlex.split(take_printed(said, "paddock clean"))[1:]) == 2
    asked = capsys.readouterr().err
    assert "nothing was removed, as nobody can be asked here: --yes removes it" in asked
    assert f"uv's cache in {home.cache.parent / 'uv'} has the packages" in asked
    assert run(["status"]) == 1
    lists = take_printed(capsys.readouterr().out, "paddock clean environments")
    assert run([*shlex.split(lists)[1:], "--yes"]) == 0
    assert not mine.exists() and not orphan.exists() and used.exists() and shared.exists()
    assert "KiB came free" in capsys.readouterr().err

    assert run([*shlex.split(take_printed(shown.out, "paddock clean *"))[1:], "--yes", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["name"], each["removed"]) for each in found["things"]] == [("default/ended-00000001", True)]
    assert [each["name"] for each in found["kept"]] == ["default/waits-00000002"]
    assert found["freedBytes"] >= 4096 and not found["dryRun"]

    mine = make_environment(home)
    assert run(["env", "rm", "used"]) == 2
    assert "environment used is in use by PaddleJob default/waits" in capsys.readouterr().err
    assert run(["env", "rm", "mine", "--files"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("environment/mine deleted; ") and out.endswith("KiB came free\n")
    assert run(["env", "rm", "mine"]) == 2
    assert not mine.exists() and used.exists() and not is_up(home)


def test_an_environment_that_comes_with_paddock_is_there_again_as_it_came(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    """Images of manifests stand for it: without it the next job would wait for ever."""
    seeded = environment("pytorch", KEY)
    seeded["metadata"]["annotations"] = {SEED: "of an older one"}
    fill(home, [seeded])
    for _ in range(2):
        assert run(["env", "rm", "pytorch"]) == 0
        assert "it is there as it came, and is built when a job needs it" in capsys.readouterr().err


def test_a_home_that_cannot_be_read_is_said_and_one_without_a_cluster_has_no_environment(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["env", "rm", "mine"]) == 2
    assert "there is no environment 'mine': the cluster has never been started" in capsys.readouterr().err
    (home.api).mkdir(parents=True)
    (home.api / "store.sqlite").write_bytes(b"no database" * 100)
    ((path, why),) = asyncio.run(fetch_all_needs(home)).unknown
    assert path == home.root and "store.sqlite" in str(why)


@pytest.mark.parametrize(
    ("root", "said"), [("busy", "the cluster of {path} is starting or ending: try again"), ("x" * 300, "name too long")]
)
def test_another_home_is_asked_for_what_it_answers_now(root: str, said: str, home: Home) -> None:
    """One whose lock is held, and one that may not be looked at: as a name that is too long."""
    other = Home(home.root.with_name(root), home.cache)
    lock = Lock(other)
    if root == "busy":
        write(other.api / "store.sqlite")
        assert lock.acquire()
    note_home(other)
    ((path, why),) = asyncio.run(fetch_all_needs(home)).unknown
    lock.release()
    assert path == other.root and said.format(path=path).casefold() in str(why).casefold()


def test_a_home_is_not_held_while_others_are_asked(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """Each would wait for the other. A second path to the same home is another one that needs its lock."""
    fill(home, [environment("mine", KEY)])
    directory, linked = make_environment(home), Home(home.root.with_name("linked"), home.cache)
    linked.root.symlink_to(home.root)
    note_home(linked)
    assert asyncio.run(fetch_all_needs(home)).unknown == ()
    assert run(["env", "rm", "mine"]) == 0
    assert "KiB came free" in capsys.readouterr().out and not directory.exists()


HELD = {
    "phase": "Failed",
    "containerStatuses": [{"state": {"terminated": {"exitCode": 1, "finishedAt": "1970-01-01T00:00:00Z"}}}],
}
"""Of a rank that failed at 0; one is held for a shell."""


def test_a_job_that_has_ended_needs_nothing_but_for_pods_that_run_on() -> None:
    pod: Manifest = {
        "metadata": {
            "name": "ended-ps-0", "namespace": "default", "uid": "pod",
            "annotations": {"paddock.dev/environment": "mine", "paddock.dev/hold": "2m"},
            "ownerReferences": [{"kind": "PaddleJob", "name": "ended", "uid": "of-ended", "controller": True}],
        },
        "spec": {"containers": [{"name": "paddle", "image": "busybox"}]},
        "status": {"phase": "Running"},
    }  # fmt: skip
    ended = job("ended", "Completed", "mine")
    ended["metadata"]["uid"] = "of-ended"
    alone = read_uses([environment("mine", KEY)], [(RESOURCE, ended)], [], 0)
    assert (alone.used, alone.names, alone.active, alone.listed) == ({}, frozenset(), frozenset(), {"of-ended"})
    for now, status in ((0, {"phase": "Running"}), (119, HELD), (121, HELD)):
        served = read_uses([environment("mine", KEY)], [(RESOURCE, ended)], [{**pod, "status": status}], now)
        found = (served.names, served.active, list(served.used))
        assert found == (({("default", "ended")}, {"of-ended", "pod"}, [KEY]) if now < 120 else (set(), set(), []))
