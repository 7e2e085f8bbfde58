"""Templates that are not rendered: their program, and that the advised command renders them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from paddock.manifests import documents
from paddock.manifests.placeholders import explain_placeholders, find_placeholders, find_template
from paddock.preflight import check, read_documents
from support.programs import need

BAD = Path(__file__).parents[1] / "bad"

VALUES = {
    "WORKERS": "2",
    "workers": "2",
    "EPOCHS": '"10"',
    "REGISTRY": "registry.baidubce.com/paddle-operator",
    "<your-registry>": "registry.baidubce.com/paddle-operator",
}


def errors_of(text: str) -> list[str]:
    return [each.message for document in read_documents(text) for each in check(document) if each.severity == "error"]


@pytest.mark.parametrize(
    ("name", "program"), [("envsubst", "envsubst"), ("by_hand", "sed"), ("jinja", "jinja2")], ids=str
)
def test_the_command_that_is_advised_fills_it_in(name: str, program: str, tmp_path: Path) -> None:
    need(program)
    file = tmp_path / "job.yaml"
    file.write_text((BAD / f"template_{name}.yaml").read_text().replace("            imge: x\n", ""))
    (said,) = errors_of(file.read_text())
    match = re.search(r"`([^`]*) \| paddock run -`", said)
    assert match is not None
    command = match[1].replace("FILE", str(file))
    for key, value in VALUES.items():
        command = command.replace(f"{key}=VALUE", f"{key}='{value}'").replace(f"|{key}|VALUE|", f"|{key}|{value}|")
    filled = subprocess.run(
        ["sh", "-c", command.replace("VALUE", "a")], capture_output=True, text=True, check=True
    ).stdout
    assert errors_of(filled) == []
    assert ("$PADDLE_TRAINER_ID" in filled) is (name == "envsubst"), "the shell's own variable stays"


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("name: {{ .Release.Name }}", "helm"),
        ('{{- include "chart.labels" . | nindent 4 }}', "helm"),
        ("{{- if .Values.gpu }}", "helm"),
        ("name: {{ name }}", "jinja"),
        ("{% for role in roles %}", "jinja"),
        ("replicas: {{ job.values.workers }}", "jinja"),
        ("name: {{inputs.parameters.name}}", "argo"),
        ("name: {{=inputs.parameters.n}}", "argo"),
    ],
)
def test_braces_say_whose_they_are(text: str, program: str) -> None:
    template = find_template(text)
    assert template is not None and template.program == program


@pytest.mark.parametrize(
    "line",
    [
        'command: ["sh", "-c", "echo $HOME ${PADDLE_TRAINER_ID} < /dev/null > __OUT__"]',
        'args: ["$(POD_IP)"]',
        "env: [{name: A, value: 'a$b'}, {name: B, value: $(A)}]",
    ],
)
def test_what_a_shell_or_kubernetes_fills_in_is_no_template(line: str) -> None:
    text = (BAD / "template_by_hand.yaml").read_text().replace("<your-registry>", "registry").replace("imge: x", line)
    assert errors_of(text.replace("  namespace: __NAMESPACE__\n", "")) == []


VALID = """apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata:
  name: resnet
spec:
  worker:
    replicas: 2
    template:
      spec:
        volumes: [{name: data, hostPath: {path: /mnt}}]
        containers:
          - name: paddle
            image: demo-resnet:v1
            volumeMounts: [{name: data, mountPath: /data}]
            livenessProbe: {httpGet: {path: /x, port: 80}}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("path: /mnt", "path: /mnt/__SHARE__"),
        ("path: /mnt", "path: '/mnt/${share}'"),
        ("mountPath: /data", "mountPath: '/data/<share>'"),
        ("mountPath: /data", "mountPath: '/data/$RECYCLE.BIN'"),
        ("path: /x", "path: '/x?a=$b'"),
    ],
)
def test_a_valid_value_with_the_form_of_a_placeholder_is_a_warning(old: str, new: str) -> None:
    (document,) = read_documents(VALID.replace(old, new))
    assert [each.severity for each in check(document)] == ["warning"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: resnet", "name: '${NAME}'"),
        ("name: resnet", "name: __NAME__"),
        ("name: resnet", "name: resnet\n  namespace: <your-namespace>"),
        ("replicas: 2", "replicas: <number>"),
        ("image: demo", "image: <registry>/demo"),
        ("name: resnet", "name: resnet\n  labels: {app: __APP__-}"),
    ],
)
def test_a_value_that_its_field_refuses_is_a_template(old: str, new: str) -> None:
    (said,) = errors_of(VALID.replace(old, new))
    assert "fill" in said


def test_a_bare_variable_leaves_the_error_of_its_field() -> None:
    (said,) = errors_of(VALID.replace("name: resnet", "name: train-$USER"))
    assert "fill" not in said


def test_many_placeholders_are_counted() -> None:
    text = "".join(f"a{number}: {{{{ v{number} }}}}\n" for number in range(10))
    (said,) = errors_of(text)
    assert "{{ v7 }} and 2 more" in said


def test_braces_are_looked_at_for_a_limited_length() -> None:
    assert find_template("{{ " + "a" * 290 + " }}") is not None
    assert find_template("{{ " + "a" * 400 + " }}") is None


def test_a_text_of_many_foreign_documents_is_recognised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(documents, "recognise", lambda text: asked.append(text))
    assert len(read_documents("a: 1\n---\n" * 50)) == 50
    assert len(asked) == 1


def test_a_long_value_is_looked_at_for_no_long_time() -> None:
    assert find_template("{" * 20_000) is None
    assert list(find_placeholders("{" * 4_000_000)) == []


@pytest.mark.parametrize(
    ("template", "variables"),
    [
        ("{% for k in envs %}\n- {{ k }}: {{ image }}\n{% endfor %}", ["envs", "image"]),
        ("{% for k, v in envs.items() %}\n- {{ k }}: {{ v }}\n{% endfor %}", ["envs"]),
        ("{%- if gpu %}\n- {{ loop.index }}{% elif not cpu %}{% endif %}", ["gpu", "cpu"]),
        ("{% for n in range(3) %}\n- {{ n }}{% endfor %}", []),
        ("{% set tag = version %}\n- {{ tag }}", ["version"]),
    ],
)
def test_the_command_gives_the_variables_that_the_template_does_not_make_itself(
    template: str, variables: list[str]
) -> None:
    found = find_template(template)
    assert found is not None
    assert re.findall(r"-D (\w+)=VALUE", str(explain_placeholders(found))) == variables


def test_a_placeholder_with_a_default_is_for_the_user_to_fill_in() -> None:
    """envsubst knows no defaults and would leave it."""
    job = (BAD / "template_envsubst.yaml").read_text().replace("${WORKERS}", "${WORKERS:-2}")
    (said,) = [each for each in errors_of(job) if "WORKERS" in each]
    assert said.startswith("for you to fill in: ${WORKERS:-2}; write the values")
    assert [program for program, _ in find_placeholders("${A:-b} ${C}")] == ["shell", "envsubst"]


def build_template(command: str, replicas: str = "${NODES}") -> str:
    return f"""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: j}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: {replicas}
      template: {{spec: {{containers: [{{name: pytorch, image: "x:1", command: {command}}}]}}}}
"""


def list_messages(text: str) -> list[str]:
    return [each.message for document in read_documents(text) for each in check(document)]


WORDS = '[torchrun, "--nnodes=$NODES", t.py, "--tp=${TP}", "${MORE}"]'


def test_words_of_a_command_that_no_shell_reads_are_filled_in_as_well() -> None:
    said = " ".join(list_messages(build_template(WORDS)))
    assert "`NODES=VALUE TP=VALUE MORE=VALUE envsubst '${NODES} ${TP} ${MORE}' < FILE" in said
    assert "no shell reads this command" not in said


def test_variables_of_a_text_for_a_shell_are_not() -> None:
    for command in ('[bash, -c, "torchrun t.py --tp=$TP"]', '[bash, -c, "$RUN"]', '[sh, run.sh, "$TP"]'):
        said = " ".join(list_messages(build_template(command)))
        assert "`NODES=VALUE envsubst '${NODES}' < FILE" in said


def test_without_other_placeholders_they_are_taken_for_variables() -> None:
    said = " ".join(list_messages(build_template(WORDS, "2")))
    assert "envsubst" not in said and "--nnodes=$NODES, --tp=${TP} and ${MORE}: no shell reads this command" in said
