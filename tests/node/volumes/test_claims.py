"""Which claim gets which volume, and the messages of the others: tables first, then properties."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cluster_objects import claim, node, pod, volume
from paddock.kube.meta import Manifest, name_of, uid_of
from paddock.node.scheduler.placement import Bind as Placed
from paddock.node.scheduler.placement import Wait as Unplaced
from paddock.node.scheduler.placement import plan_placement
from paddock.node.volumes.claims import (
    PROVISION_DELAY_SECONDS,
    Bind,
    ClaimPlan,
    Provision,
    Reclaim,
    SetPhase,
    Wait,
    explain_directory,
    match_claims,
    plan_claims,
)
from paddock.node.volumes.storage import Volume, build_volume, read_claim, read_volume

ROOT = PurePath("/node/volumes")
LATER = 100.0
BOUND_TO_DATA = {"claim": "data", "claim_uid": "uid-data", "phase": "Bound"}


def plan(claims: list[Manifest], volumes: list[Manifest], now: float = LATER) -> ClaimPlan:
    return plan_claims(map(read_claim, claims), [read_volume(found, ROOT) for found in volumes], now)


def sentence(claims: list[Manifest], volumes: list[Manifest], now: float = LATER) -> str:
    """The plan of the first claim: the volume that it gets, or why it waits."""
    for decision in plan(claims, volumes, now).decisions:
        if isinstance(decision, Bind) and decision.claim.key.name == name_of(claims[0]):
            return f"-> {decision.volume.name}"
        if isinstance(decision, Wait) and decision.claim.key.name == name_of(claims[0]):
            return f"{decision.phase} {decision.reason}: {decision.message}"
        if isinstance(decision, Provision) and decision.claim.key.name == name_of(claims[0]):
            return "-> a new directory"
    return ""


NAMED = {"volumeName": "pv"}
RETAKE = (
    "still holds what an earlier claim of this name left (Released); to use it again: kubectl patch pv pv --type=json"
    """ -p='[{"op": "remove", "path": "/spec/claimRef"}]'"""
)
VOLUME_NAMED = 'PersistentVolume "pv", which volumeName names,'

# The documents' volume and claim, and one change per row.
ROWS: list[tuple[str, dict[str, Any], list[dict[str, Any]], str]] = [
    ("the documents' pair", NAMED, [{}], "-> pv"),
    ("without its name", {}, [{}], "-> pv"),
    ("a smaller request", {**NAMED, "storage": "1Gi"}, [{}], "-> pv"),
    ("the smallest that is large enough", {}, [{"name": "a", "storage": "30Gi"}, {"name": "b", "storage": "20Gi"},
                                              {"name": "c", "storage": "5Gi"}], "-> b"),
    ("of equals the first by name", {}, [{"name": "b"}, {"name": "a"}], "-> a"),
    ("more modes than asked for", {}, [{"modes": ("ReadWriteMany", "ReadWriteOnce")}], "-> pv"),
    ("no class on either side", {"storage_class": None}, [{"storage_class": ""}], "-> pv"),
    ("the class '' and none are one for a volume", {"storage_class": ""}, [{"storage_class": ""}], "-> pv"),
    ("the labels of the selector", {"selector": {"matchLabels": {"a": "b"}}},
     [{"name": "a"}, {"name": "z", "labels": {"a": "b"}}], "-> z"),
    ("reserved for it", {}, [{"name": "a"}, {"name": "z", "claim": "data"}], "-> z"),
    ("reserved for it, whatever class and mode", {"modes": ("ReadWriteMany",)},
     [{"claim": "data", "storage_class": "fast"}], "-> pv"),
    ("reserved for it, but too small", {"storage": "20Gi"}, [{"claim": "data"}], "-> a new directory"),
    ("reserved for somebody else", {}, [{"claim": "other"}], "-> a new directory"),
    ("a volume on its way out", {}, [{"deleting": True}], "-> a new directory"),
    ("nothing there", {}, [], "-> a new directory"),
    ("nothing there and no class", {"storage_class": None}, [], "-> a new directory"),
    ("a volume that does not exist", NAMED, [{"name": "a"}],
     f"Pending FailedBinding: {VOLUME_NAMED} does not exist (there is a)"),
    ("too small", {**NAMED, "storage": "20Gi"}, [{}],
     f"Pending VolumeMismatch: {VOLUME_NAMED} has 10 GiB, 20 GiB are asked for"),
    ("another class", {**NAMED, "storage_class": "fast"}, [{}],
     f'Pending VolumeMismatch: {VOLUME_NAMED} has storageClassName "slow", "fast" is asked for'),
    ("a mode it lacks", {**NAMED, "modes": ("ReadWriteMany",)}, [{}],
     f"Pending VolumeMismatch: {VOLUME_NAMED} offers ReadWriteOnce, ReadWriteMany is asked for"),
    ("somebody else's", NAMED, [{"claim": "other", "claim_uid": "u"}],
     f"Pending VolumeMismatch: {VOLUME_NAMED} belongs to the claim default/other"),
    ("of an earlier claim of the name", NAMED,
     [{"claim": "data", "claim_uid": "old", "phase": "Released"}], f"Pending VolumeMismatch: {VOLUME_NAMED} {RETAKE}"),
    ("a selector that nothing has", {"selector": {"matchLabels": {"a": "b"}}}, [{}],
     "Pending FailedBinding: no PersistentVolume fits (pv lacks the labels that the claim's selector asks for), and"
     " with a selector no new one is made: create one with these labels, or leave the selector out"),
    ("existing volumes only", {"storage_class": ""}, [],
     'Pending FailedBinding: no PersistentVolume fits (none is free), and with storageClassName "" no new one is made:'
     " create one, or leave storageClassName out"),
    ("a device", {"volumeMode": "Block", "storage_class": ""}, [],
     "Pending FailedBinding: no PersistentVolume fits (none is free), and volumeMode Block needs a device, where this"
     " machine has directories: use Filesystem"),
    ("no quantity", {"storage": "ten"}, [{}],
     "Pending FailedBinding: cannot be bound as it is written: spec.resources.requests.storage: 'ten' is not a"
     " quantity: a number with one of n u m k M G T P E Ki Mi Gi Ti Pi Ei"),
    ("its volume was deleted", {**NAMED, "phase": "Bound", "directory": "/d"}, [],
     f"Lost ClaimLost: {VOLUME_NAMED} does not exist any more; its data are still in /d"),
    ("its volume came back", {**NAMED, "phase": "Lost", "directory": "/d"}, [{}], "-> pv"),
    ("a claim on its way out gets nothing", {"deleting": True}, [{}], ""),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "volumes", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_one_claim(asked: dict[str, Any], volumes: list[dict[str, Any]], expected: str) -> None:
    assert sentence([claim(**asked)], [volume(**found) for found in volumes]) == expected


def test_a_volume_that_comes_a_moment_later_is_waited_for() -> None:
    early = plan([claim(at=100)], [], now=100 + PROVISION_DELAY_SECONDS / 2)
    assert (early.decisions, early.wake) == ((), 100 + PROVISION_DELAY_SECONDS)
    assert sentence([claim(at=100)], [], now=100 + PROVISION_DELAY_SECONDS) == "-> a new directory"


def test_the_older_claim_is_bound_first() -> None:
    assert sentence([claim("z", at=1), claim("a", at=2)], [volume()]) == "-> pv"
    assert sentence([claim("a", at=2), claim("z", at=1)], [volume()]) == "-> a new directory"


@pytest.mark.parametrize(
    ("source", "directory", "says"),
    [
        (None, "/node/volumes/pv", "nfs 10.12.201.xx:/nas is not mounted on a laptop; the claim uses the directory"
                                   " /node/volumes/pv; put files for its pods there"),
        ({"csi": {"driver": "ebs.csi.aws.com"}}, "/node/volumes/pv", "csi ebs.csi.aws.com is not mounted on a laptop;"
                                   " the claim uses the directory /node/volumes/pv; put files for its pods there"),
        ({"hostPath": {"path": "/srv/data"}}, "/srv/data",
         "bound to PersistentVolume pv; the claim uses the directory /srv/data; put files for its pods there"),
        ({"local": {"path": "/mnt/disk"}}, "/mnt/disk",
         "bound to PersistentVolume pv; the claim uses the directory /mnt/disk; put files for its pods there"),
    ],
)  # fmt: skip
def test_where_the_data_of_a_volume_are(source: Manifest | None, directory: str, says: str) -> None:
    found = read_volume(volume(source=source, mountOptions=["hard"], nodeAffinity={}), ROOT)
    assert (found.directory, explain_directory(found)) == (directory, says)
    assert found.ours == (directory == "/node/volumes/pv")


@pytest.mark.parametrize(
    ("source", "makes"),
    [
        (None, True),
        ({"hostPath": {"path": "/d"}}, True),
        ({"hostPath": {"path": "/d", "type": "DirectoryOrCreate"}}, True),
        ({"hostPath": {"path": "/d", "type": "Directory"}}, False),
        ({"local": {"path": "/d"}}, False),
    ],
)
def test_which_directories_are_made(source: Manifest | None, makes: bool) -> None:
    assert read_volume(volume(source=source), ROOT).makes is makes


def test_a_directory_that_is_made_says_so_and_belongs_to_its_claim() -> None:
    made = build_volume(read_claim(claim(storage_class=None)), ROOT)
    found = read_volume(made, ROOT)
    assert (found.name, found.directory) == ("pvc-uid-data", "/node/volumes/pvc-uid-data")
    assert made["spec"]["capacity"] == {"storage": "10Gi"}
    assert explain_directory(found).startswith(
        "no PersistentVolume fits, so one was made; the claim uses the directory"
    )
    assert sentence([claim(storage_class=None)], [made]) == "-> pvc-uid-data"


GONE = "the claim default/data was deleted"

# A volume that belonged to the claim "data", which is gone: what becomes of it.
ENDINGS: list[tuple[str, dict[str, Any], str]] = [
    ("retained", {"persistentVolumeReclaimPolicy": "Retain"},
     f"Released: {GONE}; its data stay in /node/volumes/pv (reclaim policy Retain)"),
    ("retained, and said so", {"persistentVolumeReclaimPolicy": "Retain", "phase": "Released"}, ""),
    ("recycled", {"persistentVolumeReclaimPolicy": "Recycle"},
     f"Available, free: {GONE}; the volume is available again, and its data stay in /node/volumes/pv: Paddock deletes"
     " no data"),
    ("recycled, though released before", {"persistentVolumeReclaimPolicy": "Recycle", "phase": "Released"},
     f"Available, free: {GONE}; the volume is available again, and its data stay in /node/volumes/pv: Paddock deletes"
     " no data"),
    ("deleted", {"persistentVolumeReclaimPolicy": "Delete"},
     f"if empty deleted, else Released: {GONE}; its data stay in /node/volumes/pv; to be rid of them:"
     " rm -r /node/volumes/pv; kubectl delete pv pv"),
    ("kept once", {"persistentVolumeReclaimPolicy": "Delete", "phase": "Released"}, ""),
    ("reserved by a person for a claim to come", {"claim_uid": "", "phase": "Available"}, ""),
    ("reserved, and not said available", {"claim_uid": "", "phase": ""}, "Available: "),
]  # fmt: skip


@pytest.mark.parametrize(("state", "expected"), [row[1:] for row in ENDINGS], ids=[row[0] for row in ENDINGS])
def test_a_volume_without_its_claim(state: dict[str, Any], expected: str) -> None:
    decisions = plan([], [volume(**{**BOUND_TO_DATA, **state})]).decisions
    assert [_tell(decision) for decision in decisions] == ([expected] if expected else [])


def _tell(decision: object) -> str:
    if isinstance(decision, Reclaim):
        return f"if empty deleted, else {_tell(decision.kept)}"
    assert isinstance(decision, SetPhase)
    return f"{decision.phase}{', free' if decision.release else ''}: {decision.message}"


def test_a_claim_is_not_reported_while_a_recycled_volume_may_fit_it() -> None:
    old = volume(claim="data", claim_uid="old", phase="Bound", persistentVolumeReclaimPolicy="Recycle")
    (decision,) = plan([claim(volumeName="pv")], [old]).decisions
    assert isinstance(decision, SetPhase)
    assert decision.release


def test_a_cluster_that_was_moved_says_where_the_data_are_now() -> None:
    bound = claim(phase="Bound", volumeName="pv", directory="/old/volumes/pv")
    its = volume(**BOUND_TO_DATA, annotations={"paddock.dev/directory": "/old/volumes/pv"})
    assert sentence([bound], [its]) == "-> pv"


def test_a_second_volume_of_one_claim_is_free_again() -> None:
    bound = claim(phase="Bound", volumeName="pv", directory="/node/volumes/pv")
    annotations = {"paddock.dev/directory": "/node/volumes/pv"}
    both = [volume(**BOUND_TO_DATA, annotations=annotations), volume("other", **BOUND_TO_DATA)]
    assert [_tell(decision) for decision in plan([bound], both).decisions] == ["Available, free: "]


# What is reported to pods.

WITH_CLAIM = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
READY = claim(phase="Bound", directory="/d")
TOLD = {"conditions": [{"type": "Bound", "status": "False", "reason": "FailedBinding", "message": "no room"}]}


@pytest.mark.parametrize(
    ("claims", "fact"),
    [
        ([], '1 persistentvolumeclaim "data" not found (namespace default has none)'),
        ([claim("b"), claim("a")], '1 persistentvolumeclaim "data" not found (namespace default has a, b)'),
        ([{**claim(), "metadata": {**claim()["metadata"], "namespace": "paddle-system"}}],
         '1 persistentvolumeclaim "data" not found (namespace default has none; one of this name is in paddle-system)'),
        ([claim()], "1 pod has unbound immediate PersistentVolumeClaims (data)"),
        ([{**claim(), "status": {"phase": "Pending", **TOLD}}],
         "1 pod has unbound immediate PersistentVolumeClaims (data: no room)"),
        ([claim(phase="Bound", directory="/d", deleting=True)], '1 persistentvolumeclaim "data" is being deleted'),
    ],
)  # fmt: skip
def test_a_pod_waits_for_its_claim(claims: list[Manifest], fact: str) -> None:
    (decision,) = plan_placement([pod(**WITH_CLAIM)], [node()], claims=claims)
    assert isinstance(decision, Unplaced)
    assert decision.message == f"0/1 nodes are available: {fact}."


def test_a_pod_whose_claim_is_bound_is_placed() -> None:
    (decision,) = plan_placement([pod(**WITH_CLAIM)], [node()], claims=[READY])
    assert isinstance(decision, Placed)


def test_claims_stand_beside_the_other_facts() -> None:
    (decision,) = plan_placement([pod(limits={"nvidia.com/gpu": "1"}, **WITH_CLAIM)], [node()])
    assert isinstance(decision, Unplaced)
    assert decision.message == (
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 1, 0 of 0 free), "
        '1 persistentvolumeclaim "data" not found (namespace default has none).'
    )


# Properties.

NAMES_OF_CLAIMS = ("a", "b", "c")
SIZES = ("1Gi", "5Gi", "10Gi")
MODES = st.sampled_from([("ReadWriteOnce",), ("ReadWriteMany",), ("ReadWriteOnce", "ReadWriteMany")])


@st.composite
def claims_and_volumes(draw: st.DrawFn) -> tuple[list[Manifest], list[Manifest]]:
    maybe_volume = st.sampled_from(["", "", "x", "y", "gone"])
    claims = [
        claim(name, uid=draw(st.sampled_from([f"uid-{name}", f"new-{name}"])), at=draw(st.integers(0, 3)),
              storage=draw(st.sampled_from(SIZES)), modes=draw(MODES),
              storage_class=draw(st.sampled_from([None, "", "slow"])), deleting=draw(st.booleans()),
              phase=draw(st.sampled_from(["Pending", "Bound"])), volumeName=draw(maybe_volume))
        for name in draw(st.sets(st.sampled_from(NAMES_OF_CLAIMS)))
    ]  # fmt: skip
    volumes = [
        volume(name, storage=draw(st.sampled_from(SIZES)), modes=draw(MODES),
               storage_class=draw(st.sampled_from(["", "slow"])), claim=draw(st.sampled_from(["", *NAMES_OF_CLAIMS])),
               claim_uid=draw(st.sampled_from(["", "uid-a", "uid-b"])),
               persistentVolumeReclaimPolicy=draw(st.sampled_from(["Retain", "Recycle", "Delete"])),
               phase=draw(st.sampled_from(["Available", "Bound", "Released"])))
        for name in draw(st.sets(st.sampled_from(("x", "y", "z"))))
    ]  # fmt: skip
    return claims, volumes


def apply(found: ClaimPlan, claims: list[Manifest], volumes: list[Manifest]) -> None:
    """What the binder does to the objects, in place; directories always have data in them."""
    by_claim = {name_of(it): it for it in claims}
    by_volume = {name_of(it): it for it in volumes}
    for decision in found.decisions:
        if isinstance(decision, Bind):
            mine, its = by_claim[decision.claim.key.name], by_volume[decision.volume.name]
            its["spec"]["claimRef"] = {"namespace": "default", "name": name_of(mine), "uid": uid_of(mine)}
            its["status"] = {"phase": "Bound"}
            mine["spec"]["volumeName"], mine["status"] = decision.volume.name, {"phase": "Bound"}
            for it in (mine, its):
                it["metadata"]["annotations"] = {"paddock.dev/directory": decision.volume.directory}
        elif isinstance(decision, Provision):
            volumes.append(build_volume(decision.claim, ROOT))
        elif isinstance(decision, Wait):
            condition = {"type": "Bound", "status": "False", "reason": decision.reason, "message": decision.message}
            by_claim[decision.claim.key.name]["status"] = {"phase": decision.phase, "conditions": [condition]}
        else:
            settle = decision.kept if isinstance(decision, Reclaim) else decision
            by_volume[settle.volume.name]["status"] = {"phase": settle.phase}
            if settle.release:
                by_volume[settle.volume.name]["spec"].pop("claimRef", None)


def pairs_of(claims: list[Manifest], volumes: list[Manifest]) -> dict[str, str]:
    known: dict[str, Volume] = {name_of(it): read_volume(it, ROOT) for it in volumes}
    return {key.name: name for key, name in match_claims([read_claim(it) for it in claims], known).items()}


@given(claims_and_volumes())
def test_plans_converge_and_bound_claims_stay_bound(start: tuple[list[Manifest], list[Manifest]]) -> None:
    claims, volumes = start
    bound: dict[str, str] = {}
    for _ in range(6):
        found = plan(claims, volumes)
        pairs = pairs_of(claims, volumes)
        assert len(set(pairs.values())) == len(pairs), "two claims have one volume"
        assert bound.items() <= pairs.items(), "a bound claim lost its volume"
        if not found.decisions:
            break
        apply(found, claims, volumes)
        bound = {
            name_of(it): it["spec"]["volumeName"]
            for it in claims
            if it["status"]["phase"] == "Bound" and it["spec"]["volumeName"] in {name_of(other) for other in volumes}
            and it["metadata"].get("annotations")
        }  # fmt: skip
    else:
        raise AssertionError(f"it never comes to rest: {plan(claims, volumes)}")
    for it in claims:
        if it["status"]["phase"] == "Bound" and not it["metadata"].get("deletionTimestamp"):
            its = next(other for other in volumes if name_of(other) == it["spec"]["volumeName"])
            assert its["spec"]["claimRef"]["uid"] == uid_of(it)


@given(claims_and_volumes(), st.randoms())
def test_the_plan_does_not_depend_on_the_order_of_objects(
    start: tuple[list[Manifest], list[Manifest]], random: Any
) -> None:
    claims, volumes = start
    expected = plan(claims, volumes)
    random.shuffle(claims)
    random.shuffle(volumes)
    assert plan(claims, volumes) == expected
