"""One real node for all tests of this folder, with the operator as the documents install it, leading.

To start both takes 40 seconds of a core. Names of jobs, claims and images differ between the files, as some stay.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from paddock.install.deployment import DEPLOYMENT
from support.deployed import Kubectl
from support.real_node import NAMESPACE, Cluster, need_node, open_node


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    need_node()
    with open_node() as plane:
        found = Cluster(Kubectl(plane))
        found.kubectl("create", "-f", "deploy/v1/crd.yaml", "-f", "deploy/v1/operator.yaml")
        found.kubectl("-n", NAMESPACE, "rollout", "status", f"deployment/{DEPLOYMENT}", "--timeout=180s")
        yield found
