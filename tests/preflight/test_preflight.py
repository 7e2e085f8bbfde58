"""Text of manifests: parsed as kubectl parses it, and every problem with its line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.samples import JOBS, read_text
from paddock.kube.meta import name_of
from paddock.manifests import documents
from paddock.manifests.documents import read_documents
from paddock.manifests.scalars import read_scalar
from paddock.manifests.structure import check_structure
from paddock.manifests.yaml_nodes import Document, Position
from paddock.preflight import check, check_together, format_problem, without_server_fields

WIDE = read_text("wide_and_deep")


def problems(text: str) -> list[str]:
    return [format_problem(each, "wide.yaml") for document in read_documents(text) for each in check(document)]


# Made with kubectl 1.32: kubectl annotate --local -f FILE a=b -o json
SCALARS: list[tuple[str, Any]] = [
    ("on", True), ("y", True), ("Y", True), ("Yes", True), ("TRUE", True), ("n", False), ("NO", False), ("off", False),
    ("tRue", "tRue"), ("", None), ("~", None), ("null", None), ("Null", None), ("nUll", "nUll"),
    ("017", 15), ("0o17", 15), ("08", 8), ("0x1F", 31), ("-0x1F", -31), ("0b11", 3), ("0777", 511), ("00", 0),
    ("1_000", 1000), ("+1", 1), ("-1", -1), ("-0", 0), ("-0.0", 0), ("1.", 1), ("0.", 0), ("1.0", 1), (".5", 0.5),
    ("+.5", 0.5), ("-.5e-3", -0.0005), ("1e3", 1000), ("1E+3", 1000), ("1e-7", 1e-7), ("1e400", "1e400"),
    ("2.50", 2.5), ("1_0.5", 10.5), ("12345678901234567890", 12345678901234567890.0),
    ("1:30", "1:30"), ("2021-01-01", "2021-01-01"), ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
    ("=", "="), ("+", "+"), (".", "."), ("-", "-"), ("1e", "1e"), ("0x", "0x"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_a_plain_scalar_has_kubectls_value(text: str, value: Any) -> None:
    found = read_scalar(text)
    assert (found, type(found)) == (value, type(value))


def test_quotes_tags_merges_and_keys_are_read_as_kubectl_reads_them() -> None:
    text = """
    a: ["yes", 'on', !!str 5, !!int "5", !!float 5, !!bool "yes", !!binary aGVsbG8=, !foo 3, !!str , !!null ]
    base: &base {b: 1, c: 1}
    merged: {<<: *base, c: 2}
    both: {<<: [{x: 1}, {x: 2, z: 3}], w: 1}
    on: key
    1: one
    1.5: half
    """
    document = read_documents(text)[0]
    assert document.problems == ()
    assert document.manifest == {
        "a": ["yes", "on", "5", 5, 5, True, "hello", "3", "", None],
        "base": {"b": 1, "c": 1},
        "merged": {"b": 1, "c": 2},
        "both": {"x": 1, "w": 1, "z": 3},
        "true": "key",
        "1": "one",
        "1.5": "half",
    }


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{inner}'] * 10)}]\n" for inner, name in zip("abcdefgh", "bcdefghi", strict=True)
)
UNREADABLE = [
    ("", "wide.yaml:1:1: there is no manifest here: the text is empty"),
    ("# only a remark\n---\n", "wide.yaml:1:1: there is no manifest here: the text is empty"),
    ("a:\n  b: [1,\n", "wide.yaml:3:1: the text ends in the middle of a value"),
    (
        "a: 1\n\tb: 2",
        "wide.yaml:2:1: a tab stands here; YAML is indented by spaces: replace each tab by two of them",
    ),
    ("a: 1\nb: \x07", "wide.yaml:2:4: the character U+0007 stands here, which no text file holds: remove it"),
    ("- 1\n", "wide.yaml:1:1: found a list, a mapping with apiVersion and kind is allowed"),
    ("a: 1\nb: 2\na: 3", "wide.yaml:3:1: a: is given twice, first in line 1"),
    ("a: &a [*a]", "wide.yaml:1:4: a[0]: an alias refers to what it is a part of"),
    ("a: .inf", 'wide.yaml:1:4: a: found ".inf", which is not a number in JSON'),
    ("a: !!int x", 'wide.yaml:1:4: a: found "x", which is not !!int'),
    ("? [a]\n: b", "wide.yaml:1:3: a key is nothing, a list or a mapping; a key is text"),
    ("[" * 3000, "wide.yaml:1:1: this is no manifest: it is nested hundreds of levels deep"),
]


@pytest.mark.parametrize(("text", "problem"), UNREADABLE)
def test_a_text_that_is_no_manifest_is_reported_with_its_line(text: str, problem: str) -> None:
    assert problems(text) == [problem]


def test_an_alias_bomb_is_refused() -> None:
    (problem,) = problems(BOMB)
    assert problem.endswith("aliases stand for more than 10000 values, which is refused: write out what is needed")


PADDLE = "batch.paddlepaddle.org/v1"
KINDS = [
    ("kind: PaddleJob", f'wide.yaml:1:1: apiVersion: is missing: a text like "{PADDLE}" is needed'),
    (f"apiVersion: {PADDLE}", 'wide.yaml:1:1: kind: is missing: a text like "PaddleJob" is needed'),
    (
        "kind: PaddleJob\napiVersion: batch.paddlepaddle.org/v2",
        (
            f'wide.yaml:2:13: apiVersion: found "batch.paddlepaddle.org/v2", {PADDLE} or kubeflow.org/v1 for a '
            f'PaddleJob is allowed; did you mean "{PADDLE}"?'
        ),
    ),
    (
        f"apiVersion: {PADDLE}\nkind: PadelJob",
        'wide.yaml:2:7: kind: there is no kind of this name; did you mean "PaddleJob"?',
    ),
]


@pytest.mark.parametrize(("text", "problem"), KINDS)
def test_an_unknown_kind_or_version_is_reported(text: str, problem: str) -> None:
    assert [each for each in problems(text) if "kind: " in each or "apiVersion: " in each] == [problem]


def test_the_nearest_kind_is_offered() -> None:
    (problem,) = problems("apiVersion: v1\nkind: pod\n")
    assert problem.endswith('did you mean "Pod"?')


SPEC = "spec.worker.template.spec"


def mistakes(*changes: tuple[str, str]) -> list[str]:
    """The paths of the problems of WIDE after the changes, each made once."""
    text = WIDE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return [each.path for document in read_documents(text) for each in check(document) if each.severity == "error"]


MISSPELT: list[tuple[list[tuple[str, str]], list[str]]] = [
    ([("kind: PaddleJob", "kind: paddlejob"), ("replicas: 2", "replicas: -1")], ["kind", "spec.worker.replicas"]),
    ([("paddlepaddle.org", "paddlepadle.org"), ("worker", "wroker")], ["apiVersion", "spec.wroker"]),
    ([("metadata:", "metdata:"), ("wide-ande-deep", "Wide")], ["metdata", "metdata.name"]),
    ([("name: wide-ande-deep", "nmae: Wide")], ["metadata.nmae", "metadata.nmae"]),
    (
        [("worker:", "workers:"), ("containers:", "contianers:"), ("image:", "imgae:"), ("replicas: 2", "replcas: 0")],
        [
            "spec.workers",
            "spec.workers.replcas",
            "spec.workers.replcas",
            "spec.workers.template.spec.contianers",
            "spec.workers.template.spec.contianers[0].imgae",
        ],
    ),
    ([("  worker:", "  zzz:")], ["spec.worker", "spec.zzz"]),
    ([("metadata:", "zzz: 1\nmetadata:"), ("replicas: 2", "replicas: -1")], ["zzz", "spec.worker.replicas"]),
    ([("containers:", "container: []\n        containers:")], ["spec.worker.template.spec.container"]),
]


@pytest.mark.parametrize(("changes", "paths"), MISSPELT)
def test_a_misspelt_name_hides_no_other_mistake(changes: list[tuple[str, str]], paths: list[str]) -> None:
    assert mistakes(*changes) == paths


def test_fields_of_another_group_are_reported_as_such() -> None:
    paths = mistakes((PADDLE, "kubeflow.org/v1"))
    assert paths == ["spec.cleanPodPolicy", "spec.withGloo", "spec.worker", "spec.ps"], "and none that is missing"
    (clean, *_) = problems(WIDE.replace(PADDLE, "kubeflow.org/v1"))
    assert clean.endswith("it belongs to spec.runPolicy.cleanPodPolicy")
    (kubeflow,) = problems(read_text("kubeflow_distributed").replace("kubeflow.org/v1", PADDLE))
    assert kubeflow.endswith(
        f"a PaddleJob of kubeflow.org/v1 has this field, and this one is of {PADDLE}: keep to one of the two"
    )


def test_a_name_that_is_no_text_is_reported_and_not_compared() -> None:
    """Names are looked for among others, where a mapping or a list cannot stand."""
    env = "env: [{name: {a: 1}}, {name: []}]"
    mounts = "volumeMounts: [{name: [], mountPath: {}}]"
    assert mistakes(("- name: paddle", f"- name: paddle\n            {env}\n            {mounts}")) == [
        f"{SPEC}.containers[0].{place}"
        for place in ("env[0].name", "env[1].name", "volumeMounts[0].name", "volumeMounts[0].mountPath")
    ]


NAMES = ["worker:", "replicas:", "template:", "containers:", "image:", "metadata:"]


@given(st.lists(st.sampled_from(NAMES), unique=True))
def test_each_misspelt_name_is_reported_once_and_nothing_else(names: list[str]) -> None:
    changes = [(name, f"{name[0]}{name[2]}{name[1]}{name[3:]}") for name in names]
    found = mistakes(*changes)
    assert sorted(path.rpartition(".")[2] + ":" for path in found) == sorted(new for _, new in changes)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ('{"a": 1,}', [(1, 8, "}")]),
        ('{"a": [1,\n2 ,\n], "b": "x,}", }', [(2, 3, "]"), (3, 14, "}")]),
        ('{"a": "\\",}"}', []),
        ('{"a": 1}', []),
    ],
)
def test_each_trailing_comma_in_json_is_reported(text: str, ends: list[tuple[int, int, str]]) -> None:
    (document,) = read_documents(text)
    assert [(each.line, each.column, each.message) for each in document.problems] == [
        (line, column, f'"," before "{end}" is not allowed in JSON: kubectl refuses it') for line, column, end in ends
    ]


WRONG = [
    (
        ("replicas: 2", "replicas: two"),
        [
            'wide.yaml:9:15: spec.worker.replicas: found "two", a whole number from 1 to 10000 is allowed',
            'wide.yaml:16:15: spec.ps.replicas: found "two", a whole number from 1 to 10000 is allowed',
        ],
    ),
    (
        ("  worker:", "  wroker:"),
        [
            'wide.yaml:8:3: spec.wroker: there is no field of this name; did you mean "worker"?',
        ],
    ),
    (
        ("withGloo: 1", "withGloo: on"),
        ["wide.yaml:7:13: spec.withGloo: found true, a whole number from 0 to 2 is allowed"],
    ),
    (("name: wide", "nme: wide"), ["wide.yaml:4:3: metadata.nme: there is no"]),
]


@pytest.mark.parametrize(("change", "expected"), WRONG)
def test_an_invalid_job_is_reported_by_line(change: tuple[str, str], expected: list[str]) -> None:
    found = problems(WIDE.replace(*change))
    assert len(found) == len(expected)
    assert all(line.startswith(start) for line, start in zip(found, expected, strict=True))


def test_a_misspelt_field_deep_in_a_template_gets_its_line_and_its_right_name() -> None:
    text = read_text("resnet").replace("containers:", "container:")
    assert problems(text) == [
        f'wide.yaml:11:9: {SPEC}.container: there is no field of this name; did you mean "containers"?',
    ]
    (unknown,) = problems(read_text("resnet").replace("mountPath:", "mounthPath:"))
    assert unknown.endswith('mounthPath: there is no field of this name; did you mean "mountPath"?')


@pytest.mark.parametrize("name", [*JOBS, "nfs"])
def test_the_documents_manifests_have_no_error(name: str) -> None:
    found = [each for document in read_documents(read_text(name)) for each in check(document)]
    assert [each for each in found if each.severity == "error"] == []


def test_a_warning_is_marked_as_a_warning() -> None:
    (line,) = problems(read_text("paddlejob_demo_1"))
    assert line.startswith("wide.yaml:6:16: warning: spec.cleanPolicy: ")


def test_documents_and_items_of_lists_have_their_own_lines() -> None:
    pods = "kind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n"
    text = f"{WIDE}---\n# nothing\n---\napiVersion: v1\n{pods}"
    first, second = read_documents(text)
    assert (name_of(first.manifest), name_of(second.manifest)) == ("wide-ande-deep", "a")
    assert (first.line_of("spec.ps.replicas"), second.line_of("metadata.name")) == (16, text.count("\n"))
    assert second.line_of("spec.containers[0].image") == second.line


def test_one_bad_document_leaves_the_others_readable() -> None:
    good, bad = read_documents(f"{WIDE}---\na: [\n")
    assert check(good) == () and len(check(bad)) == 1


def test_json_with_tabs_is_read() -> None:
    document = read_documents('{\n\t"apiVersion": "v1",\n\t"kind": "Pod"\n}')[0]
    assert (document.manifest, document.line_of("kind")) == ({"apiVersion": "v1", "kind": "Pod"}, 3)


def test_a_path_has_the_line_of_its_nearest_ancestor() -> None:
    document = read_documents("a:\n  b:\n  - x.y/z: 1\n")[0]
    assert document.line_of("a.b[0][x.y/z]") == 3
    assert document.line_of("a.b[0].none.at[all]") == 3
    assert document.line_of("a.c") == 1


STRUCTURE: list[tuple[dict[str, Any], Any, list[str]]] = [
    ({"type": "object"}, {"any": 1}, []),
    ({"type": "object", "properties": {"a": {}}}, {"b": 1}, ["b: there is no field of this name"]),
    ({"type": "object", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": True}, {"b": 1}, []),
    ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": 1}, ["a: found 1, text"]),
    ({"type": "object", "required": ["a"], "properties": {"a": {"type": "array"}}}, {}, ["a: is missing: a list"]),
    ({"type": "array", "items": {"type": "integer"}}, [1, "2", 3.0, True], ["[1]: found", "[3]: found true"]),
    ({"type": "number"}, 1, []),
    ({"type": "boolean"}, "true", [': found "true", true or false']),
    ({"x-kubernetes-int-or-string": True}, True, [": found true, a whole number or text"]),
    ({"x-kubernetes-int-or-string": True}, "80%", []),
    ({"type": "string", "enum": ["Never", "Always"]}, "never", [': found "never", Never or Always is allowed; did']),
    ({"x-kubernetes-int-or-string": True}, 0.5, [': found 0.5, a whole number or text is allowed; write "0.5"']),
    ({"x-kubernetes-int-or-string": True}, 1e9, []),
    ({"type": "integer"}, 2**64, [": found 18446744073709551616, a number of at most 64 bits"]),
    ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": None}, []),
    ({"type": "array", "items": {"type": "string"}}, [None], ["[0]: is missing: text"]),
]


@pytest.mark.parametrize(("schema", "value", "expected"), STRUCTURE)
def test_a_value_is_validated_against_its_schema(schema: dict[str, Any], value: Any, expected: list[str]) -> None:
    found = [f"{problem.path}: {problem.message}" for problem in check_structure(schema, value)]
    assert len(found) == len(expected)
    assert all(line.startswith(start) for line, start in zip(found, expected, strict=True)), found


@given(st.text(max_size=60) | st.text(alphabet="a:-?[]{}&*!|>'\"\n\t #%@,<", max_size=40))
def test_any_text_can_be_read_and_checked(text: str) -> None:
    documents = read_documents(text)
    assert documents
    for document in documents:
        assert all(problem.line for problem in check(document))


@given(st.text(max_size=12) | st.floats().map(str) | st.integers().map(str))
def test_any_scalar_can_be_read(text: str) -> None:
    found = read_scalar(text)
    assert found is None or isinstance(found, bool | int | float | str)
    assert (
        not isinstance(found, float) or math.isinf(found) or math.isnan(found) or found == float(text.replace("_", ""))
    )


def test_fields_of_the_server_are_not_sent_back() -> None:
    written = {"uid": "u", "resourceVersion": "7", "creationTimestamp": "x", "managedFields": [], "generation": 2}
    dump = {"kind": "PaddleJob", "metadata": {"name": "a", "labels": {"b": "c"}, **written}, "spec": {}, "status": {}}
    assert without_server_fields(dump) == {
        "kind": "PaddleJob",
        "metadata": {"name": "a", "labels": {"b": "c"}},
        "spec": {},
    }
    assert without_server_fields({"metadata": "odd"}) == {"metadata": "odd"}


def test_one_name_in_two_namespaces_is_no_conflict() -> None:
    text = WIDE.replace("name: wide-ande-deep", "name: wide-ande-deep\n  namespace: {}")
    assert check_together(read_documents(f"{text.format('a')}---\n{text.format('b')}")) == [None, None]
    first, second = check_together(read_documents(f"{text.format('a')}---\n{text.format('a')}"))
    assert first is None and second is not None and second.path == "metadata.name"


@pytest.mark.parametrize("name", [*JOBS, "nfs"])
def test_the_documents_manifests_get_no_new_warning(name: str) -> None:
    """A wrong warning is worse than none."""
    expected = {"paddlejob_demo_1": ["spec.cleanPolicy"]}.get(name, [])
    assert [each.path for document in read_documents(read_text(name)) for each in check(document)] == expected


class _Paths(dict[str, Position]):
    """Counts how often the paths of a text are gone through."""

    passes = 0

    def items(self) -> Any:
        type(self).passes += 1
        return super().items()


def test_the_paths_of_a_list_are_gone_through_once() -> None:
    items = [{"apiVersion": "v1", "kind": "ConfigMap"} for _ in range(12)]
    paths = {f"items[{index}].kind": Position(index, 1, 1) for index in range(12)}
    document = Document({"kind": "List", "items": items}, _Paths(paths))
    found = list(documents._unwrap(document))
    assert _Paths.passes == 1
    assert [dict(each.places) for each in found] == [{"kind": Position(index, 1, 1)} for index in range(12)]


def test_a_pod_with_the_ipc_of_its_node_has_the_nodes_shared_memory() -> None:
    text = (Path(__file__).parents[1] / "bad/no_shared_memory.yaml").read_text(encoding="utf-8")
    assert ["/dev/shm" in each for each in problems(text)] == [True]
    assert problems(text.replace("      spec:", "      spec:\n        hostIPC: true")) == []


def test_a_train_job_is_told_what_to_write_instead() -> None:
    """Its framework may well run here: the kind does not."""
    (said,) = problems("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llama}\n")
    assert "has its pods from a runtime of Kubeflow's Trainer, and is not served here: write a PyTorchJob" in said


FOREIGN = [
    ("batch.volcano.sh/v1alpha1", "Job", "Job of batch.volcano.sh is not served here: each of its tasks is a role"),
    ("batch/v1", "Job", "`paddock run -- COMMAND` runs a program to its end"),
    ("batch/v1", "CronJob", "starts jobs by a timetable"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet", "each of its tasks is a role of a PaddleJob or of a PyTorchJob"),
    ("kubeflow.org/v2beta1", "MPIJob", "Start the program with torchrun in each rank"),
    ("kubeflow.org/v1", "XGBoostJob", "a framework that does not run here"),
    ("ray.io/v1", "RayJob", "starts a cluster of Ray"),
    ("argoproj.io/v1alpha1", "Workflow", "Workflow of argoproj.io runs steps"),
    ("tekton.dev/v1", "PipelineRun", "PipelineRun of tekton.dev runs steps"),
    ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "is a template for TrainJobs"),
    ("elastic.pytorch.org/v1alpha1", "ElasticJob", "with minReplicas and maxReplicas in spec.elasticPolicy"),
    ("serving.kserve.io/v1beta1", "InferenceService", "serves, and does not train"),
]


@pytest.mark.parametrize(("version", "kind", "said"), FOREIGN)
def test_a_kind_of_another_system_is_told_by_its_group(version: str, kind: str, said: str) -> None:
    (line,) = problems(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n")
    assert line.startswith("wide.yaml:2:7: kind: ") and said in line


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (
            ("pserver", "trainer"),
            "with PaddlePaddle its tasks pserver and trainer are spec.ps and spec.worker of a Pad",
        ),
        (("worker", "ps"), "with PaddlePaddle its tasks ps and worker are spec.ps and spec.worker"),
        (("master", "worker"), "with PyTorch its tasks master and worker are Master and Worker in"),
        (("mpimaster", "mpiworker"), "each of its tasks is a role of a PaddleJob or of a PyTorchJob"),
    ],
)
def test_the_tasks_of_volcano_s_job_are_roles_by_their_names(names: tuple[str, ...], said: str) -> None:
    tasks = [{"name": name, "replicas": 2} for name in names]
    (line,) = problems(f"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec: {{tasks: {json.dumps(tasks)}}}\n")
    assert said in line
