"""The cluster's certificate authority and the server's certificate, on disk; created when missing or near expiry.

Rules: keys are readable by this user only (0600), and the authority is kept as long as it is valid.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.apiserver.http.files import write_private
from paddock.kube.certificates import begin_certificate, build_name, build_usage, write_pem

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
ADDRESSES = ("127.0.0.1", "::1")
# Kubeconfig files contain the authority, so a new one makes every old file useless.
AUTHORITY_LIFE = timedelta(days=3650)
SERVER_LIFE = timedelta(days=365)
RENEW_BEFORE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of PEM files."""

    authority: Path
    server: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        # 127.0.0.1 needs TLS too: over plain HTTP, kubectl silently sends no token.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.server, self.key)
        return context


def make_certificates(directory: Path, now: float) -> Certificates:
    """The certificates in `directory`; recreated if missing, damaged, or valid for less than 30 days."""
    found = Certificates(directory / "ca.crt", directory / "server.crt", directory / "server.key")
    authority_key = directory / "ca.key"
    moment = datetime.fromtimestamp(now, UTC)
    if not _is_valid(found.authority, authority_key, moment):
        _make_authority(found.authority, authority_key, moment)
        # The old authority signed it, so it is worthless under the new one.
        found.server.unlink(missing_ok=True)
    if not _is_valid(found.server, found.key, moment):
        _make_server(found, authority_key, moment)
    return found


def _is_valid(certificate: Path, key: Path, now: datetime) -> bool:
    """Whether certificate and key match, and the certificate is valid for 30 more days."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
        private = load_pem_private_key(key.read_bytes(), password=None)
    except (FileNotFoundError, ValueError):
        return False
    # A crash between the two writes of `_write_pair` leaves a key that does not match the certificate.
    if loaded.public_key() != private.public_key():
        return False
    return loaded.not_valid_before_utc <= now < loaded.not_valid_after_utc - RENEW_BEFORE


def _make_authority(certificate: Path, key: Path, now: datetime) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    # Two clusters of one user must not be confused, so the name contains a random number.
    name = build_name(f"Paddock local cluster {os.urandom(4).hex()}")
    built = (
        begin_certificate(name, name, private, now, AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(build_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(private.public_key()), critical=False)
        .sign(private, hashes.SHA256())
    )
    _write_pair(certificate, built, key, private)


def _make_server(found: Certificates, authority_key: Path, now: datetime) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    authority = x509.load_pem_x509_certificate(found.authority.read_bytes())
    signer = load_pem_private_key(authority_key.read_bytes(), password=None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    private = ec.generate_private_key(ec.SECP256R1())
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in NAMES]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in ADDRESSES]
    built = (
        begin_certificate(build_name("Paddock API server"), authority.subject, private, now, SERVER_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(build_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    _write_pair(found.server, built, found.key, private)


def _write_pair(certificate: Path, built: x509.Certificate, key: Path, private: EllipticCurvePrivateKey) -> None:
    pem, plain = write_pem(built, private)
    write_private(key, plain)
    write_private(certificate, pem)
