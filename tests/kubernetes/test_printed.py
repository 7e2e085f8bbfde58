"""What `paddock --context C …` prints is typed on a real API server as it stands: by its administrator, and for tenants
who may do nothing before an administrator has typed what they were told to ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from paddock.jobs.model import Settings
from paddock.kube.meta import PODS, name_of
from support.operator_seam import JOBS, build_job, running
from support.printed import take_printed
from support.tenants import Shell
from support.worlds import ControlPlane, open_real

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(600)]


@pytest.fixture
async def shell(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Shell]:
    async with open_real(control_plane) as world:
        yield Shell(world, tmp_path)
        for pod in (await world.api.list(PODS, world.namespace)).items:  # no kubelet says that they have ended
            await world.api.delete(PODS, world.namespace, name_of(pod), grace=0)


@dataclass(frozen=True, slots=True)
class Command:
    """A command that an output has, by its template in tests/cli/printed_commands.json, and what it does there."""

    template: str
    says: str = ""
    phases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of jobs afterwards; an empty one: it is gone."""
    words: Mapping[str, str] = field(default_factory=dict)
    more: str = ""
    """What the test adds at its end, where it would change the cluster of other tests."""
    behind: str = ""
    """The text behind which it is looked for, as the operator's own sentence has the command too, for no cluster."""


IMAGE = {"IMAGE": "example.org/paddock:1"}
TRIED = " --dry-run=client"
STATES: Mapping[str, tuple[Command, ...]] = {
    "paddock explain rests --context prod": (
        Command("paddock resume {word}{where}", "resumed", {"rests": ("Pending", "Running")}),
    ),
    "paddock submit again.yaml --context prod": (
        Command("paddock resume **", "resumed", {"again": ("Pending", "Running")}),
        Command("paddock delete **", "deleted", {"again": ("",)}),
    ),
    "paddock wait waits --timeout 1s --context prod": (Command("paddock describe **", "Status:    Pending"),),
    "paddock clone waits waits --context prod": (Command("paddock clone * **", "created", {"waits-2": ("Pending",)}),),
    "paddock stacks waits --context prod": (Command("paddock explain **", "PaddleJob"),),
    "paddock doctor waits --context prod": (Command("paddock explain **", "PaddleJob"),),
    "paddock get jobs nothing --context prod": (Command("paddock get -A*", "waits"),),
    "paddock explain nothing --context prod -n nowhere": (Command("paddock get -A{options}", "waits"),),
    "paddock submit waits.yaml --context prod -n printed": (
        Command("kubectl --context prod create namespace printed", "created", more=TRIED),
    ),
    "paddock doctor data --context prod": (
        Command(
            "paddock manifests --datasets --image IMAGE",
            "created (dry run)",
            words=IMAGE,
            more=TRIED,
            behind="the rights of the operator, by",
        ),
    ),
    "paddock dataset list --context prod": (
        Command("paddock manifests --datasets --image IMAGE", "created (dry run)", words=IMAGE, more=TRIED),
    ),
}


async def test_what_a_cluster_prints_is_typed_by_its_administrator(shell: Shell) -> None:
    """One operator for all of them; no pod runs, as there is no kubelet."""
    files = {name: build_job(name, ps=0, worker=1) for name in ("again", "waits")}
    for name, job in files.items():
        del job["metadata"]["namespace"]
        (shell.directory / f"{name}.yaml").write_text(yaml.safe_dump(job))
    async with running(shell.world.api, Settings()):
        for name in ("rests", "again"):
            await shell.create(name, runPolicy={"suspend": True})
        await shell.create("waits")
        data = build_job("data", ps=0, worker=1, namespace=shell.world.namespace)
        data["metadata"]["annotations"] = {"paddock.dev/datasets": "words:/data"}
        await shell.world.api.create(JOBS, data)
        for name, phase in {"rests": "Suspended", "again": "Suspended", "waits": "Pending", "data": "Pending"}.items():
            await shell.until_phase(name, phase)
        for asked, expected in STATES.items():
            ended = await shell.type(asked)
            for each in expected:
                said = f"{ended.out}\n{ended.err}"
                assert each.behind in said, f"{asked}: {said}"
                command = take_printed(said[said.index(each.behind) :], each.template)
                assert "--context prod" in command, f"{command} is about another cluster"
                typed = await shell.type(f"{command}{each.more}", each.words)
                assert typed.code == 0 and each.says in typed.out, f"{asked}: {command}: {typed}"
                for name, phases in each.phases.items():
                    await shell.until_phase(name, *phases)
        silent = {**files["waits"], "metadata": {"name": "silent", "annotations": {"paddock.dev/silent": "30m=Tell"}}}
        (shell.directory / "silent.yaml").write_text(yaml.safe_dump(silent))
        told = await shell.type("paddock --context prod submit silent.yaml")
        role = await shell.type(take_printed(told.err, "paddock manifests logs"))
        assert role.code == 0 and "pods/log" in role.out, str(role)


async def may(shell: Shell, user: str, verb: str, resource: str, *, everywhere: bool = False) -> bool:
    place = "-A" if everywhere else f"-n {shell.world.namespace}"
    return (await shell.type(f"kubectl auth can-i {verb} {resource} --as {user} {place}")).code == 0


async def test_what_tenants_are_told_to_ask_for_is_given_and_nothing_is_taken_away(shell: Shell) -> None:
    """Whoever is refused sends the command to an administrator, who types all of them, some again."""
    refused = [
        "paddock --context alice get",
        "paddock --context bob get",
        "paddock --context alice dataset list",
        "paddock --context alice get -A",
        "paddock --context bob get -A",
        "paddock --context alice get",
    ]
    given = dict[str, str]()
    for asked in refused:
        ended = await shell.type(asked)
        if asked not in given:
            assert ended.code == 1 and "may not" in ended.err, str(ended)
            given[asked] = ended.err.partition("\n\n")[2]
            assert given[asked].startswith("kubectl apply -f - <<'END'\n"), str(ended)
        applied = await shell.type(given[asked])
        assert applied.code == 0, f"{given[asked]}: {applied}"
        assert "may not" not in (await shell.type(asked)).err
    for user in ("alice", "bob"):
        assert await may(shell, user, "list", "paddlejobs.batch.paddlepaddle.org")
        assert await may(shell, user, "list", "paddlejobs.batch.paddlepaddle.org", everywhere=True)
        assert not await may(shell, user, "create", "pods"), "a pod reads any Secret of its namespace"
    created = await shell.type("paddock --context alice dataset create words --from https://example.org/words.txt")
    assert "may not" not in created.err, "one grant is for all that is done with datasets"
    for asked in given:  # what was given last has taken nothing of what was given before
        assert "may not" not in (await shell.type(asked)).err, asked
    assert "may not" in (await shell.type("paddock --context bob dataset list")).err
    for kind in ("clusterrole", "clusterrolebinding"):
        found = (await shell.type(f"kubectl get {kind} -o name")).out.split()
        for each in found:
            if each.partition("/")[2].startswith(("paddock-alice-", "paddock-bob-")):
                await shell.type(f"kubectl delete {each}")
