"""A server for tests of the client: HTTPS on loopback, a certificate of its own, one handler for all requests."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from paddock.client.kubeconfig import Config
from support.answers import serve_answers

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_certificate(directory: Path, common_name: str = "test") -> tuple[Path, str]:
    """A self-signed certificate for 127.0.0.1, also of a client: a file with certificate and key, and the certificate
    as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime(2020, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = directory / "server.pem"
    path.write_bytes(pem + private)
    return path, pem.decode()


@asynccontextmanager
async def serve(handler: Handler, directory: Path, *, clients: str = "") -> AsyncIterator[Config]:
    """The configuration of a client that trusts this server. `clients`: certificates (PEM), of which each client has to
    show one."""
    path, ca = make_certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients)
    async with serve_answers(handler, tls=context) as url:
        yield Config(server=url, source="test", ca=ca, token="secret")
