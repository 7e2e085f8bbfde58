"""The documents' other manifests, verbatim: node selector and GPUs, storage and its job, Volcano's gang."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.commands import Cluster, open_cluster, until
from support.sandboxes import ONE_SANDBOX

DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"
PROGRAM = Path(__file__).parents[2] / "src/paddock/environments/programs/wide_and_deep"


@pytest.fixture
def laptop() -> Iterator[Cluster]:
    """What is asked here is the scheduler's: one sandbox is enough."""
    with open_cluster("none") as opened:
        opened.up()
        yield opened


@pytest.mark.parametrize("manifest", sorted(DOCUMENTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_manifest_of_the_documents_is_without_a_mistake(manifest: Path, shared: Cluster) -> None:
    ended = shared.paddock("validate", str(manifest))
    assert ended.code == 0, str(ended)


@pytest.mark.slow
@pytest.mark.usefixtures("kubectl")
def test_a_job_for_gpus_and_a_labelled_node_waits_with_both_facts_in_one_sentence(laptop: Cluster) -> None:
    manifest = str(DOCUMENTS / "gpu_node_selector.yaml")
    ended = laptop.paddock("run", manifest, "--timeout", "8", seconds=60)
    if "1 Insufficient nvidia.com/gpu" not in ended.err:
        pytest.skip("this machine has GPUs enough")
    assert ended.code == 1, str(ended)
    sentences = [line for line in ended.said if "nvidia-tesla-p100" in line]
    assert any("1 has not enough GPUs free (needs 4; none is free)" in line for line in sentences), str(ended)
    laptop.paddock("delete", "wide-ande-deep")
    node = laptop.kubectl("get", "nodes", "-o", "name").lines[0]
    laptop.kubectl("label", node, "accelerator=nvidia-tesla-p100")
    laptop.paddock("submit", manifest)
    until(
        "the label is not the obstacle any more",
        lambda: (
            (why := laptop.paddock("explain", "wide-ande-deep").out)
            and "; this cluster has none" in why
            and "nvidia-tesla-p100" not in why.split("next:")[0]
        ),
    )


def run_in_storage(cluster: Cluster) -> None:
    assert cluster.paddock("submit", str(DOCUMENTS / "storage.yaml")).code == 0
    claim = until(
        "the claim is bound",
        lambda: (
            found := cluster.read("/api/v1/namespaces/default/persistentvolumeclaims/nfs-pvc")
        )["status"].get("phase") == "Bound" and found,
    )  # fmt: skip
    directory = Path(claim["metadata"]["annotations"]["paddock.dev/directory"])
    shutil.copytree(PROGRAM, directory / "wide_and_deep")
    train = directory / "wide_and_deep" / "train.py"
    train.write_text(
        train.read_text().replace('"EPOCHS", "3"', '"EPOCHS", "1"').replace('"STEPS", "400"', '"STEPS", "100"')
    )


@ONE_SANDBOX
@pytest.mark.paddle
def test_the_storage_job_trains_from_the_claims_directory_and_its_misspelt_policy_is_honoured(cluster: Cluster) -> None:
    run_in_storage(cluster)
    ended = cluster.paddock("run", str(DOCUMENTS / "storage_job.yaml"), seconds=200)
    assert ended.code == 0, str(ended)
    assert "cleanPolicy" in ended.err
    assert re.search(r"worker 2/2 succeeded\. Held-out AUC 0\.\d\d", ended.err)
    until("OnCompletion removes all pods", lambda: not cluster.pods("paddlejob-demo-1"))


@ONE_SANDBOX
@pytest.mark.paddle
def test_volcanos_pod_group_that_arrives_after_the_job_is_taken(cluster: Cluster) -> None:
    ended = cluster.paddock("run", str(DOCUMENTS / "volcano.yaml"), seconds=200)
    assert ended.code == 0, str(ended)
    group = cluster.read("/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/wide-ande-deep")
    assert group["spec"]["minMember"] == 4
    assert group["status"]["phase"] in ("Running", "Inqueue", "Completed"), group["status"]
