"""The environment of programs, with real processes in both sandboxes: variables, arguments, names, labels, files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.cluster import PYTHON, Cluster, container, open_cluster, pod, shell
from paddock.kube.meta import CONFIG_MAPS, SECRETS, Manifest
from support.sandboxes import SANDBOXES, need_sandbox


@pytest.fixture(params=SANDBOXES)
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with open_cluster(tmp_path, need_sandbox(request.param)) as cluster:
        yield cluster


def field(name: str, path: str) -> Manifest:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def labelled(manifest: Manifest) -> Manifest:
    manifest["metadata"]["labels"] = {"role": "worker", "paddock.dev/index": "1"}
    return manifest


async def make_config(cluster: Cluster) -> None:
    """A ConfigMap like the one an operator creates for the ranks of a job."""
    found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "job", "namespace": "default"}}
    await cluster.api.create(CONFIG_MAPS, found | {"data": {"TRAINERS_NUM": "2", "conf": "x=1"}})


PRINT = "import sys; print(sys.argv[1:])"

VARIABLES = [
    {"name": "RANK", "value": "1"},
    field("POD", "metadata.name"),
    field("INDEX", "metadata.labels['paddock.dev/index']"),
    field("ADDRESS", "status.podIP"),
    {"name": "KEY", "valueFrom": {"configMapKeyRef": {"name": "job", "key": "conf"}}},
    {"name": "BOTH", "value": "$(RANK) of $(TRAINERS_NUM)"},
]
EXPANDED = [
    ("--rank=$(RANK)", "--rank=1"),
    ("$(POD)", "p"),
    ("$(INDEX)", "1"),
    ("$(TRAINERS_NUM)", "2"),
    ("$(KEY)", "x=1"),
    ("$(BOTH)", "1 of 2"),
    ("$RANK", "$RANK"),
    ("${RANK}", "${RANK}"),
    ("$(date +%s)", "$(date +%s)"),
    ("$(NOBODY)", "$(NOBODY)"),
    ("$$(RANK)", "$(RANK)"),
]


async def test_variables_in_command_and_args_are_expanded_but_not_the_shells(cluster: Cluster) -> None:
    await make_config(cluster)
    more = {"env": VARIABLES, "envFrom": [{"configMapRef": {"name": "job"}}]}
    main = container(PYTHON, "-c", PRINT, "$(POD)-$(RANK)", args=[text for text, _ in EXPANDED], **more)
    found = await cluster.run(labelled(pod(main)))
    assert await cluster.log(found) == f"{['p-1', *(value for _, value in EXPANDED)]}\n"


async def test_the_pod_address_is_available_as_a_variable(cluster: Cluster) -> None:
    main = container(PYTHON, "-c", PRINT, env=[field("ADDRESS", "status.podIP")], args=["$(ADDRESS):8000"])
    found = await cluster.run(pod(main))
    assert await cluster.log(found) == f"['{found['status']['podIP']}:8000']\n"


async def test_shell_variables_are_expanded_by_the_shell(cluster: Cluster) -> None:
    main = shell("RANK=2; echo $RANK $(echo done) $(RANK) '$(RANK)'", env=[{"name": "RANK", "value": "1"}])
    assert await cluster.log(await cluster.run(pod(main))) == "2 done 1 1\n"


async def test_the_host_name_is_the_pods_name(cluster: Cluster) -> None:
    asks = "import os, socket; print(os.environ['HOSTNAME'], socket.gethostname())"
    found = await cluster.run(pod(container(PYTHON, "-c", asks), name="wide-worker-0"))
    variable, system = (await cluster.log(found)).split()
    assert variable == "wide-worker-0"
    assert (system == "wide-worker-0") is cluster.sandbox.binds


async def test_labels_are_readable_one_by_one_and_as_a_file(cluster: Cluster, tmp_path: Path) -> None:
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    target = tmp_path / "podinfo"
    main = shell(
        f"echo $ROLE; cat {target}/labels",
        env=[field("ROLE", "metadata.labels['role']")],
        volumeMounts=[{"name": "info", "mountPath": str(target)}],
    )
    found = await cluster.run(labelled(pod(main, volumes=[{"name": "info", "downwardAPI": {"items": items}}])))
    assert await cluster.log(found) == 'worker\npaddock.dev/index="1"\nrole="worker"'


async def test_a_projected_volume_has_the_files_of_all_its_sources(cluster: Cluster, tmp_path: Path) -> None:
    await make_config(cluster)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "default"}}
    await cluster.api.create(SECRETS, secret | {"stringData": {"token": "s3cret"}})
    sources = [
        {"configMap": {"name": "job", "items": [{"key": "conf", "path": "etc/conf"}]}},
        {"secret": {"name": "key"}},
        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    target = tmp_path / "all"
    main = shell(
        f"cd {target}; cat etc/conf; echo; cat token; echo; cat name; stat -L -c %a token",
        volumeMounts=[{"name": "all", "mountPath": str(target)}],
    )
    volumes = [{"name": "all", "projected": {"sources": sources, "defaultMode": 0o400}}]
    assert await cluster.log(await cluster.run(pod(main, volumes=volumes))) == "x=1\ns3cret\np400\n"
