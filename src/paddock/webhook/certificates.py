"""The webhook's certificate: self-signed, so that it is its own authority, and the bundle by which it is trusted.

The key is nowhere but in this process. A new process has a new one: the certificates of those that run, or ran a while
ago, are in one bundle, the `caBundle` of the cluster's configuration. Times are in UTC.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from paddock.kube.certificates import begin_certificate, build_name, build_usage, write_pem

LIFE = timedelta(days=30)
MOST_IN_BUNDLE = 20
"""The newest are kept: each process that ever began leaves one, which is of no use when the process has ended."""

_HERE = ("localhost", "127.0.0.1", "::1")
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Certificate:
    """The certificate of the webhook, with its key."""

    pem: str  # PEM
    key: str = field(repr=False)  # PEM
    made: datetime  # when its life begins, which `renewal_due` divides
    ends: datetime  # when its life is over


def name_service(service: str, namespace: str) -> tuple[str, ...]:
    """The names under which the API server, and others in the cluster, reach a Service."""
    short = f"{service}.{namespace}.svc"
    return (short, f"{service}.{namespace}", f"{short}.cluster.local")


def make_certificate(names: Sequence[str], now: datetime, life: timedelta = LIFE) -> Certificate:
    """A certificate with a new key. It is valid for `names`, and on this machine."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = build_name("Paddock webhook")  # a common name has 64 characters at most, and nobody reads it
    built = (
        begin_certificate(name, name, private, now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(build_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_read_name(each) for each in (*names, *_HERE)]), critical=False)
        .sign(private, hashes.SHA256())
    )
    pem, key = write_pem(built, private)
    return Certificate(pem.decode().strip(), key.decode(), now, now + life)


def _read_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def renewal_due(made: datetime, ends: datetime, now: datetime) -> bool:
    """Whether a third of the life is left, or less."""
    return ends - now <= (ends - made) / 3


def merge_bundle(bundle: str, own: str, now: datetime) -> str:
    """The bundle with `own` in it, in the same order; both PEM. What has expired or cannot be read is dropped, and the
    oldest where there are too many. A bundle that needs no change comes back as a client wrote it."""
    found: dict[str, datetime] = {}
    for pem in (*_PEM.findall(bundle), own):
        try:
            read = x509.load_pem_x509_certificate(pem.encode())
        except ValueError:
            continue
        if read.not_valid_after_utc > now:
            found.setdefault(pem, read.not_valid_before_utc)
    newest = sorted((pem for pem in found if pem != own), key=lambda pem: found[pem], reverse=True)
    kept = {own, *newest[: MOST_IN_BUNDLE - 1]}
    merged = "".join(f"{pem}\n" for pem in found if pem in kept)
    return bundle if bundle.split() == merged.split() else merged
