"""A user's `exec` entry in a kubeconfig, read as client-go reads it."""

import base64
from pathlib import Path
from typing import Any

import pytest

from client.test_kubeconfig import kubeconfig, read
from paddock.client.errors import ConfigError
from paddock.client.exec_plugin import ExecPlugin
from paddock.client.kubeconfig import Config

V1, V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"


def entry(**changes: Any) -> dict[str, Any]:
    """An `exec` entry; None takes a field away."""
    whole = {"apiVersion": V1, "command": "aws", "interactiveMode": "Never"} | changes
    return {name: value for name, value in whole.items() if value is not None}


def read_user(tmp_path: Path, user: Any, **cluster: Any) -> Config:
    clusters = [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"} | cluster}]
    return read(tmp_path, kubeconfig(users=[{"name": "u", "user": user}], clusters=clusters))


def read_exec(tmp_path: Path, found: Any, **cluster: Any) -> ExecPlugin:
    plugin = read_user(tmp_path, {"exec": found}, **cluster).plugin
    assert plugin is not None
    return plugin


def test_every_field_is_read_and_no_secret_is_printed(tmp_path: Path) -> None:
    found = entry(
        args=["get", "s3cret-arg"], env=[{"name": "A", "value": "s3cret-env"}, {"name": "B"}], installHint="so"
    )
    plugin = read_exec(tmp_path, found)
    assert (plugin.command, plugin.api_version, plugin.mode, plugin.hint) == ("aws", V1, "Never", "so")
    assert plugin.args == ("get", "s3cret-arg")
    assert plugin.environment == (("A", "s3cret-env"), ("B", ""))
    assert (plugin.file, plugin.user, plugin.cluster) == (str(tmp_path / "config"), "u", None)
    assert "s3cret" not in repr(read_user(tmp_path, {"exec": found}))


@pytest.mark.parametrize(
    ("command", "expected"),
    [("aws", "aws"), ("./plugin", "{}/plugin"), ("bin/plugin", "{}/bin/plugin"), ("/opt/plugin", "/opt/plugin")],
)
def test_a_command_with_a_slash_is_relative_to_its_file(
    tmp_path: Path, command: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the kubeconfig itself was named by a relative path."""
    from paddock.client.kubeconfig import read_config

    assert read_exec(tmp_path, entry(command=command)).command == expected.format(tmp_path)
    monkeypatch.chdir(tmp_path)
    plugin = read_config("config", environment={}).plugin
    assert plugin is not None and plugin.command == expected.format(tmp_path)


def test_v1beta1_asks_where_it_can_if_nothing_is_said(tmp_path: Path) -> None:
    assert read_exec(tmp_path, entry(apiVersion=V1BETA1, interactiveMode=None)).mode == "IfAvailable"


def test_the_cluster_is_told_only_if_the_kubeconfig_says_so(tmp_path: Path) -> None:
    extensions = [
        {"name": "other", "extension": {"x": 2}},
        {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a", "n": {"x": 1}}},
    ]
    (tmp_path / "ca.crt").write_text("PEM")
    cluster = {
        "certificate-authority": "ca.crt", "tls-server-name": "name", "proxy-url": "http://proxy:1",
        "insecure-skip-tls-verify": True, "extensions": extensions,
    }  # fmt: skip
    assert read_exec(tmp_path, entry(), **cluster).cluster is None
    assert read_exec(tmp_path, entry(provideClusterInfo=True), **cluster).cluster == {
        "server": "https://127.0.0.1:6443",
        "tls-server-name": "name",
        "proxy-url": "http://proxy:1",
        "insecure-skip-tls-verify": True,
        "certificate-authority-data": base64.b64encode(b"PEM").decode(),
        "config": {"audience": "a", "n": {"x": 1}},
    }
    plain = {"server": "https://127.0.0.1:6443", "config": None}
    assert read_exec(tmp_path, entry(provideClusterInfo=True)).cluster == plain


@pytest.mark.parametrize(
    "own",
    [
        {"token": "t"},
        {"tokenFile": "/t"},
        {"client-certificate-data": base64.b64encode(b"PEM").decode()},
        {"username": "u", "password": "p"},
    ],
)
def test_a_users_own_credential_wins_over_the_plugin(tmp_path: Path, own: dict[str, str]) -> None:
    assert read_user(tmp_path, {"exec": entry(), **own}).plugin is None


def test_a_server_without_tls_gets_no_credential(tmp_path: Path) -> None:
    assert read_user(tmp_path, {"exec": entry()}, server="http://127.0.0.1:8001").plugin is None


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ("aws", "exec: found str, wanted a mapping"),
        (entry(apiVersion="client.authentication.k8s.io/v1alpha1"),
         f"exec.apiVersion is 'client.authentication.k8s.io/v1alpha1'; Paddock knows {V1}, {V1BETA1}. Let the tools"),
        (entry(apiVersion=None), "exec.apiVersion is None; Paddock knows"),
        (entry(apiVersion=["x"]), "exec.apiVersion is ['x']; Paddock knows"),
        (entry(command=None), "exec.command is missing; it has to be the name of a program"),
        (entry(command=["aws"]), "exec.command: found list, wanted a text"),
        (entry(interactiveMode=None),
         f"exec.interactiveMode is None; with {V1} it has to be one of Never, IfAvailable, Always"),
        (entry(interactiveMode="Sometimes", apiVersion=V1BETA1), "exec.interactiveMode is 'Sometimes'; with"),
        (entry(interactiveMode={}), "exec.interactiveMode is {}; with"),
        (entry(args="get"), "exec.args: found str, wanted a list"),
        (entry(args=["get", 5]), "exec.args[1]: found int, wanted a text, perhaps in quotes"),
        (entry(env={"A": "b"}), "exec.env: found dict, wanted a list"),
        (entry(env=["A=b"]), "exec.env[0]: found str, wanted a mapping with name and value"),
        (entry(env=[{"value": "b"}]), "exec.env[0].name: found NoneType, wanted the name of a variable"),
        (entry(env=[{"name": "A=", "value": "b"}]), "exec.env[0].name: found str, wanted the name of a variable"),
        (entry(env=[{"name": "A", "value": True}]), "exec.env[0].value: found bool, wanted a text, perhaps in quotes"),
        (entry(provideClusterInfo="yes"), "exec.provideClusterInfo: found str, wanted true or false"),
        (entry(installHint=["x"]), "exec.installHint: found list, wanted a text"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_file_user_and_field(tmp_path: Path, found: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_exec(tmp_path, found)
    assert str(caught.value).startswith(f"{tmp_path / 'config'}: user 'u': {sentence}")


@pytest.mark.parametrize(
    ("provider", "sentence"),
    [
        ({"name": "gcp"}, "Install gke-gcloud-auth-plugin, then let `gcloud container clusters get-credentials`"),
        ({"name": "azure"}, "Install kubelogin, then let `kubelogin convert-kubeconfig`"),
        (
            {"name": "oidc"},
            "signs in with `auth-provider: oidc`, which Paddock does not have. Give that user",
        ),
        ("x", "signs in with `auth-provider: `, which Paddock does not have"),
    ],
)
def test_an_auth_provider_is_refused_with_what_to_do(tmp_path: Path, provider: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_user(tmp_path, {"auth-provider": provider})
    assert str(caught.value).startswith(f"{tmp_path / 'config'}: context 'here' signs in with `auth-provider: ")
    assert sentence in str(caught.value)
