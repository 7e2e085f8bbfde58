"""A job's form and its text are two views of one thing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.console.forms.fields import CannotWrite, find_changed, read_form, write_fields
from paddock.console.forms.rows import TABLES
from paddock.console.forms.templates import TEMPLATES
from paddock.console.forms.values import (
    Form,
    parse_arguments,
    parse_variables,
    parse_words,
    show_arguments,
    show_variables,
    show_words,
)
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.manifests.documents import read_documents
from paddock.manifests.edits import CannotEdit, write_document
from paddock.preflight import check

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples/documents").glob("*.yaml")) + sorted((ROOT / "deploy/examples").glob("*.yaml"))
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in EXAMPLES}
TEXTS |= {name: each.text for name, each in TEMPLATES.items()}
JOBS = {name: text for name, text in TEXTS.items() if read_form(text).fields}


def shown(text: str) -> dict[str, str | None]:
    return {each.id: each.shown for each in read_form(text).fields}


@pytest.mark.parametrize("name", [name for name in TEMPLATES if name != "manifest"])
def test_each_template_is_without_a_problem(name: str) -> None:
    (document,) = read_documents(TEMPLATES[name].text)
    assert check(document) == ()


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("paddle", "name", "paddle-job"),
        ("paddle", "command", "python -c"),
        ("paddle", "args", "import paddle\n\npaddle.utils.run_check()\n"),
        ("paddle", "worker.replicas", "1"),
        ("paddle", "worker.cpu", "1"),
        ("paddle", "worker.gpu", ""),
        ("pytorch-distributed", "Worker.memory", "1Gi"),
        ("pytorch-distributed", "Worker.replicas", "2"),
        ("kubeflow_run_check.yaml", "Worker.replicas", "1"),
        ("wide_and_deep.yaml", "image", "registry.baidubce.com/paddle-operator/demo-wide-and-deep:v1"),
    ],
)
def test_a_field_of_the_form_is_where_the_manifest_has_it(name: str, field: str, value: str) -> None:
    assert shown(TEXTS[name])[field] == value


@pytest.mark.parametrize(
    ("name", "total"), [("pytorch-single", 1), ("pytorch-distributed", 3), ("wide_and_deep.yaml", 4)]
)
def test_the_total_of_replicas_follows_from_the_roles(name: str, total: int) -> None:
    assert read_form(TEXTS[name]).replicas == total


@pytest.mark.parametrize("name", JOBS)
def test_a_form_that_nobody_typed_in_leaves_every_byte(name: str) -> None:
    posted = {f"{kind}:{key}": value or "" for key, value in shown(JOBS[name]).items() for kind in ("f", "was")}
    assert write_fields(JOBS[name], find_changed(posted)) == JOBS[name]


TYPED = {
    "name": st.from_regex(r"[a-z][a-z0-9-]{0,20}[a-z0-9]", fullmatch=True),
    "image": st.from_regex(r"[a-z]{1,8}(/[a-z0-9]{1,8}){0,2}:[a-z0-9.]{1,6}", fullmatch=True),
    "description": st.text(st.characters(exclude_categories=("C", "Z")), max_size=20),
    "command": st.lists(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1), max_size=3).map(
        lambda words: show_words(words or None)
    ),
    "args": st.one_of(st.just("import x\n# 中文\n\nprint(1)\n"), st.just("a b 'c d'"), st.just("")),
    "env": st.one_of(st.just("A=1\nB=x=y"), st.just("")),
    "restarts": st.sampled_from(["", "0", "3"]),
}


@given(st.sampled_from(sorted(JOBS)), st.fixed_dictionaries({}, optional=TYPED))
def test_what_is_typed_stands_in_the_text_and_every_comment_stays(name: str, typed: dict[str, str]) -> None:
    text = JOBS[name]
    before = shown(text)
    typed = {key: value for key, value in typed.items() if before.get(key) is not None}
    try:
        written = write_fields(text, typed)
    except CannotEdit:
        return  # said to the reader, and nothing changed
    after = shown(written)
    assert {key: after[key] for key in typed} == typed
    assert {key: after[key] for key in after if key not in typed} == {k: v for k, v in before.items() if k not in typed}
    comments = [line.strip() for line in text.splitlines() if line.strip().startswith("#")]
    if "args" not in typed:  # a line of a script that begins so is none
        assert [line.strip() for line in written.splitlines() if line.strip().startswith("#")] == comments


def test_what_roles_share_is_written_to_each_and_what_differs_has_a_field_for_each() -> None:
    text = write_fields(TEXTS["pytorch-distributed"], {"image": "mine:1"})
    assert text.count("image: mine:1") == 2
    apart = text.replace("image: mine:1", "image: other:2", 1)
    ids = shown(apart)
    assert (ids["Master.image"], ids["Worker.image"], "image" in ids) == ("other:2", "mine:1", False)


def test_roles_that_share_a_template_by_an_anchor_are_edited_once() -> None:
    text = write_fields(TEXTS["pytorch_distributed.yaml"], {"image": "mine:1"})
    assert text.count("mine:1") == 1
    assert shown(text)["image"] == "mine:1"


def test_a_field_that_the_text_no_longer_has_is_left_out() -> None:
    assert write_fields(TEXTS["paddle"], {"Worker.replicas": "7"}) == TEXTS["paddle"]


COMMENTED = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
            - name: pytorch
              image: x:1
              env:
                # how fast
                - name: LR
                  value: "0.1"  # of Adam
                - name: SEED  # any
                  value: "1"
                # where
                - name: DATA
                  value: /data
"""


@pytest.mark.parametrize(
    ("typed", "changed"),
    [
        ("LR=0.2\nSEED=1\nDATA=/data", COMMENTED.replace('"0.1"', '"0.2"')),
        ("LR=0.1\nSEED=1\nDATA=/d/a", COMMENTED.replace("/data", "/d/a")),
        (
            "LR=0.1\nDATA=/data",
            COMMENTED.replace('                - name: SEED  # any\n                  value: "1"\n', ""),
        ),
        ("LR=0.1\nSEED=1\nDATA=/data\nA=b", COMMENTED + "                - name: A\n                  value: b\n"),
    ],
)
def test_a_variable_is_changed_where_it_stands_and_the_comments_of_the_others_stay(typed: str, changed: str) -> None:
    assert write_fields(COMMENTED, {"env": typed}) == changed


VARIABLE = st.tuples(st.sampled_from(["LR", "SEED", "DATA", "A", "B"]), st.from_regex(r"[ -~]{0,5}", fullmatch=True))


@given(st.lists(VARIABLE, max_size=5))
def test_any_variables_that_are_typed_are_the_variables_of_the_text(typed: list[tuple[str, str]]) -> None:
    lines = "\n".join(f"{name}={value}" for name, value in typed)
    assert shown(write_fields(COMMENTED, {"env": lines}))["env"] == lines


@pytest.mark.parametrize("typed", ["data:/data", "data:/data\nout:/out:ro", "data:/data:ro"])
@pytest.mark.parametrize("name", ["paddle", "pytorch-distributed", "pytorch_distributed.yaml", "wide_and_deep.yaml"])
def test_storage_is_volumes_and_mounts_of_each_role(name: str, typed: str) -> None:
    text = write_fields(TEXTS[name], {"storage": typed})
    assert shown(text)["storage"] == typed
    assert not [each for each in check(read_documents(text)[0]) if each.severity == "error"]
    again = write_fields(text, {"storage": "out:/elsewhere"})
    assert shown(again)["storage"] == "out:/elsewhere"
    manifest = read_documents(write_fields(again, {"storage": ""}))[0].manifest
    assert "volumes" not in str(manifest)
    assert "volumeMounts" not in str(manifest)


EVERY = {
    "namespace": "team", "description": "what for", "environment": "mine", "directory": "/work", "pull": "Never",
    "env": "A=b", "storage": "data:/data:ro", "shm": "2Gi", "queue": "research", "priority": "high",
    "labels": "a=b\nc=d", "restarts": "3", "deadline": "60", "ttl": "0",
}  # fmt: skip
OF_ROLE = {"replicas": "1", "cpu": "500m", "memory": "1Gi", "gpu": "1", "cpu-limit": "2", "memory-limit": "3Gi"}


@pytest.mark.parametrize("name", ["paddle", "pytorch-distributed", "wide_and_deep.yaml", "kubeflow_run_check.yaml"])
def test_every_field_is_written_shown_again_and_taken_out_again(name: str) -> None:
    text = JOBS[name]
    before = shown(text)
    choices = {"clean": "All" if "kubeflow.org" in text else "Never"}
    for role in read_form(text).roles:
        choices |= {f"{role}.{key}": value for key, value in OF_ROLE.items()} | {f"{role}.restart": "Never"}
    typed = {key: value for key, value in (EVERY | choices).items() if before.get(key) is not None}
    assert len(typed) > 20
    written = write_fields(text, typed)
    assert {key: shown(written)[key] for key in typed} == typed
    assert [each for each in check(read_documents(written)[0]) if each.severity == "error"] == []
    assert shown(write_fields(written, {key: before[key] or "" for key in typed})) == before


def test_the_queue_is_kueues_where_the_job_has_its_label() -> None:
    name = "  name: paddle-job\n"
    text = TEXTS["paddle"].replace(name, name + "  labels: {kueue.x-k8s.io/queue-name: a}\n")
    assert shown(text)["queue"] == "a"
    assert "labels: {kueue.x-k8s.io/queue-name: b}" in write_fields(text, {"queue": "b"})
    assert "schedulingPolicy:" in write_fields(TEXTS["paddle"], {"queue": "b"})


@pytest.mark.parametrize("wrong", ["", "null", "5", "[]", "[a]", "{labels: 5}", "{labels: [a], annotations: x}"])
def test_a_form_is_shown_of_any_metadata(wrong: str) -> None:
    text = TEXTS["paddle"].replace("metadata:\n  name: paddle-job\n", f"metadata: {wrong}\n")
    assert shown(text)["worker.replicas"] == "1"


def test_a_limit_and_a_request_that_differ_are_two_fields() -> None:
    text = TEXTS["paddle"].replace("requests: {cpu: 1, memory: 2Gi}", "{requests: {cpu: 1}, limits: {cpu: 2}}")
    assert (shown(text)["worker.cpu"], shown(text)["worker.cpu-limit"]) == ("1", "2")


LISTED = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          volumes:
            # the data of all
            - name: d
              persistentVolumeClaim: {claimName: data}  # 2 TiB
            - name: fast
              emptyDir: {medium: Memory, sizeLimit: 1Gi}  # for loaders
          containers:
            - name: pytorch
              image: x:1
              args:
                - train.py
                # how often
                - --epochs=10  # ten
                # how fast
                - --lr=1
              volumeMounts:
                - {name: fast, mountPath: /dev/shm}
                - name: d  # read it
                  mountPath: /data
"""


@pytest.mark.parametrize(
    ("typed", "old", "new"),
    [
        ({"args": "train.py --epochs=20 --lr=1"}, "--epochs=10 ", "--epochs=20 "),
        ({"args": "train.py --epochs=10"}, "                - --lr=1\n", ""),
        ({"args": "train.py --epochs=10 --lr=1 --seed=2"}, "- --lr=1\n", '- --lr=1\n                - "--seed=2"\n'),
        ({"args": "train.py --fast --epochs=10 --lr=1"}, "- train.py\n", '- train.py\n                - "--fast"\n'),
        ({"shm": "4Gi"}, "sizeLimit: 1Gi", "sizeLimit: 4Gi"),
        ({"storage": "data:/d/a"}, "mountPath: /data", "mountPath: /d/a"),
        ({"storage": "data:/data:ro"}, "mountPath: /data\n", "mountPath: /data\n                  readOnly: true\n"),
    ],
)  # fmt: skip
def test_in_a_changed_list_what_is_the_same_keeps_its_place_and_its_comments(
    typed: dict[str, str], old: str, new: str
) -> None:
    written = write_fields(LISTED, typed)
    comments = ["# the data of all", "# 2 TiB", "# for loaders", "# how often", "# ten", "# how fast"]
    assert {key: shown(written)[key] for key in typed} == typed
    assert all(each in written for each in comments), written
    if "storage" not in typed or ":ro" in typed["storage"]:
        assert written.replace('"', "") == LISTED.replace(old, new, 1).replace('"', "")


@given(
    st.lists(st.sampled_from(["train.py", "--epochs=10", "--lr=1", "--a", "b c", ""]), max_size=6).map(
        lambda words: show_words(words or None) or ""
    )
)
def test_any_words_that_are_typed_are_the_words_of_the_text(typed: str) -> None:
    assert shown(write_fields(LISTED, {"args": typed}))["args"] == typed


def test_memory_at_dev_shm_is_no_line_of_the_storage() -> None:
    assert (shown(LISTED)["storage"], shown(LISTED)["shm"]) == ("data:/data", "1Gi")
    without = write_fields(LISTED, {"shm": ""})
    assert (shown(without)["storage"], shown(without)["shm"]) == ("data:/data", "")
    assert "/dev/shm" not in without and "Memory" not in without
    assert shown(LISTED.replace("{medium: Memory, sizeLimit: 1Gi}", "{}"))["shm"] is None


def test_other_volumes_are_left_to_the_text() -> None:
    other = (
        COMMENTED
        + "              volumeMounts: [{name: tmp, mountPath: /tmp}]\n          volumes: [{name: tmp, emptyDir: {}}]\n"
    )
    assert shown(other)["storage"] is None
    assert write_fields(other, {"storage": "a:/b"}) == other


@pytest.mark.parametrize("typed", ["data", "data:here", ":/x", "a:/b:/c"])
def test_storage_that_is_no_line_of_it_is_told(typed: str) -> None:
    with pytest.raises(CannotEdit, match="line 1"):
        write_fields(TEXTS["paddle"], {"storage": typed})


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_words_and_arguments_that_are_shown_mean_what_the_manifest_has(words: list[str]) -> None:
    for show, parse in ((show_words, parse_words), (show_arguments, parse_arguments)):
        if (input_text := show(words)) is not None:
            assert parse(input_text) == words


@given(st.lists(st.fixed_dictionaries({"name": st.text(), "value": st.text()}), min_size=1, max_size=4))
def test_variables_that_are_shown_mean_what_the_manifest_has(variables: list[dict[str, str]]) -> None:
    if (input_text := show_variables(variables)) is not None:
        assert parse_variables(input_text) == variables


def test_a_pasted_script_is_one_argument() -> None:
    assert parse_arguments("import os\nprint(1)\n") == ["import os\nprint(1)\n"]
    assert parse_arguments("train.py --epochs 2") == ["train.py", "--epochs", "2"]


MIXED = """\
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata: {name: mixed}
spec:
  worker:
    replicas: 1
    template:
      spec:
        containers:
          - name: paddle
            image: paddle
            env:
              - {name: A, value: "1"}  # mine
              - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
              - {name: TOKEN, valueFrom: {secretKeyRef: {name: keys, key: token}}}
              - {name: MAYBE, valueFrom: {secretKeyRef: {name: keys, key: other, optional: true}}}
"""


def test_variables_of_a_secret_have_their_own_field_and_what_is_from_elsewhere_stays() -> None:
    shown = {each.id: each.shown for each in read_form(MIXED).fields}
    assert (shown["env"], shown["secrets"]) == ("A=1", "TOKEN=keys/token")
    text = write_fields(MIXED, {"env": "A=2\nB=3", "secrets": "TOKEN=keys/other\nKEY=more/key"})
    assert "# mine" in text
    env = read_documents(text)[0].manifest["spec"]["worker"]["template"]["spec"]["containers"][0]["env"]
    assert [each["name"] for each in env] == ["A", "IP", "TOKEN", "MAYBE", "B", "KEY"]
    assert env[0]["value"] == "2" and env[2]["valueFrom"]["secretKeyRef"] == {"name": "keys", "key": "other"}
    assert (
        read_documents(write_fields(text, {"env": "", "secrets": ""}))[0].manifest
        == read_documents(re.sub(r" *- {name: (A|TOKEN),.*\n", "", MIXED))[0].manifest
    )


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("env", "TOKEN=1", "TOKEN stands twice"),
        ("secrets", "A=keys/k", "A stands twice"),
        ("secrets", "X=keys", "line 1: X needs a Secret and one of its keys"),
        ("datasets", "words:data", "does not begin with /"),
        ("datasets", "a:/x\nb", "line 2"),
    ],
)
def test_what_a_table_cannot_mean_is_said_of_its_field(field: str, typed: str, said: str) -> None:
    with pytest.raises(CannotWrite, match=said) as caught:
        write_fields(MIXED, {field: typed})
    assert caught.value.field_id == field


@pytest.mark.parametrize(
    ("typed", "written"),
    [("words", "words:/data"), ("words:/w\nmore:/m", "words:/w, more:/m"), ("words:", "words:/data"), (":", None)],
)
def test_a_dataset_is_mounted_by_the_annotation_that_the_command_writes(typed: str, written: str | None) -> None:
    notes = read_documents(write_fields(MIXED, {"datasets": typed}))[0].manifest["metadata"].get("annotations") or {}
    assert notes.get(MOUNTS_ANNOTATION) == written


def test_the_cells_of_a_table_are_lines_of_its_field() -> None:
    cells = {
        "t:env:0:0": "A", "t:env:0:1": "x=y", "t:env:1:0": " ", "t:env:1:1": "", "t:env:10:0": "C", "t:env:10:1": "",
        "t:env:2:0": "B", "t:env:2:1": "2", "was:env": "", "t:Master.storage:0:0": "c", "t:Master.storage:0:1": "/d",
        "t:Master.storage:0:2": "ro", "was:Master.storage": "c:/d:ro", "t:no:0:0": "x", "t:env:x:y": "z", "t:": "q",
    }  # fmt: skip
    assert find_changed(cells) == {"env": "A=x=y\nB=2\nC="}


@pytest.mark.parametrize("form", TABLES.values(), ids=lambda form: str(form.columns[-1].label))
@given(st.data())
def test_a_line_of_a_table_is_what_its_cells_were(form: Form, data: st.DataObject) -> None:
    plain = st.text("abcXY09_.", min_size=1)
    cells = [data.draw(plain) for _ in form.columns]
    assert form.split(form.join(cells)) == cells


@pytest.mark.parametrize(("typed", "said"), [({"command": "a 'b"}, "quote"), ({"env": "A"}, "line 1")])
def test_what_cannot_be_written_is_said_with_the_label_of_its_field(typed: dict[str, str], said: str) -> None:
    with pytest.raises(CannotEdit, match=said):
        write_fields(TEXTS["paddle"], typed)


@pytest.mark.parametrize("name", JOBS)
def test_a_manifest_is_written_as_a_text_that_says_the_same(name: str) -> None:
    manifest = read_documents(JOBS[name])[0].manifest
    assert read_documents(write_document(manifest))[0].manifest == manifest
