"""The generated schemas: up to date, self-contained, and small enough to go into a CRD."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from paddock.apiserver.kinds.registry import read_crd
from paddock.kube import schemas

TOOL = Path(__file__).parents[2] / "tools" / "generate_schemas.py"


def test_the_committed_data_is_what_the_tool_writes():
    checked = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_the_data_is_small():
    data = (Path(schemas.__file__).parent / "data" / "schemas.json.gz").read_bytes()
    assert len(data) < 20_000
    assert gzip.decompress(data).startswith(b"{")


def test_a_pod_template_stands_by_itself_and_fits_into_a_definition():
    template = schemas.definition("PodTemplateSpec")
    text = json.dumps(template, separators=(",", ":"))
    assert "$ref" not in text
    assert len(text) < 160_000
    metadata = template["properties"]["metadata"]["properties"]
    assert {"labels", "annotations"} <= set(metadata)
    limits = template["properties"]["spec"]["properties"]["containers"]["items"]["properties"]["resources"]
    assert limits["properties"]["limits"]["additionalProperties"] == {"x-kubernetes-int-or-string": True}


def test_a_definition_with_a_pod_template_is_structural():
    schema = {"type": "object", "properties": {"template": schemas.definition("PodTemplateSpec")}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [version]}
    assert read_crd({"metadata": {"name": "widgets.example.org"}, "spec": spec})


@pytest.mark.parametrize("name", ["Pod", "PodTemplateSpec", "Lease", "ClusterRole", "io.k8s.api.apps.v1.Deployment"])
def test_a_closure_is_closed(name):
    found = schemas.closure(name)
    text = json.dumps(found)
    wanted = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert wanted <= set(found)


def test_a_missing_name_is_in_the_error():
    with pytest.raises(KeyError, match="Podd"):
        schemas.definition("Podd")
