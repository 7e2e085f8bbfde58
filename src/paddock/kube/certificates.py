"""What every certificate that Paddock makes has: name, validity, key usage. The embedded API server's and the
webhook's are built on it. `cryptography` is imported when it is used, as most commands need none of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

CLOCK_SKEW = timedelta(hours=1)
"""A certificate is valid from this long before it is made: clocks of containers and machines differ a little."""


def begin_certificate(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + life)
    )


def build_name(common_name: str) -> x509.Name:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, common_name)])


def build_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=signs_certificates, crl_sign=signs_certificates,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip


def write_pem(built: x509.Certificate, private: EllipticCurvePrivateKey) -> tuple[bytes, bytes]:
    """The certificate and its key, which is not encrypted."""
    from cryptography.hazmat.primitives import serialization

    pem = serialization.Encoding.PEM
    plain = private.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return built.public_bytes(pem), plain
