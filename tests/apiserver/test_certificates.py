"""Certificates, token and kubeconfig file: created once, kept, renewed in time, and private."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from paddock.apiserver.http.authentication import build_hosts, check_host, holds_token, make_token, read_bearer
from paddock.apiserver.http.certificates import ADDRESSES, NAMES, RENEW_BEFORE, SERVER_LIFE, make_certificates
from paddock.apiserver.http.kubeconfig import build_kubeconfig, write_kubeconfig

NOW = 1_800_000_000.0
DAY = 86_400


def _load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_the_server_certificate_is_valid_for_all_its_names(tmp_path: Path) -> None:
    made = make_certificates(tmp_path, NOW)
    server, authority = _load(made.server), _load(made.authority)
    server.verify_directly_issued_by(authority)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert set(names.get_values_for_type(x509.DNSName)) == set(NAMES)
    assert {str(address) for address in names.get_values_for_type(x509.IPAddress)} == set(ADDRESSES)


def test_certificates_are_kept_and_renewed_in_time(tmp_path: Path) -> None:
    made = make_certificates(tmp_path, NOW)
    authority, server = made.authority.read_bytes(), made.server.read_bytes()
    make_certificates(tmp_path, NOW + 100 * DAY)
    assert made.server.read_bytes() == server
    late = NOW + (SERVER_LIFE - RENEW_BEFORE).total_seconds() + DAY
    make_certificates(tmp_path, late)
    assert made.server.read_bytes() != server
    assert made.authority.read_bytes() == authority


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "server.crt", "server.key"])
def test_a_damaged_or_missing_file_is_recreated(tmp_path: Path, name: str) -> None:
    made = make_certificates(tmp_path, NOW)
    (tmp_path / name).write_text("not a certificate")
    make_certificates(tmp_path, NOW)
    (tmp_path / name).unlink()
    make_certificates(tmp_path, NOW)
    _load(made.server).verify_directly_issued_by(_load(made.authority))
    made.context()


def test_keys_and_token_are_readable_by_this_user_only(tmp_path: Path) -> None:
    make_certificates(tmp_path, NOW)
    token = make_token(tmp_path)
    write_kubeconfig(tmp_path / "kubeconfig", build_kubeconfig("https://127.0.0.1:1", b"PEM", token))
    assert len(token) >= 32
    assert make_token(tmp_path) == token
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert set(modes) == {"ca.crt", "ca.key", "server.crt", "server.key", "token", "kubeconfig"}
    assert set(modes.values()) == {0o600}


def test_the_kubeconfig_file_is_complete(tmp_path: Path) -> None:
    write_kubeconfig(tmp_path / "k", build_kubeconfig("https://127.0.0.1:1", b"PEM", "t0"))
    config = yaml.safe_load((tmp_path / "k").read_text())
    assert config["current-context"] == config["contexts"][0]["name"]
    assert config["users"][0]["user"] == {"token": "t0"}
    assert base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]) == b"PEM"


@pytest.mark.parametrize(
    ("host", "served"),
    [
        ("127.0.0.1:6443", True),
        ("localhost:6443", True),
        ("LOCALHOST:6443", True),
        ("[::1]:6443", True),
        ("kubernetes.default.svc", True),
        ("kubernetes.default.svc:6443", True),
        ("127.0.0.1:6444", False),
        ("127.0.0.1", False),
        ("attacker.example:6443", False),
        ("localhost.attacker.example:6443", False),
        ("", False),
    ],
)
def test_the_host_must_be_this_machine(host: str, served: bool) -> None:
    assert (check_host(host, build_hosts(6443)) is None) is served


@pytest.mark.parametrize(
    ("header", "accepted"),
    [("Bearer s3cret", True), ("bearer s3cret", True), ("Bearer wrong", False), ("Basic s3cret", False), ("", False),
     ("Bearer", False), ("Bearer s3crét", False)],
)  # fmt: skip
def test_the_token_must_match(header: str, accepted: bool) -> None:
    assert holds_token(read_bearer(header), "s3cret") is accepted
