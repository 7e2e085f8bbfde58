"""What is secret does not stand in a bundle; what explains a job does."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from paddock.app.bundles.hiding import Hider, find_secrets, find_values, read_secrets, show_node
from paddock.jobs.apis.last_valid import decode_spec, encode_spec
from paddock.jobs.sentences.chat_bodies import _FORMS
from paddock.node.runtime.container_env import Configs
from paddock.node.runtime.hidden_values import Hidden
from paddock.script.secrets import hide_in_output, hide_secrets

SECRET = "hunter2-hunter2"
CONTAINER = {
    "name": "paddle",
    "image": "paddle:3",
    "command": ["sh", "-c", f"train --api-key {SECRET} --epochs 3"],
    "args": ["--token", SECRET, "--lr", "0.1", f"WANDB_API_KEY={SECRET}"],
    "env": [
        {"name": "HF_TOKEN", "value": SECRET},
        {"name": "REDIS", "value": f"redis://user:{SECRET}@host:6379"},
        {"name": "EPOCHS", "value": "3"},
        {"name": "AUTH", "value": "true"},
        {"name": "OTHER", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
    ],
    "envFrom": [{"secretRef": {"name": "all"}}],
}
SPEC = {"worker": {"template": {"spec": {"containers": [CONTAINER]}}}}
JOB: dict[str, Any] = {
    "apiVersion": "batch.paddlepaddle.org/v1",
    "kind": "PaddleJob",
    "metadata": {
        "name": "demo",
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": json.dumps(SPEC),
            "note": f"started with {SECRET}",
            "team/api-key": "short",
        },
        "managedFields": [{"manager": "kubectl"}],
    },
    "spec": SPEC,
    "status": {"phase": "Running", "message": f"image with {SECRET} is true", "lastValidSpec": encode_spec(SPEC)},
}


def test_no_form_of_a_secret_is_left_in_an_object() -> None:
    hidden = Hider(Hidden(find_values([JOB]))).hide(JOB)
    text = json.dumps(hidden)
    assert SECRET not in text
    assert base64.b64encode(SECRET.encode()).decode() not in text
    spec = decode_spec(hidden["status"]["lastValidSpec"])
    assert spec == hidden["spec"] and SECRET not in json.dumps(spec)  # it is packed there
    assert hidden["metadata"] == {"name": "demo", "annotations": {"note": "started with ***", "team/api-key": "***"}}
    (container,) = hidden["spec"]["worker"]["template"]["spec"]["containers"]
    assert container["command"] == ["sh", "-c", "train --api-key *** --epochs 3"]
    assert container["args"] == ["--token", "***", "--lr", "0.1", "WANDB_API_KEY=***"]
    assert [each.get("value") for each in container["env"]] == ["***", "***", "3", "***", None]
    assert hidden["status"]["message"] == "image with *** is true"  # AUTH=true hides no other true
    assert JOB["spec"] is SPEC and SPEC["worker"]["template"]["spec"]["containers"] == [CONTAINER]


def test_a_value_of_a_secret_is_hidden_wherever_it_stands() -> None:
    hider = Hider(Hidden(frozenset({"abcd"})))
    assert hider.hide({"status": {"message": "got abcd"}, "metadata": {"name": "abcd"}}) == {
        "status": {"message": "got ***"}, "metadata": {"name": "abcd"},  # by its name it is found
    }  # fmt: skip
    assert hider.hide_log(b"\xff abcd\nnext\n") == b"\xff ***\nnext\n"


def test_the_secrets_of_a_pod_are_those_of_its_variables() -> None:
    taken = [("all", ""), ("hub", "token")]
    assert find_secrets([{"spec": {"containers": [CONTAINER], "initContainers": None}}, {}]) == taken
    assert find_secrets([SPEC]) == find_secrets([{"status": {"lastValidSpec": encode_spec(SPEC)}}]) == taken
    odd: list[Any] = [5, None, {"secretRef": None}, {"secretRef": {"name": 5}}, {"env": 5, "lastValidSpec": "x"}]
    assert find_secrets(odd) == []


def test_only_what_is_taken_of_a_secret_is_its_value() -> None:
    data = {"token": base64.b64encode(b"swordfish").decode(), "user": base64.b64encode(b"admin").decode()}
    configs = Configs("default", secrets={"hub": {"data": data}})
    assert read_secrets([("hub", "token"), ("gone", ""), ("hub", "none")], configs) == {"swordfish"}
    assert read_secrets([("hub", "")], configs) == {"swordfish", "admin"}


LINES = {
    "token=abc123": "token=***",
    "{'api_key': 'abc', 'lr': 0.1}": "{'api_key': '***', 'lr': 0.1}",
    '"password": "abc def"': '"password": "*** def"',
    "Authorization: Bearer abc.def": "Authorization: Bearer ***",
    "curl -H 'Authorization: Bearer abc'": "curl -H 'Authorization: Bearer ***'",
    "git clone https://me:abc@host/x": "git clone https://***@host/x",
    "run --api-key abc --epochs 3": "run --api-key *** --epochs 3",
    "export HF_TOKEN=abc": "export HF_TOKEN=***",
    "PGPASSWORD=abc": "PGPASSWORD=***",
    "DBPASSWORD: abc": "DBPASSWORD: ***",
    "SMTP_PASS=abc": "SMTP_PASS=***",
    "{'smtp_pass': 'abc', 'a': 1}": "{'smtp_pass': '***', 'a': 1}",
    "SSHPASS=abc": "SSHPASS=***",
    "HFTOKEN=abc": "HFTOKEN=***",
    "WANDB_KEY=abc": "WANDB_KEY=***",
    "MYSQL_PWD=abc": "MYSQL_PWD=***",
    "SLACK_WEBHOOK=https://x.io/a": "SLACK_WEBHOOK=***",
    "webhook_url: https://x.io/a": "webhook_url: ***",
    "AZURE_STORAGE_CONNECTION_STRING=Default=https;AccountName=a;AccountKey=ab+/c==;X=y":
        "AZURE_STORAGE_CONNECTION_STRING=***;AccountName=a;AccountKey=***;X=y",
    "uses Protocol=https;AccountKey=ab==;X=y": "uses Protocol=https;AccountKey=***;X=y",
    "GET https://a.net/c/b?sv=2022&sig=ab%2Bc%3D&se=9 ok": "GET https://a.net/c/b?sv=2022&sig=***&se=9 ok",
    "GET /c/b?token=abc HTTP": "GET /c/b?token=*** HTTP",
    "('https://a.net/b?key=abc')": "('https://a.net/b?key=***')",
    r'"u":"https://a.net/b?x=1\u0026sig=abc\u0026y=2"': r'"u":"https://a.net/b?x=1\u0026sig=***\u0026y=2"',
    "https://s3/b?x=1&X-Amz-Signature=abc": "https://s3/b?x=1&X-Amz-Signature=***",
    "https://s3/b?X-Amz-Credential=abc&X-Amz-Signature=def": "https://s3/b?X-Amz-Credential=***",
    "(host='hooks.slack.com', port=443): url: /services/T0A/B0B/abc (Caused by x)":
        "(host='hooks.slack.com', port=443): url: /services/*** (Caused by x)",
    "POST /open-apis/bot/v2/hook/ab-cd HTTP/1.1": "POST /open-apis/bot/v2/hook/*** HTTP/1.1",
    "POST /cgi-bin/webhook/send?key=ab-cd HTTP/1.1": "POST /cgi-bin/webhook/send?key=*** HTTP/1.1",
    "POST /robot/send?access_token=abc HTTP/1.1": "POST /robot/send?access_token=*** HTTP/1.1",
}  # fmt: skip
KEPT = [
    "Epoch 1, Batch 3, Loss 0.5, tokens/s: 1024",
    "num_token: 128",
    "use_auth_token=False",
    "KeyError: 'token'",
    "TypeError: __init__() got an unexpected keyword argument 'token'",
    "LAUNCH INFO 2026-11-23 21:28:18,500 --devices 0,1",
    "https://host:8080/path?x=1",
    "the key of the map is wrong, login node 3",
    "ValueError: pad_token is None: set tokenizer.pad_token = tokenizer.eos_token",
    "tokens=512 num_tokens: 512 max_tokens=512, 'total_tokens': 512k, tokens_per_second=9.5k",
    "tokenizer=bert-base, tokenizer_config: a.json",
    "pass_rate=high pass_rate: 0.5, 31 passed, 2 failed, pass@1=12.5%, PASS: test_a",
    "forward_pass: 12ms backward_pass=30ms num_pass=many",
    "--- Running IR pass [conv_bn_fuse_pass]",
    "conv_bn_fuse_pass: done",
    "FLAGS_pir_apply_inplace_pass=abc",
    "key=3 key: a, sort_key=loss, primary_key: id, keys=ab, http://host/x?key=3&seed=1",
    "https://host/x?design=abc&keys=a&monkey=b&tokens=ab",
    'failed calling webhook "v.kueue.io": refused',
    "webhook: internal error",
    "/services/web/a/b",
    "https://slack.com/help/articles/1",
    "signature=(x, y) sig=0.5 x.sig=abc",
    "conn=ok, connection=https://host/x",
]


@pytest.mark.parametrize("line", LINES)
def test_a_credential_that_was_printed_is_hidden(line: str) -> None:
    assert hide_in_output(f"before\n{line}\nafter") == f"before\n{LINES[line]}\nafter"


@pytest.mark.parametrize("host", _FORMS)
def test_the_address_of_a_bot_is_hidden(host: str) -> None:
    """Each that Paddock itself can write to."""
    text = f"sent to https://{host}:443/a/b?c=abc, 'https://{host}/d' ok"
    assert hide_in_output(text) == f"sent to https://{host}:443/***, 'https://{host}/***' ok"
    assert hide_secrets(f"curl https://{host}/a/b -d x") == f"curl https://{host}/*** -d x"
    env = [{"name": "NOTIFY", "value": f"https://{host}/a/b"}]
    assert Hider().hide({"env": env}) == {"env": [{"name": "NOTIFY", "value": "***"}]}


def test_an_annotation_loses_only_what_is_secret() -> None:
    said = {"metadata": {"annotations": {"mounts": '[{"from":"https://a.net/b?sig=abc"}]'}}}
    assert Hider().hide(said) == {"metadata": {"annotations": {"mounts": '[{"from":"https://a.net/b?sig=***"}]'}}}


@pytest.mark.parametrize(
    "piece", ["token", "a_pass", "conn", "?key", "&a-", "/services/T", "AccountKey=", "webhook_", "A_KEY"]
)
def test_a_long_line_costs_no_square(piece: str) -> None:
    """Without steps of Python: the expressions alone, which take minutes where they try each part again."""
    assert hide_in_output(piece * 40_000).count("\n") == 0


@pytest.mark.parametrize("line", KEPT)
def test_what_programs_print_stays(line: str) -> None:
    assert hide_in_output(line) == line


def test_of_a_node_its_shape_is_left() -> None:
    status = {"capacity": {"cpu": "8"}, "addresses": [{"address": "10.0.0.1"}], "images": [{"names": ["x"]}]}
    node = {"metadata": {"name": "n", "annotations": {"a": "b"}}, "spec": {"podCIDR": "x"}, "status": status}
    assert show_node(node) == {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {}, "status": {"capacity": {"cpu": "8"}},
    }  # fmt: skip
