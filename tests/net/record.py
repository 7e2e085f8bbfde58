"""`python -m net.record`, from `tests`: makes `net.states` on a local cluster, and writes what is there to `places`.

Objects and files of the home are lines of JSON. In them the home's path is `@HOME@`, that of the manifests
`@DIRECTORY@`, and this machine's name `laptop`; its processors and its memory stay as they are told there. Run it again
when a state is added; the goldens change then, as times and UIDs do. Where a state does not come, nothing is written,
and the exit code is 1.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from e2e.commands import Cluster, open_cluster, until
from net.states import STATES, State

PLACES = Path(__file__).with_name("places")
_KINDS = {"PaddleJob": "paddlejobs", "PyTorchJob": "pytorchjobs"}
_SKIPPED = (
    "rbac.",
    "apiextensions",
    "scheduling.k8s.io/",
    "apiregistration",
    "/secrets",
    "/serviceaccounts",
    "node.k8s.io",
    "flowcontrol",
    "storage.k8s.io/storageclasses",
    "/configmaps/kube-root-ca.crt",
)
"""What each API server makes itself."""
_KEPT = ("history", "node/pods", "outputs")
"""Folders of the home."""


def main() -> None:
    for name in set(os.environ) - {"PYTHONPATH"}:  # nothing of this machine is recorded
        del os.environ[name]
    with tempfile.TemporaryDirectory() as user:
        os.environ.update(PATH="/usr/local/bin:/usr/bin:/bin", HOME=user, USER="ada", LOGNAME="ada", LANG="C.UTF-8")
        record(user)


def record(user: str) -> None:
    """`user`: the home directory of the user."""
    with open_cluster("none") as cluster:
        prepare(cluster)
        faults = [name for name, state in STATES.items() if not comes(cluster, name, state)]
        if faults:  # a record without them would make goldens of another state under their names
            sys.exit(f"nothing is written, as these states did not come: {', '.join(faults)}")
        time.sleep(5)  # what is written late (histories, progress) is written
        cluster.kill_cluster()  # so that what it kept is as a running one has it
        write(cluster, read_objects(cluster), PLACES / "laptop", user)


def comes(cluster: Cluster, name: str, state: State) -> bool:
    """Makes a state; says what is missing of one that does not come, and goes on to the next."""
    print(name, flush=True)
    try:
        make(cluster, name, state)
    except AssertionError as error:
        print("FAULT", name, error, flush=True)
        return False
    return True


def prepare(cluster: Cluster) -> None:
    for name in STATES:
        cluster.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
             "spec": {"hard": {"requests.cpu": "100m"}}}  # fmt: skip
    cluster.create("/api/v1/namespaces/waiting-for-a-quota/resourcequotas", quota)


def make(cluster: Cluster, namespace: str, state: State) -> None:
    for manifest in state.jobs:
        group, plural = manifest["apiVersion"], _KINDS[manifest["kind"]]
        path = f"/apis/{group}/namespaces/{namespace}/{plural}"
        cluster.create(path, manifest)
        last = manifest is state.jobs[-1]
        wanted = state.until if last else state.phases[manifest["metadata"]["name"]]
        wait(cluster, namespace, f"{path}/{manifest['metadata']['name']}", wanted)
    time.sleep(state.pause)
    if state.patch:
        cluster.patch(f"{path}/{manifest['metadata']['name']}", state.patch)
        time.sleep(2)
    file = cluster.directory / f"{namespace}.yaml"
    file.write_text(yaml.safe_dump(dict(manifest)).replace("0.1", "0.01"))
    for words, wanted in state.then:
        typed = [str(file) if each == "FILE" else each for each in words]
        ended = cluster.paddock(*typed, "-n", namespace)
        assert ended.code == 0, str(ended)
        wait(cluster, namespace, f"{path}/{manifest['metadata']['name']}", wanted)


def wait(cluster: Cluster, namespace: str, path: str, wanted: str) -> None:
    name = path.rpartition("/")[2]

    def look() -> bool:
        try:
            status = cluster.read(path).get("status") or {}
        except OSError:
            return wanted == "gone"
        if wanted == status.get("phase") or wanted in {
            each["type"] for each in status.get("conditions", ()) if each["status"] == "True"
        }:
            return True
        return wanted[:1].islower() and wanted in cluster.paddock("explain", name, "-n", namespace).out

    until(f"{name}: {wanted}", look, 45, tell=lambda: cluster.paddock("explain", name, "-n", namespace))


def read_objects(cluster: Cluster) -> list[dict[str, Any]]:
    """All objects of all kinds that have a list, as they are stored."""
    import sqlite3

    with sqlite3.connect(f"file:{cluster.home}/api/store.sqlite?mode=ro", uri=True) as db:
        rows = db.execute("select resource, namespace, name, body from objects order by resource, namespace, name")
        found = [(str(row[0]), json.loads(row[3])) for row in rows]
    return [
        {"resource": key, "object": each} for key, each in found if not _is_skipped(f"{key}/{each['metadata']['name']}")
    ]


def _is_skipped(key: str) -> bool:
    return any(each in key for each in _SKIPPED)


def write(cluster: Cluster, objects: list[dict[str, Any]], place: Path, user: str) -> None:
    """`place`: a folder with two files of lines of JSON, and the moment at which all this is so."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    files = [
        {"path": str(path.relative_to(cluster.home)), "time": path.stat().st_mtime, **read(path)}
        for path in list_files(cluster.home)
    ]
    for name, lines in (("objects", objects), ("files", files), ("now", [time.time() + 60])):
        text = "".join(json.dumps(each, ensure_ascii=False, sort_keys=True) + "\n" for each in lines)
        (place / f"{name}.jsonl").write_text(hide(text, cluster, user))


def read(path: Path) -> dict[str, str]:
    """As `text`, or what is none as `base64`."""
    content = path.read_bytes()
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def list_files(home: Path) -> Iterator[Path]:
    for name in _KEPT:
        yield from (path for path in sorted((home / name).rglob("*")) if path.is_file() and not path.is_symlink())


def hide(text: str, cluster: Cluster, user: str) -> str:
    """`text` without the paths and the name of this machine."""
    text = text.replace(user, "/home/ada")
    text = text.replace(str(cluster.home), "@HOME@").replace(str(cluster.directory), "@DIRECTORY@")
    text = text.replace(str(Path(__file__).parents[2]), "/opt/paddock").replace(
        str(Path(sys.prefix)), "/opt/paddock/.venv"
    )
    return re.sub(rf"\b{re.escape(socket.gethostname().lower())}\b", "laptop", text)


if __name__ == "__main__":
    main()
