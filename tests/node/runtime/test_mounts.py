"""Volumes and mounts on this machine."""

from __future__ import annotations

import base64
import errno
import os
import pwd
import shutil
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from node.cluster import pod, shell
from paddock.kube.errors import NotFound
from paddock.kube.meta import Manifest
from paddock.node.runtime.container_env import CannotStart, Configs, ContainerWaiting
from paddock.node.runtime.mount_sources import open_mounts
from paddock.node.runtime.mounts import (
    MEMORY,
    Mount,
    apply_links,
    apply_volumes,
    explain_refused,
    find_obstacle,
    plan_copies,
    plan_mounts,
    read_files,
    remove_outside,
    volume_path,
)

SCRATCH = Path("/scratch")
WHERE = {"annotations": {"paddock.dev/directory": "/srv/data"}}
NO_ROOM = [{"type": "Bound", "status": "False", "reason": "FailedBinding", "message": "no room"}]
CONFIGS = Configs(
    "default",
    {"cm": {"data": {"a": "1", "b": "2"}}, "dots": {"data": {"..": "1"}}, "dot": {"data": {".": "1"}}},
    {"key": {"data": {"token": base64.b64encode(b"t").decode()}}},
    {
        "data": {"metadata": {"name": "data", **WHERE}, "status": {"phase": "Bound"}},
        "early": {"metadata": {"name": "early"}, "status": {"phase": "Pending", "conditions": NO_ROOM}},
    },
)


def claim_volume(claim: str, **more: Any) -> Manifest:
    return {"name": "v", "persistentVolumeClaim": {"claimName": claim, **more}}


def with_uid(volumes: list[Manifest], **mount: Any) -> Manifest:
    made = pod(shell("true", volumeMounts=[{"name": "v", "mountPath": "/data", **mount}]), volumes=volumes)
    made["metadata"] |= {"uid": "u", "labels": {"b": '"q"', "a": "1"}}
    return made


@pytest.mark.parametrize(
    ("volume", "path"),
    [
        ({"emptyDir": {}}, SCRATCH / "volumes/v"),
        ({}, SCRATCH / "volumes/v"),
        ({"configMap": {"name": "cm"}}, SCRATCH / "volumes/v"),
        ({"hostPath": {"path": "/srv"}}, Path("/srv")),
        ({"emptyDir": {"medium": "Memory"}}, MEMORY / "paddock-u-v"),
        ({"projected": {"sources": []}}, SCRATCH / "volumes/v"),
        (claim_volume("data"), Path("/srv/data")),
    ],
)
def test_the_path_of_a_volume(volume: Manifest, path: Path) -> None:
    assert volume_path({"name": "v", **volume}, with_uid([]), SCRATCH, CONFIGS) == path


@pytest.mark.parametrize(
    ("volumes", "mount", "sentence"),
    [
        ([claim_volume("no")], {}, r'persistentvolumeclaim "no" not found \(namespace default has data, early\)'),
        ([claim_volume("early")], {}, r"pod has unbound immediate PersistentVolumeClaims \(early: no room\)"),
        ([{"name": "v", "nfs": {"server": "s"}}], {}, "volume 'v': nfs is not supported on this machine"),
        ([{"name": "w", "emptyDir": {}}], {}, r"volume 'v' is not in spec.volumes \(w\)"),
        ([{"name": "v", "emptyDir": {}}], {"subPath": "../x"}, "subPath '../x' of volume 'v' must be relative"),
        (
            [{"name": "v", "emptyDir": {}}],
            {"subPath": "a\0b"},
            r"subPath 'a\\x00b' of volume 'v' must be .* NUL",
        ),
        ([{"name": "v", "emptyDir": {}}], {"subPathExpr": "x/$(NO)"}, r"'x/\$\(NO\)': missing value for 'NO'"),
        ([{"name": "v", "emptyDir": {}}], {"subPathExpr": "$(UP)/x"}, "subPath '../x' of volume 'v' must be relative"),
        ([{"name": "v", "emptyDir": {}}], {"mountPath": "data"}, "mountPath 'data' must begin with /"),
        ([{"name": "v", "emptyDir": {}}], {"mountPath": "/./"}, "mountPath '/./' would hide the whole file system"),
        ([{"name": "v", "emptyDir": {}}], {"mountPath": "/a\0b"}, r"mountPath '/a\\x00b' has a NUL character"),
        ([{"name": "v", "hostPath": {"path": "/a\0b"}}], {}, r"volume 'v': hostPath '/a\\x00b' has a NUL character"),
        ([{"name": "v", "hostPath": {"path": "data"}}], {}, "volume 'v': hostPath 'data' must begin with /"),
        ([{"name": "v", "hostPath": {"path": ""}}], {}, "volume 'v': hostPath '' must begin with /"),
        (
            [{"name": "v", "hostPath": {"path": "/a/../b"}}],
            {},
            r"volume 'v': hostPath '/a/\.\./b' must not contain '\.\.'",
        ),
    ],
)
def test_unsupported_mounts_are_explained(volumes: list[Manifest], mount: Manifest, sentence: str) -> None:
    made = with_uid(volumes, **mount)
    with pytest.raises(ContainerWaiting, match=sentence):
        plan_mounts(made, made["spec"]["containers"][0], SCRATCH, CONFIGS, {"UP": ".."})


@pytest.mark.parametrize(("volume", "mount"), [({"readOnly": True}, {}), ({}, {"readOnly": True})])
def test_a_claim_is_read_only_if_the_volume_or_the_mount_says_so(volume: Manifest, mount: Manifest) -> None:
    made = with_uid([claim_volume("data", **volume)], **mount)
    found = plan_mounts(made, made["spec"]["containers"][0], SCRATCH, CONFIGS)
    assert found == (Mount(Path("/srv/data"), "/data", read_only=True, volume="v"),)


def test_a_missing_directory_of_a_claim_is_named() -> None:
    with pytest.raises(
        ContainerWaiting, match="the directory /srv/data of persistentvolumeclaim 'data' does not exist; make"
    ):
        apply_volumes(with_uid([claim_volume("data")]), SCRATCH, CONFIGS, [])


def token_volume(**source: Any) -> Manifest:
    return {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t", **source}}]}}


def test_a_token_is_that_of_the_pod_s_own_account() -> None:
    asked: list[Any] = []

    def make(made: Manifest, audience: str, seconds: int) -> str:
        asked.append((made["metadata"]["name"], audience, seconds))
        return "token"

    configs = replace(CONFIGS, make_token=make)
    assert read_files(token_volume(audience="vault", expirationSeconds=700), with_uid([]), configs) == {"t": b"token"}
    assert read_files(token_volume(), with_uid([]), configs) == {"t": b"token"}
    assert asked == [("p", "vault", 700), ("p", "", 3600)]
    with pytest.raises(ContainerWaiting, match=r"path '\.\./t' must be relative"):
        read_files(token_volume(path="../t"), with_uid([]), configs)


def test_a_pod_without_an_account_waits_for_its_token() -> None:
    def refuse(*_: Any) -> str:
        raise NotFound('serviceaccounts "default" not found')

    for make, why in ((refuse, 'serviceaccounts "default" not found'), (None, "this node makes no tokens")):
        with pytest.raises(ContainerWaiting, match=f"no token of service account 'default': {why}"):
            read_files(token_volume(), with_uid([]), replace(CONFIGS, make_token=make))


@pytest.mark.parametrize(
    "mount", [{"subPath": "a/b"}, {"subPathExpr": "$(A)/b"}, {"subPathExpr": "a/$(B)"}], ids=["path", "first", "last"]
)
def test_a_sub_path_is_below_the_volume(mount: Manifest) -> None:
    made = with_uid([{"name": "v", "emptyDir": {}}], readOnly=True, **mount)
    assert plan_mounts(made, made["spec"]["containers"][0], SCRATCH, CONFIGS, {"A": "a", "B": "b"}) == (
        Mount(SCRATCH / "volumes/v", "/data", read_only=True, sub_path="a/b", volume="v"),
    )


def test_files_of_the_api_are_read_only() -> None:
    made = with_uid([{"name": "v", "configMap": {"name": "cm"}}])
    assert plan_mounts(made, made["spec"]["containers"][0], SCRATCH, CONFIGS)[0].read_only


@pytest.mark.parametrize(
    ("volume", "files"),
    [
        ({"configMap": {"name": "cm"}}, {"a": b"1", "b": b"2"}),
        ({"configMap": {"name": "cm", "items": [{"key": "b", "path": "x/y"}]}}, {"x/y": b"2"}),
        ({"configMap": {"name": "no", "optional": True}}, {}),
        ({"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
         {"l": b'a="1"\nb="\\"q\\""'}),
        ({"projected": {"sources": [
            {"configMap": {"name": "cm", "items": [{"key": "a", "path": "x/a"}]}},
            {"secret": {"name": "key"}},
            {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        ]}}, {"x/a": b"1", "token": b"t", "name": b"p"}),
        ({"emptyDir": {}}, None),
        (claim_volume("data"), None),
    ],
)  # fmt: skip
def test_the_files_of_a_volume(volume: Manifest, files: dict[str, bytes] | None) -> None:
    assert read_files({"name": "v", **volume}, with_uid([]), CONFIGS) == files


def told(**reference: Any) -> Manifest:
    return {"downwardAPI": {"items": [{"path": "f", "resourceFieldRef": {"containerName": "main", **reference}}]}}


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize(
    ("volume", "text"),
    [
        (told(resource="limits.cpu"), "2"),
        (told(resource="limits.cpu", divisor="1m"), "1500"),
        (told(resource="limits.memory", divisor="1Mi"), "256"),
        (told(resource="requests.cpu", divisor="1m"), "1500"),
        (told(resource="limits.ephemeral-storage"), "0"),
        (told(resource="limits.cpu", containerName="init"), "4"),
        ({"downwardAPI": {"items": [{"path": "f", "fieldRef": {"fieldPath": "metadata.labels['a']"}}]}}, "1"),
        ({"downwardAPI": {"items": [{"path": "f", "fieldRef": {"fieldPath": "metadata.annotations['no']"}}]}}, ""),
    ],
)
def test_a_file_tells_of_the_pod_as_a_variable_does(volume: Manifest, text: str, projected: bool) -> None:
    made = with_uid([])
    made["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1500m", "memory": "256Mi"}}
    made["spec"]["initContainers"] = [{"name": "init"}]
    asked = {"projected": {"sources": [volume]}} if projected else volume
    assert read_files({"name": "v", **asked}, made, CONFIGS, {"cpu": Fraction(4)}) == {"f": text.encode()}


@pytest.mark.parametrize(
    ("volume", "sentence"),
    [
        (told(resource="limits.cpu", containerName="other"), r"container 'other' is not one of the pod \(main\)"),
        (told(resource="cpu"), "resourceFieldRef: resource 'cpu' is not supported"),
        (told(resource="limits.cpu", divisor="much"), "'much' is not a quantity"),
        ({"downwardAPI": {"items": [{"path": "f"}]}}, "fieldPath '' is not supported"),
    ],
)
def test_what_no_file_can_tell_is_named(volume: Manifest, sentence: str) -> None:
    with pytest.raises(ContainerWaiting, match=sentence) as raised:
        read_files({"name": "v", **volume}, with_uid([]), CONFIGS)
    assert raised.value.obstacle.reason == "CreateContainerConfigError"


def test_each_file_has_the_mode_that_its_item_asks_for(tmp_path: Path) -> None:
    items = [{"key": "a", "path": "run", "mode": 0o700}, {"key": "b", "path": "x/read"}]
    volumes: list[Manifest] = [
        {"name": "plain", "configMap": {"name": "cm", "items": items, "defaultMode": 0o440}},
        {
            "name": "both",
            "projected": {"defaultMode": 0o400, "sources": [{"configMap": {"name": "cm", "items": items}}]},
        },
    ]
    apply_volumes(with_uid(volumes), tmp_path, CONFIGS, [])
    modes = {
        str(path.relative_to(tmp_path / "volumes")): path.stat().st_mode & 0o777
        for path in (tmp_path / "volumes").rglob("*")
        if path.is_file()
    }
    assert modes == {"plain/run": 0o700, "plain/x/read": 0o440, "both/run": 0o700, "both/x/read": 0o400}


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ({"name": "no"}, 'configmap "no" not found'),
        ({"name": "cm", "items": [{"key": "z", "path": "z"}]}, "references non-existent config key: z"),
        ({"name": "cm", "items": [{"key": "a", "path": "/etc/x"}]}, "must be relative"),
        ({"name": "dots"}, "configmap 'dots': path '..' must be relative, without '..'"),
        ({"name": "dot"}, "configmap 'dot': path '.' must be relative, without '..'"),
    ],
)
def test_missing_files_are_named(source: Manifest, sentence: str) -> None:
    with pytest.raises(ContainerWaiting, match=sentence):
        read_files({"name": "v", "configMap": source}, with_uid([]), CONFIGS)


@pytest.mark.parametrize("path", ["../../out", "/out", "a/../../out", "", ".", "..", "a\0b"])
def test_a_path_outside_the_volume_is_refused(path: str) -> None:
    item = {"path": path, "fieldRef": {"fieldPath": "metadata.name"}}
    volume = {"name": "v", "downwardAPI": {"items": [item]}}
    with pytest.raises(ContainerWaiting, match=r"downwardAPI: path .* must be relative, without '..'"):
        read_files(volume, with_uid([]), CONFIGS)
    with pytest.raises(ContainerWaiting, match=r"downwardAPI: path .* must be relative, without '..'"):
        read_files({"name": "v", "projected": {"sources": [{"downwardAPI": {"items": [item]}}]}}, with_uid([]), CONFIGS)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("Directory", "is not a directory"), ("File", "is not a file"), ("Odd", "is none of")],
)
def test_a_host_path_of_the_wrong_type_is_refused(tmp_path: Path, kind: str, sentence: str) -> None:
    made = with_uid([{"name": "v", "hostPath": {"path": str(tmp_path / "no"), "type": kind}}])
    with pytest.raises(ContainerWaiting, match=sentence):
        apply_volumes(made, tmp_path / "scratch", CONFIGS, [])


def test_links_live_as_long_as_the_pod(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    made: list[str] = []
    apply_links([Mount(source, str(tmp_path / "x/y"))], (), made)
    assert (tmp_path / "x/y").samefile(source)
    remove_outside(made, "u")
    assert not (tmp_path / "x").exists()
    assert source.exists()


def test_files_written_beside_a_link_are_kept(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "paddock-out/cache"
    source.mkdir()
    made: list[str] = []
    apply_links([Mount(source, str(target))], (), made)
    (target.parent / "model.bin").write_text("trained for a week")
    remove_outside(made, "u")
    assert (target.parent / "model.bin").exists()
    assert not target.is_symlink()


@pytest.mark.parametrize(("uid", "kept"), [("u", False), ("other", True)])
def test_a_memory_backed_volume_is_removed_with_its_pod_only(uid: str, kept: bool) -> None:
    mine = MEMORY / f"paddock-u-{os.getpid()}"
    mine.mkdir()
    try:
        (mine / "file").touch()
        remove_outside([str(mine)], uid)
        assert mine.exists() == kept
    finally:
        shutil.rmtree(mine, ignore_errors=True)


def test_a_missing_sub_path_is_created_in_every_volume(tmp_path: Path) -> None:
    data = tmp_path / "data"
    made = with_uid([{"name": "v", "hostPath": {"path": str(data)}}], subPath="a/b")
    mounts = plan_mounts(made, made["spec"]["containers"][0], tmp_path, CONFIGS)
    apply_volumes(made, tmp_path, CONFIGS, [])
    with ExitStack() as files:
        (mount,) = open_mounts(mounts, "main", files)
        assert mount.source == data / "a/b"
    assert (data / "a/b").is_dir()


@pytest.mark.parametrize("target", ["/etc", "../outside"])
def test_a_sub_path_through_a_link_out_of_its_volume_is_refused(tmp_path: Path, target: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "outside").mkdir()
    (data / "link").symlink_to(target)
    made = with_uid([{"name": "v", "hostPath": {"path": str(data)}}], subPath="link/new")
    mounts = plan_mounts(made, made["spec"]["containers"][0], tmp_path, CONFIGS)
    sentence = 'failed to prepare subPath for volumeMount "v" of container "main"'
    with ExitStack() as files, pytest.raises(ContainerWaiting, match=sentence) as told:
        open_mounts(mounts, "main", files)
    assert told.value.obstacle.reason == "CreateContainerConfigError"
    assert not list((tmp_path / "outside").iterdir())


@pytest.mark.parametrize("kind", ["configMap", "emptyDir"])
def test_no_file_of_a_volume_is_written_through_a_link(tmp_path: Path, kind: str) -> None:
    """An earlier container of the pod has put it in the way, as it can without a sandbox."""
    outside, volumes = tmp_path / "outside", tmp_path / "volumes"
    outside.mkdir()
    volumes.mkdir()
    (volumes / "v").symlink_to(outside)
    made = with_uid([{"name": "v", kind: {"name": "cm"} if kind == "configMap" else {}}])
    with pytest.raises(OSError, match="out of the volume"):
        apply_volumes(made, tmp_path, CONFIGS, [])
    (volumes / "v").unlink()
    (volumes / "v").mkdir()
    (volumes / "v/x").symlink_to(outside)
    made = with_uid([{"name": "v", "configMap": {"name": "cm", "items": [{"key": "a", "path": "x/key"}]}}])
    with pytest.raises(OSError, match="out of the volume"):
        apply_volumes(made, tmp_path, CONFIGS, [])
    assert not list(outside.iterdir())


def test_a_shared_link_is_removed_with_the_last_pod(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "nas"
    source.mkdir()
    first: list[str] = []
    second: list[str] = []
    apply_links([Mount(source, str(target))], (), first)
    apply_links([Mount(source, str(target))], first, second)
    remove_outside(first, "u", kept=frozenset(second))
    assert target.is_symlink()
    remove_outside(second, "u")
    assert not target.is_symlink()


@pytest.mark.parametrize(
    ("volume", "shared"),
    [
        ({"configMap": {"name": "cm"}}, True),
        ({"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.labels['a']"}}]}}, True),
        ({"projected": {"sources": [{"secret": {"name": "key"}}]}}, True),
        ({"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.uid"}}]}}, False),
        ({"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}, False),
        ({"emptyDir": {}}, False),
    ],
)
def test_pods_without_a_sandbox_have_the_same_files_at_one_path(volume: Manifest, shared: bool, tmp_path: Path) -> None:
    configs = replace(CONFIGS, make_token=lambda *_: "token")
    target = tmp_path / "scripts"
    pods = [with_uid([{"name": "v", **volume}], mountPath=str(target)) for _ in "ab"]
    pods[1]["metadata"]["uid"] = "w"

    def start(which: Manifest, others: list[str]) -> list[str]:
        outside: list[str] = []
        copies, scratch = plan_copies(which, tmp_path / "copies"), tmp_path / which["metadata"]["uid"]
        mounts = plan_mounts(which, which["spec"]["containers"][0], scratch, configs, copies=copies)
        apply_volumes(which, scratch, configs, outside, copies=copies)
        with ExitStack() as files:
            apply_links(open_mounts(mounts, "c", files), others, outside)
        return outside

    made = start(pods[0], [])
    if not shared:
        with pytest.raises(ContainerWaiting, match="perhaps of another pod"):
            start(pods[1], made)
        return
    assert start(pods[1], made) == made
    assert str(target) in made and target.resolve().parent == tmp_path / "copies"


def test_what_is_in_the_way_is_known_before_there_is_a_pod(tmp_path: Path) -> None:
    node, files = tmp_path / "node", {"name": "v", "configMap": {"name": "cm"}}
    (taken, free), own = (tmp_path / "taken", tmp_path / "x/free"), tmp_path / "own"
    taken.mkdir()
    own.symlink_to(node / "copies/hash")
    found = str(find_obstacle(taken, files, node))
    assert f"mountPath {taken}: something else is there, and the volume v belongs there" in found
    assert find_obstacle(free, files, node) is None
    assert find_obstacle(own, files, node) is None  # it goes with the pod that has it
    assert find_obstacle(taken, {"name": "v", "hostPath": {"path": str(taken)}}, node) is None
    assert find_obstacle(taken, claim_volume("data"), node) is None


def test_below_a_directory_that_may_not_be_entered_no_link_is_advised(tmp_path: Path) -> None:
    """For an ordinary user, where this test's user is root: root may enter every directory."""
    closed, user = tmp_path / "closed", 65534 if os.getuid() == 0 else os.getuid()
    closed.mkdir(mode=0)
    os.setresuid(user, user, -1)
    try:
        for target in (closed / "nas", closed / "cache/nas"):
            found = str(find_obstacle(target, claim_volume("data"), tmp_path / "node"))
            assert f"cannot make a link at {target}: Permission denied" in found and found.endswith(OTHERWISE)
    finally:
        if user == 65534:
            os.setresuid(0, 0, -1)


def test_a_link_of_the_user_is_not_removed(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "nas"
    source.mkdir()
    target.symlink_to(source)
    made: list[str] = []
    apply_links([Mount(source, str(target))], (), made)
    assert made == []


OTHERWISE = "install bubblewrap, or choose another mountPath"


@pytest.mark.parametrize(
    ("target", "source", "number", "said"),
    [
        ("{}/no/deep/nas", None, errno.EACCES, f"{OTHERWISE}, or allow this one: sudo install -d -o ME '{{}}/no/deep'"),
        ("{}/no/nas", "/srv/x", errno.EPERM, f"{OTHERWISE}, or allow this one: sudo install -d -o ME '{{}}/no'"),
        (
            "{}/nas",
            "/srv/my data",
            errno.EACCES,
            f"{OTHERWISE}, or allow this one: sudo ln -s '/srv/my data' '{{}}/nas'",
        ),
        ("{}/nas", None, errno.EACCES, OTHERWISE),
        ("{}/no/nas", "/srv/x", errno.EROFS, OTHERWISE),
    ],
)
def test_where_no_link_may_be_made_a_way_out_is_named(
    tmp_path: Path, target: str, source: str | None, number: int, said: str
) -> None:
    place = tmp_path / "a b"
    place.mkdir()
    error = OSError(number, os.strerror(number))
    found = str(explain_refused(Path(target.format(place)), Path(source) if source else None, error))
    assert found.endswith(said.format(place).replace("ME", pwd.getpwuid(os.getuid()).pw_name)), found
    assert os.strerror(number) in found


@pytest.mark.parametrize("target", ["/sys/paddock-test", "/sys/paddock-test/deep"])
def test_a_mount_path_where_nothing_may_be_made_is_no_reason_to_wait(tmp_path: Path, target: str) -> None:
    made: list[str] = []
    with pytest.raises(CannotStart, match=f"^mountPath {target}: cannot make a link"):
        apply_links([Mount(tmp_path, target)], (), made)
    assert made == []


def test_a_taken_mount_path_is_named_with_advice(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(ContainerWaiting, match=r"mountPath .*data: something else is there.*install bubblewrap"):
        apply_links([Mount(tmp_path, str(tmp_path / "data"))], (), [])
