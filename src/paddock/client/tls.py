"""TLS of a connection: whom it trusts, and the certificate that it shows."""

from __future__ import annotations

import ssl
from pathlib import Path

from paddock.client.errors import ConfigError
from paddock.client.identity import Credential
from paddock.client.kubeconfig import Config


class Tls:
    """The contexts of one server. A plug-in's new certificate is a new context, and so new connections, as aiohttp
    uses a connection again for the same context alone; watches that have begun with the old one go on. Raises
    `ConfigError`."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._pair = ("", "")
        try:
            self._context = build_context(config)
            if config.certificate and config.key:
                load_certificate(self._context, config.certificate, config.key)
        except ssl.SSLError as error:
            raise ConfigError(
                "{source}: its certificates cannot be used: {why}", source=config.source, why=error.reason or str(error)
            ) from None

    def find(self, credential: Credential) -> ssl.SSLContext:
        """The context of this credential. Its certificate and key have been checked with `find_misfit`."""
        pair = (credential.certificate, credential.key)
        if pair != self._pair:
            context = build_context(self._config)
            if credential.certificate:
                load_certificate(context, *pair)
            self._context, self._pair = context, pair
        return self._context


def build_context(config: Config) -> ssl.SSLContext:
    """A context without a certificate of its own."""
    context = ssl.create_default_context(cadata=config.ca)
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def load_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Loads it by a temporary private file: Python's ssl reads client certificates from files only."""
    import tempfile  # late: most users have a token, or a plug-in

    with tempfile.TemporaryDirectory(prefix="paddock-") as directory:
        path = Path(directory) / "client.pem"
        path.touch(mode=0o600)
        path.write_text(f"{certificate}\n{key}\n")
        context.load_cert_chain(path, password=_refuse_password)


def _refuse_password() -> str:
    """OpenSSL would ask on the terminal for that of an encrypted key."""
    return ""


def find_misfit(certificate: str, key: str) -> str:
    """Why these (PEM) cannot be shown to a server; empty if they can."""
    try:
        load_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate, key)
    except (ssl.SSLError, ValueError) as error:  # ValueError: an encrypted key has no password here
        return getattr(error, "reason", "") or str(error)
    return ""
