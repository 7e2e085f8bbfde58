"""The kubeconfig, read as kubectl reads it."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.client.errors import ConfigError
from paddock.client.kubeconfig import Config, read_config, read_server


def kubeconfig(**changes: Any) -> dict[str, Any]:
    content: dict[str, Any] = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443/"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
    }
    return content | changes


def write(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


def read(tmp_path: Path, content: Any, context: str | None = None) -> Config:
    return read_config(write(tmp_path / "config", content), context, environment={})


def test_server_namespace_and_token_are_read(tmp_path: Path) -> None:
    config = read(tmp_path, kubeconfig())
    assert (config.server, config.namespace, config.token) == ("https://127.0.0.1:6443", "team", "secret")
    assert "secret" not in repr(config)


def test_of_several_files_the_first_that_sets_a_value_wins_and_missing_ones_are_skipped(tmp_path: Path) -> None:
    first = kubeconfig(users=[{"name": "u", "user": {"token": "first"}}])
    del first["current-context"], first["clusters"]
    second = kubeconfig(users=[{"name": "u", "user": {"token": "second"}}])
    paths = [str(tmp_path / "none"), write(tmp_path / "1", first), write(tmp_path / "2", second)]
    config = read_config(environment={"KUBECONFIG": ":".join(paths)})
    assert (config.token, config.server) == ("first", "https://127.0.0.1:6443")


def test_paths_are_relative_to_their_file_and_data_wins_over_files(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("from a file")
    cluster = {"server": "https://h:1", "certificate-authority": "ca.crt"}
    assert read(tmp_path, kubeconfig(clusters=[{"name": "c", "cluster": cluster}])).ca == "from a file"
    cluster["certificate-authority-data"] = base64.b64encode(b"from data").decode()
    assert read(tmp_path, kubeconfig(clusters=[{"name": "c", "cluster": cluster}])).ca == "from data"


def test_without_any_file_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    for name, text in (("token", "t"), ("ca.crt", "pem"), ("namespace", "kubeflow\n")):
        (tmp_path / name).write_text(text)
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    config = read_config(environment=environment, home=tmp_path / "nobody", service_account=tmp_path)
    assert (config.server, config.namespace, config.ca) == ("https://10.0.0.1:443", "kubeflow", "pem")
    assert config.token_file == tmp_path / "token"


def test_a_server_is_read_without_any_credential(tmp_path: Path) -> None:
    """For a console whose readers bring their own: of a kubeconfig, and of a pod whose account has no token."""
    (tmp_path / "ca.crt").write_text("PEM")
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}
    config = read_server(environment=pod, service_account=tmp_path)
    assert (config.server, config.ca, config.token_file) == ("https://10.0.0.1:6443", "PEM", None)
    (tmp_path / "token").write_text("secret")
    assert read_server(environment=pod, service_account=tmp_path).token_file is None
    file = write(tmp_path / "config", kubeconfig(users=[{"name": "u", "user": {"token": "secret", "as": "boss"}}]))
    found = read_server(file, environment=pod)
    assert (found.token, found.impersonate, found.server) == ("", "", read_config(file).server)


@pytest.mark.parametrize(
    ("content", "context", "sentence"),
    [
        (kubeconfig(), "there", "context 'there' is not in it (there: here)"),
        (kubeconfig(clusters=[]), None, "context 'here': cluster 'c' is not in it (there: none)"),
        (kubeconfig(users=[]), None, "context 'here': user 'u' is not in it (there: none)"),
        (kubeconfig(**{"current-context": ""}), None, "no current-context; name one of its contexts (there: here)"),
        (kubeconfig(clusters=[{"name": "c", "cluster": {"server": "host"}}]), None, "server is 'host'"),
        (kubeconfig(users=[{"name": "u", "user": {"client-key-data": "%%"}}]), None, "client-key-data is not base64"),
        (kubeconfig(users=[{"name": "u", "user": {"client-key": "k.pem"}}]), None, "k.pem: No such file"),
        ("a: [\n", None, "line 2: not YAML"),
        ("- a", None, "found list, a kubeconfig is a mapping"),
    ],
)
def test_errors_name_the_file_and_the_value_found(
    tmp_path: Path, content: Any, context: str | None, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, content, context)
    assert sentence in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no kubeconfig"):
        read_config(str(tmp_path / "none"))
    with pytest.raises(ConfigError, match=r"no cluster is configured.*\.kube/config"):
        read_config(environment={}, home=tmp_path)
