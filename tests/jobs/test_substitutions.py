"""A job without a resource that the machine lacks."""

from __future__ import annotations

import json

from jobs.samples import read_manifest
from paddock.jobs.apis.paddlepaddle import read_job
from paddock.jobs.substitutions import WITHOUT_ANNOTATION, Notice, without
from paddock.kube.meta import annotations_of

GPU = "nvidia.com/gpu"
LIMITS = "spec.worker.template.spec.containers[0].resources.limits"


def test_the_resource_goes_from_every_template_with_a_notice_of_each() -> None:
    manifest = read_manifest("wide_and_deep_service")
    result, notices = without(manifest, GPU)
    assert notices == (Notice(LIMITS, GPU, "1"), Notice(LIMITS.replace("worker", "ps"), GPU, "1"))
    assert GPU not in json.dumps(result["spec"])
    assert "resources" not in result["spec"]["worker"]["template"]["spec"]["containers"][0]
    assert read_job(result).mode == "PS"


def test_what_stood_there_is_kept_in_an_annotation() -> None:
    result, _ = without(read_manifest("resnet"), GPU)
    assert json.loads(annotations_of(result)[WITHOUT_ANNOTATION]) == {GPU: {LIMITS: "1"}}


def test_two_resources_are_both_recorded_and_doing_it_twice_changes_nothing() -> None:
    manifest = read_manifest("resnet")
    manifest["spec"]["worker"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1"}
    once, _ = without(without(manifest, GPU)[0], "cpu")
    assert set(json.loads(annotations_of(once)[WITHOUT_ANNOTATION])) == {GPU, "cpu"}
    assert without(once, GPU) == (once, ())


def test_other_amounts_stay_and_the_argument_is_not_changed() -> None:
    manifest = read_manifest("resnet")
    resources = {"limits": {GPU: 1, "cpu": "2"}, "requests": {"cpu": "1"}, "claims": []}
    manifest["spec"]["worker"]["template"]["spec"]["containers"][0]["resources"] = resources
    result, _ = without(manifest, GPU)
    left = result["spec"]["worker"]["template"]["spec"]["containers"][0]["resources"]
    assert left == {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}, "claims": []}
    assert resources["limits"] == {GPU: 1, "cpu": "2"}


def test_the_gangs_own_demand_goes_as_well() -> None:
    manifest = read_manifest("resnet")
    manifest["spec"]["schedulingPolicy"] = {"minResources": {GPU: 2, "cpu": 1}}
    assert without(manifest, GPU)[0]["spec"]["schedulingPolicy"] == {"minResources": {"cpu": 1}}


def test_a_manifest_that_asks_for_no_such_thing_is_returned_as_it_is() -> None:
    manifest = read_manifest("wide_and_deep")
    assert without(manifest, GPU) == (manifest, ())


def test_an_init_container_and_other_kinds_with_pod_templates_are_covered() -> None:
    container = {"name": "a", "resources": {"requests": {GPU: 1}}}
    deployment = {"kind": "Deployment", "spec": {"template": {"spec": {"initContainers": [container]}}}}
    result, notices = without(deployment, GPU)
    assert [notice.path for notice in notices] == ["spec.template.spec.initContainers[0].resources.requests"]
    assert result["spec"]["template"]["spec"]["initContainers"] == [{"name": "a"}]
