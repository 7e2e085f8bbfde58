"""What a registry's answer means for who asked. Pure, but for classes of errors that it tells apart.

Source: OCI distribution specification, "Error Codes". Texts of a registry are shown in one line, without control
characters.
"""

from __future__ import annotations

import json
import os
import re
import ssl

import aiohttp

from paddock.images.errors import ImageError
from paddock.images.references import DOCKER_HUB
from paddock.words.phrases import Phrase, phrase

_LONGEST_TEXT = 200


class Cut(ImageError):
    """A connection that was not made, or ended in the middle. Another try may help."""

    def __init__(self, host: str, error: Exception) -> None:
        explained = explain_connection(host, error)
        super().__init__(explained.said, is_mistake=explained.is_mistake)
        self.helps = not isinstance(error, _WITHOUT_HOPE)
        self.was_made = not isinstance(error, aiohttp.ClientConnectorError)


_WITHOUT_HOPE = (
    aiohttp.ClientConnectorCertificateError,
    aiohttp.ClientConnectorDNSError,
    aiohttp.ClientConnectorSSLError,
    aiohttp.InvalidURL,
)


def read_text(body: bytes) -> str:
    """The registry's own words: `DENIED: requested access to the resource is denied`; empty without any."""
    try:
        errors = json.loads(body).get("errors")
        first = errors[0] if isinstance(errors, list) and errors else {}
        said = ": ".join(str(first[key]) for key in ("code", "message") if first.get(key))
    except (ValueError, AttributeError, RecursionError, KeyError, IndexError, TypeError):
        said = ""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\s]+", " ", said).strip()[:_LONGEST_TEXT]


def explain_denied(host: str, name: str, *, push: bool, user: bool, text: str) -> ImageError:
    """A registry that does not let somebody pull or push. `user`: whether `docker login` had left a user for it."""
    login = "docker login" if host == DOCKER_HUB else f"docker login {host}"
    said = f" ({text})" if text else ""
    where = f"{host}/{name}"
    if not user:
        if push:
            return _mistake(
                phrase("{registry} lets nobody push to {image} without a user{said}: `{command}`, as one who may",
                       registry=host, image=where, said=said, command=login)
            )  # fmt: skip
        return _mistake(
            phrase("{registry} has no {image}, or lets nobody pull it without a user{said}: check the name, or "
                   "`{command}`",
                   registry=host, image=where, said=said, command=login)
        )  # fmt: skip
    if push:
        return _mistake(
            phrase("{registry} does not let the user of `docker login` push to {image}{said}: ask for the right to "
                   "push, or `{command}` with another user", registry=host, image=where, said=said, command=login)
        )  # fmt: skip
    return _mistake(
        phrase("{registry} has no {image}, or does not let the user of `docker login` pull it{said}: check the name, "
               "or `{command}` with another user", registry=host, image=where, said=said, command=login)
    )  # fmt: skip


def explain_wrong(host: str, text: str) -> ImageError:
    """A registry that does not know the user whom `docker login` has left for it."""
    said, command = f" ({text})" if text else "", "docker login" if host == DOCKER_HUB else f"docker login {host}"
    return _mistake(
        phrase("{registry} does not take the user and the password of `docker login`{said}: log in again by "
               "`{command}`", registry=host, said=said, command=command)
    )  # fmt: skip


def explain_status(host: str, name: str, doing: Phrase, status: int, text: str) -> ImageError:
    """Any other answer that is not the expected one."""
    said = f" ({text})" if text else ""
    if status == 429:
        return ImageError(
            phrase("{registry} takes no more requests for now (429){said}: try again later, or `docker login` as a "
                   "user who may ask more often", registry=host, said=said)
        )  # fmt: skip
    return ImageError(
        phrase("{registry}: {doing} {image} failed: it answered {status}{said}",
               registry=host, doing=doing, image=f"{host}/{name}", status=status, said=said)
    )  # fmt: skip


def explain_connection(host: str, error: Exception) -> ImageError:
    """A registry that is not reached, or not trusted."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        return _mistake(
            phrase("the certificate of {registry} is not trusted here ({why}): put the certificate of who has signed "
                   "it into /etc/docker/certs.d/{registry}/ca.crt, or name its file by SSL_CERT_FILE",
                   registry=host, why=_read_certificate(error))
        )  # fmt: skip
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return _mistake(phrase("there is no registry {registry}: its name is not known here; check it", registry=host))
    if isinstance(error, aiohttp.ClientConnectorSSLError | ssl.SSLError):
        return _mistake(
            phrase("{registry} does not speak TLS: check the address, or write http:// before it where the registry "
                   "has plain HTTP alone", registry=host)
        )  # fmt: skip
    if isinstance(error, aiohttp.ClientConnectorError):
        why = os.strerror(error.os_error.errno) if error.os_error.errno else str(error.os_error)
        return ImageError(phrase("{registry} is not reached: {why}", registry=host, why=why))
    if isinstance(error, TimeoutError):
        return ImageError(phrase("{registry} does not answer", registry=host))
    return ImageError(phrase("{registry} has cut the connection, again and again: try again later", registry=host))


def _read_certificate(error: Exception) -> str:
    cause = error.certificate_error if isinstance(error, aiohttp.ClientConnectorCertificateError) else error
    return str(getattr(cause, "verify_message", "") or cause)[:_LONGEST_TEXT]


def _mistake(said: Phrase) -> ImageError:
    return ImageError(said, is_mistake=True)
