"""Files that look like secrets are not sent unless a .gitignore negates them by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.cli.submit.directory_files import find_files
from paddock.cli.submit.secret_files import explain_secrets, is_secret
from paddock.words.phrases import render

KUBECONFIG = b"""apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "https://127.0.0.1"}}]
contexts: [{name: here, context: {cluster: here, user: me}}]
users:
- name: me
  user: {token: abc}
"""


@pytest.mark.parametrize(
    ("path", "content", "secret"),
    [
        ("train.py", b"print(1)\n", False),
        ("conf/id_rsa", b"", True),
        ("id_ed25519", b"", True),
        ("id_rsa.pub", b"ssh-rsa AAAA", False),
        ("id_map.py", b"", False),
        ("tls/server.key", b"\x30\x82", True),
        ("store.P12", b"", True),
        ("ca.pem", b"-----BEGIN CERTIFICATE-----\n", False),
        ("client.pem", b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n", True),
        ("deploy", b"-----BEGIN OPENSSH PRIVATE KEY-----\n", True),
        ("account.json", b'{"private_key": "-----BEGIN RSA PRIVATE KEY-----\\nMII"}', True),
        ("conf.yaml", KUBECONFIG, True),
        ("no-kind", KUBECONFIG.replace(b"kind: Config\n", b""), True),
        ("one-line.json", b'{"kind":"Config","users":[{"name":"me","user":{"token":"abc"}}]}', True),
        ("job.yaml", b"kind: PaddleJob\nspec: {}\n", False),
        ("settings.yaml", b"kind: Configuration\nusers: [a]\n", False),
        ("kubeconfig", b"", True),
        ("prod.env", b"", True),
        ("conf/.env", b"", True),
        ("env.py", b"", False),
        ("_netrc", b"", True),
        (".netrc", b"", True),
        ("credentials", b"aws_secret_access_key = " + b"x" * 40, True),
        ("conf.json", b'{"AWS_SECRET_ACCESS_KEY": "' + b"a/" * 20 + b'"}', True),
        ("train.py", b'client(aws_secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"])', False),
        ("train.py", b"key = 'AKIA" + b"Z" * 16 + b"'", True),
        ("train.py", b"key = 'AKIAZ'", False),
        ("train.py", b"login('hf_" + b"a" * 34 + b"')", True),
        ("train.py", b"hf_tokenizer = 1", False),
        ("train.py", b"ghp_" + b"a1" * 18, True),
    ],
)
def test_what_looks_like_a_secret(path: str, content: bytes, secret: bool) -> None:
    assert is_secret(path, content) is secret


@pytest.mark.parametrize(
    ("lines", "sent", "negated_by_name"),
    [
        ("", True, False),
        ("*.key\n", False, False),
        ("!server.key\n", True, True),
        ("*.key\n!*.key\n", True, True),
        ("*\n!*\n", True, False),  # says nothing of keys
        ("/*\n!/conf/\n", True, False),
    ],
)
def test_a_gitignore_that_takes_the_file_back_by_name_means_it(
    tmp_path: Path, lines: str, sent: bool, negated_by_name: bool
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/server.key").write_text("")
    (tmp_path / ".gitignore").write_text(lines)
    files = {file.path: file.negated_by_name for file in find_files(tmp_path).files if file.path != ".gitignore"}
    assert files == ({"conf/server.key": negated_by_name} if sent else {})


def test_the_refusal_names_each_file_and_both_ways_out() -> None:
    said = explain_secrets(["conf/server.key", "kube.yaml"], "src")
    assert str(said) == (
        "src holds what looks like a secret (a private key, a kubeconfig, a token), and who may read the ConfigMap "
        "could read it:\n  conf/server.key\n  kube.yaml\nNothing was sent. List it in src/.gitignore, or, where it is "
        "meant to travel, take it back there: !server.key"
    )
    assert "src/.gitignore" in render(said, "zh") and "!server.key" in render(said, "zh")


def test_of_many_the_first_are_named() -> None:
    said = str(explain_secrets([f"{n}.key" for n in range(10)], "."))
    assert "\n  7.key\n  … (10)\n" in said and "8.key" not in said
