"""A client in a pod, which finds the API and a token of its account as in any cluster (load_incluster_config)."""

from __future__ import annotations

import json
from typing import Any

from clients.fetched import PROGRAMS, find
from clients.kubectl import Kubectl
from e2e.commands import Cluster, until
from support.sandboxes import need_bubblewrap

_RIGHTS = "/apis/rbac.authorization.k8s.io/v1/namespaces"


def run_in_pod(laptop: Cluster, namespace: str, client: str, function: str) -> Any:
    """What a function of `programs/of_CLIENT.py` returns there, as the account `reader`, which may read ConfigMaps.

    The pod's Python is that of the client's environment: what is tested is the way to the API, no image.
    """
    need_bubblewrap()
    laptop.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "reader"}})
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
    laptop.create(f"{_RIGHTS}/{namespace}/roles", {"metadata": {"name": "reader"}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    binding = {"metadata": {"name": "reader"}, "roleRef": reference, "subjects": [subject]}
    laptop.create(f"{_RIGHTS}/{namespace}/rolebindings", binding)
    text = (PROGRAMS / f"of_{client}.py").read_text()
    variables = [{"name": "NAMESPACE", "value": namespace}, {"name": "IN_CLUSTER", "value": "yes"}]
    container = {
        "name": "main", "image": "python", "env": variables,
        "command": [str(find(client)), "-c", text, function],
    }  # fmt: skip
    spec = {"serviceAccountName": "reader", "restartPolicy": "Never", "containers": [container]}
    pods = f"/api/v1/namespaces/{namespace}/pods"
    laptop.create(pods, {"metadata": {"name": "inside"}, "spec": spec})
    ends = ("Succeeded", "Failed")
    until("its end", lambda: laptop.read(f"{pods}/inside")["status"].get("phase") in ends)
    printed = Kubectl(str(find("kubectl")), laptop, namespace)("logs", "inside")
    assert laptop.read(f"{pods}/inside")["status"]["phase"] == "Succeeded", printed
    return json.loads(printed.splitlines()[-1])
