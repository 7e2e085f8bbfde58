"""The service account of this process, by the token that it has."""

from __future__ import annotations

from contextlib import suppress

from paddock.client.kubeconfig import Config
from paddock.kube.meta import Key
from paddock.kube.service_accounts import read_account


def find_account(config: Config) -> Key | None:
    """The account of this process. None where it is none, or where a program or a certificate stands for it."""
    with suppress(OSError, UnicodeDecodeError):
        return read_account((config.token_file.read_text() if config.token_file else config.token).strip())
    return None
