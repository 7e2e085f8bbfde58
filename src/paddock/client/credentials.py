"""The credential of each request: as it stands in the kubeconfig, from a file, or from a plug-in. Thin.

The connections of one process share a `Credentials`, so that a plug-in runs once for all of them.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from paddock.client.errors import ConfigError
from paddock.client.identity import Credential, is_token
from paddock.client.kubeconfig import Config
from paddock.kube.errors import Unauthorized

if TYPE_CHECKING:
    from paddock.client.exec_credentials import Notify

_FILE_SECONDS = 60.0
"""How long a token from a file is used before the file is read again; client-go: the same."""


class Credentials(Protocol):
    async def get(self) -> Credential:
        """The credential for a request that begins now. Raises `Unauthorized`, of which `PluginError` is one."""
        ...

    async def replace(self, rejected: Credential) -> Credential | None:
        """Another one than that which the server has answered with 401; None if there is none. Raises as `get`."""
        ...

    def accept(self, credential: Credential) -> None:
        """The server took it."""
        ...

    async def close(self) -> None: ...


def build_credentials(
    config: Config,
    *,
    clock: Callable[[], float] = time.monotonic,
    interactive: bool = False,
    notify: Notify = lambda _: None,
) -> Credentials:
    """`interactive`: a plug-in may use this process's terminal. `notify` is told once that the credential in use
    cannot be renewed. `clock`: monotonic, for files."""
    if config.plugin is not None:
        from paddock.client.exec_credentials import PluginCredentials  # few configurations have one

        return PluginCredentials(config.plugin, interactive=interactive, notify=notify)
    if config.token_file is not None:
        return FileCredentials(config, clock)
    return FixedCredentials(config)


@asynccontextmanager
async def open_credentials(
    config: Config, *, interactive: bool = False, notify: Notify = lambda _: None
) -> AsyncIterator[Credentials]:
    """The credentials for several connections."""
    credentials = build_credentials(config, interactive=interactive, notify=notify)
    try:
        yield credentials
    finally:
        await credentials.close()


class FixedCredentials:
    """The token of the kubeconfig; its certificate is a matter of `client.tls`. Raises `ConfigError`."""

    def __init__(self, config: Config) -> None:
        if config.token and not is_token(config.token):
            raise ConfigError(
                "{source}: its token has a space or another character that no request can carry", source=config.source
            )
        self._credential = Credential(config.token)

    async def get(self) -> Credential:
        return self._credential

    async def replace(self, rejected: Credential) -> Credential | None:
        return None

    def accept(self, credential: Credential) -> None: ...

    async def close(self) -> None: ...


class FileCredentials:
    """A token from a file, which the kubelet renews: read again after a minute, and after a 401. An error keeps the
    last."""

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        assert config.token_file is not None
        self._file, self._clock = config.token_file, clock
        self._credential = Credential(config.token)
        self._read_at: float | None = None

    async def get(self) -> Credential:
        if self._read_at is None or self._clock() - self._read_at >= _FILE_SECONDS:
            self._read()
        return self._credential

    async def replace(self, rejected: Credential) -> Credential | None:
        self._read()
        return None if self._credential == rejected else self._credential

    def accept(self, credential: Credential) -> None: ...

    async def close(self) -> None: ...

    def _read(self) -> None:
        try:
            token = self._file.read_text().strip()
            why = "a character in it can be carried by no request" if token else "it is empty"
        except (OSError, UnicodeDecodeError) as error:
            token, why = "", str(error.strerror) if isinstance(error, OSError) else "it is not a text"
        if is_token(token):
            self._credential, self._read_at = Credential(token), self._clock()
        elif not self._credential.token:
            raise Unauthorized(f"cannot use the token in {self._file}: {why}")
