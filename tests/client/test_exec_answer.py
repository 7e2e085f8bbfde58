"""What is said to a credential plug-in and what it answers, as kubectl 1.32 does and takes it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.plugins import V1, V1BETA1, build_answer, build_plugin
from paddock.client.errors import PluginError
from paddock.client.exec_answer import build_environment, build_info, plan_interaction, read_answer
from paddock.client.identity import Credential

PLUGIN = build_plugin()
CLUSTER = {"server": "https://h:1", "config": {"audience": "a"}}


@pytest.mark.parametrize(
    ("plugin", "interactive", "spec"),
    [
        (build_plugin(), False, {"interactive": False}),
        (build_plugin(api_version=V1BETA1), True, {"interactive": True}),
        (build_plugin(cluster=CLUSTER), False, {"cluster": CLUSTER, "interactive": False}),
    ],
)
def test_the_plugin_is_told_what_is_wanted(plugin: Any, interactive: bool, spec: dict[str, Any]) -> None:
    expected = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
    assert json.loads(build_info(plugin, interactive=interactive)) == expected


def test_the_kubeconfigs_variables_win_over_ours_and_what_is_wanted_over_both() -> None:
    plugin = build_plugin(environment=(("A", "theirs"), ("KUBERNETES_EXEC_INFO", "theirs")))
    found = build_environment(plugin, {"A": "ours", "B": "ours", "KUBERNETES_EXEC_INFO": "ours"}, interactive=False)
    assert found == {"A": "theirs", "B": "ours", "KUBERNETES_EXEC_INFO": build_info(plugin, interactive=False)}


@pytest.mark.parametrize(
    ("mode", "terminal", "expected"),
    [
        ("Never", True, False),
        ("Never", False, False),
        ("IfAvailable", True, True),
        ("IfAvailable", False, False),
        ("Always", True, True),
    ],
)
def test_standard_input_is_handed_over_where_both_sides_can(mode: Any, terminal: bool, expected: bool) -> None:
    assert plan_interaction(build_plugin(mode=mode), terminal=terminal) is expected


def test_always_without_a_terminal_is_an_error_that_says_so() -> None:
    with pytest.raises(
        PluginError, match=r"the credential plug-in aws \(user 'u' in /home/u/.kube/config\) asks on a ter"
    ):
        plan_interaction(build_plugin(mode="Always"), terminal=False)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (build_answer(token="t"), Credential("t")),
        (build_answer(token="t\n"), Credential("t")),
        (build_answer(token="t", expirationTimestamp=None, clientKeyData=None), Credential("t")),
        (build_answer(token="t", expirationTimestamp="2030-01-01T00:00:00Z"), Credential("t", expires=1893456000)),
        (build_answer(token="t", expirationTimestamp="2030-01-01T08:00:00+08:00"), Credential("t", expires=1893456000)),
        (build_answer(token="t", expirationTimestamp="2030-01-01T00:00:00.5Z"), Credential("t", expires=1893456000.5)),
        (build_answer(clientCertificateData="c", clientKeyData="k"), Credential("", "c", "k")),
        (build_answer(token="t", clientCertificateData="c", clientKeyData="k"), Credential("t", "c", "k")),
        (build_answer(token="t") | {"spec": {"interactive": False}, "more": 1}, Credential("t")),
        ({name: value for name, value in build_answer(token="t").items() if name != "kind"}, Credential("t")),
    ],
)
def test_an_answer_is_a_credential(answer: Any, expected: Credential) -> None:
    assert read_answer(PLUGIN, json.dumps(answer).encode()) == expected
    assert read_answer(PLUGIN, json.dumps(answer, indent=4).encode() + b"\n") == expected


@pytest.mark.parametrize(
    ("output", "what"),
    [
        ("", "it printed nothing"),
        ("  \n", "it printed nothing"),
        ("please run `aws sso login`", "it printed 'please run `aws sso login`', which is no JSON"),
        ("usage: " + "long words " * 50, "words lon…', which is no JSON"),
        ("k8s-aws-v1.aHR0cHM6Ly9zdHM", "it printed one word of 26 characters, which is no JSON"),
        ('{"status": {"token": "abc', "it printed JSON that is broken: Input data was truncated"),
        (json.dumps(build_answer(token="t")) * 2, "it printed JSON that is broken: JSON is malformed: trailing"),
        ("[1]", "it printed list, not a mapping"),
        ("{}", "its apiVersion is None, and exec.apiVersion in the kubeconfig is " + V1),
        (build_answer(token="t") | {"kind": "Secret"}, "its kind is 'Secret', not ExecCredential"),
        (build_answer(token="t") | {"kind": 5}, "its kind is 5, not ExecCredential"),
        (build_answer(V1BETA1, token="t"),
         f"its apiVersion is '{V1BETA1}', and exec.apiVersion in the kubeconfig is {V1}"),
        (build_answer() | {"status": None}, "its status is missing, not a mapping"),
        (build_answer() | {"status": ["t"]}, "its status is list, not a mapping"),
        (build_answer(), "its status has neither a token nor a certificate with its key"),
        (build_answer(token=""), "its status has neither a token nor a certificate with its key"),
        (build_answer(token=5), "status.token: found int, wanted a text"),
        (build_answer(token="a b"), "its token has a space or another character that no request can carry"),
        (build_answer(token="ä"), "its token has a space or another character that no request can carry"),
        (build_answer(clientCertificateData="c"), "its status has clientCertificateData and no clientKeyData"),
        (build_answer(clientKeyData="k", token="t"), "its status has clientKeyData and no clientCertificateData"),
        (build_answer(token="t", expirationTimestamp="tomorrow"),
         "status.expirationTimestamp is 'tomorrow', not a time as 2030-01-31T12:00:00Z"),
        (build_answer(token="t", expirationTimestamp="2030-01-01T00:00:00"), "status.expirationTimestamp is '2030"),
        (build_answer(token="t", expirationTimestamp=1893456000), "status.expirationTimestamp: found int, wanted"),
    ],
)  # fmt: skip
def test_every_deviation_is_an_error_that_names_it(output: Any, what: str) -> None:
    with pytest.raises(PluginError) as caught:
        read_answer(PLUGIN, (output if isinstance(output, str) else json.dumps(output)).encode())
    message = caught.value.message
    assert message.startswith(
        "the credential plug-in aws (user 'u' in /home/u/.kube/config) gave no ExecCredential that can be used: "
    )
    assert what in message and "exec.command, exec.args and exec.apiVersion have to be" in message
    assert len(message) < 600


def test_bytes_that_are_no_text_are_an_error_too() -> None:
    with pytest.raises(PluginError, match="which is no JSON"):
        read_answer(PLUGIN, b"\xff\xfe \x00 \x1b[31m")


TOKENS = st.text("ABCDEFabcdef0123456789_-", min_size=24, max_size=80).map(lambda text: f"k8s1{text}")


@given(
    TOKENS,
    st.sampled_from(
        [
            "{}", "{} {}", "token: {}", "Your token is {}", '{{"status": {{"token": "{}"', "['{}']", "Bearer {}\n",
            "see https://me:{}@host/x?token={}", "export TOKEN={}", '"{}"', "line one\n{}\nline three", "a.{}.c",
        ]
    ),
)  # fmt: skip
def test_no_output_brings_a_token_into_an_error(token: str, form: str) -> None:
    with pytest.raises(PluginError) as caught:
        read_answer(PLUGIN, form.replace("{}", token).replace("{{", "{").encode())
    assert token not in str(caught.value) and token[4:20] not in str(caught.value)


@given(
    TOKENS,
    st.sampled_from(
        [
            lambda token: build_answer(token=token, clientKeyData=token),
            lambda token: build_answer(token=token, expirationTimestamp=token),
            lambda token: build_answer(token=f"{token} {token}"),
            lambda token: build_answer(token=[token]),
            lambda token: build_answer(token=token) | {"kind": token},
            lambda token: build_answer(token, token=token),
            lambda token: {"status": {"token": token}},
            lambda token: [token],
            lambda token: token,
        ]
    ),
)
def test_no_answer_brings_a_token_into_an_error(token: str, build: Any) -> None:
    with pytest.raises(PluginError) as caught:
        read_answer(PLUGIN, json.dumps(build(token)).encode())
    assert token not in str(caught.value)


def test_a_credential_is_never_printed() -> None:
    assert "secret" not in repr(replace(Credential("secret", "secret", "secret"), expires=1.0))
