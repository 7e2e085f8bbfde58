"""Keeps the webhook's certificate in the ValidatingWebhookConfiguration, by which the API server trusts it.

Looks every two minutes: an apply of the manifest may have taken the certificate out, and a new one may be due. A new
one is written first and served a while later, when every API server has heard of it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import copy
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from paddock.install.webhook import CONFIGURATIONS
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Conflict, NotFound
from paddock.kube.meta import Manifest
from paddock.kube.times import Moment
from paddock.webhook.certificates import LIFE, Certificate, make_certificate, merge_bundle, renewal_due

LOOK_SECONDS = 120.0
_RETRY_SECONDS = 10.0
SETTLE_SECONDS = 15.0
_TRIES = 10

log = logging.getLogger("paddock.webhook")


def with_bundle(configuration: Mapping[str, Any], own: str, now: datetime) -> Manifest | None:
    """The configuration with `own` (PEM) in the bundle of each of its webhooks; None if there is nothing to write."""
    changed: Manifest = copy.deepcopy(dict(configuration))
    for each in changed.get("webhooks") or ():
        client = each.setdefault("clientConfig", {})
        merged = merge_bundle(read_bundle(client.get("caBundle")), own, now)
        if merged != read_bundle(client.get("caBundle")):
            client["caBundle"] = base64.b64encode(merged.encode()).decode()
    return changed if changed != configuration else None


def read_bundle(value: object) -> str:
    """The PEM of a `caBundle`; empty if there is none, or none that can be read."""
    try:
        return base64.b64decode(value, validate=True).decode() if isinstance(value, str) else ""
    except (binascii.Error, ValueError):
        return ""


class Keeper:
    """`name`: of the configuration. `names`: what the certificate is valid for, for `life`. `load` serves it. `clock`:
    seconds since the epoch; `look`, `settle`: seconds between two looks, and until a renewed certificate is served."""

    def __init__(
        self,
        api: Api,
        name: str,
        names: tuple[str, ...],
        load: Callable[[Certificate], None],
        *,
        clock: Callable[[], Moment],
        life: timedelta = LIFE,
        look: float = LOOK_SECONDS,
        settle: float = SETTLE_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._api, self._name, self._names, self._load = api, name, names, load
        self._clock, self._life, self._look, self._settle, self._sleep = clock, life, look, settle, sleep
        self._own = make_certificate(names, self._now(), life)
        self._trouble = ""
        self.unready_reason = "the certificate is not in the configuration yet"
        load(self._own)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._sleep(await self.keep())

    async def keep(self) -> float:
        """One look; seconds until the next. Raises nothing: a webhook that is not trusted goes on serving."""
        try:
            await self._renew_or_write()
        except NotFound:
            self.unready_reason = f"there is no ValidatingWebhookConfiguration {self._name}"
            self._tell(f"{self.unready_reason}: nothing is checked until there is one")
        except ApiError as error:
            self._tell(f"the ValidatingWebhookConfiguration {self._name} cannot be read or written: {error}")
        except Exception:
            log.exception("looking after the certificate failed, which is a bug")
        else:
            self._tell("")
            return self._look
        if self._own.ends <= self._now():
            self.unready_reason = "the certificate has expired"
        return min(self._look, _RETRY_SECONDS)

    async def _renew_or_write(self) -> None:
        if not renewal_due(self._own.made, self._own.ends, self._now()):
            await self._write(self._own)
            self.unready_reason = ""
            return
        new = make_certificate(self._names, self._now(), self._life)
        await self._write(new)
        await self._sleep(self._settle)
        self._load(new)
        self._own, self.unready_reason = new, ""
        log.info("the certificate is renewed, until %s", new.ends.isoformat())

    async def _write(self, certificate: Certificate) -> None:
        """Raises `ApiError`; `Conflict` where others write it all the time."""
        for left in reversed(range(_TRIES)):
            found = await self._api.get(CONFIGURATIONS, "", self._name)
            changed = with_bundle(found, certificate.pem, self._now())
            if changed is None:
                return
            try:
                # Its resourceVersion is the one that was read: what another replica wrote since is not lost.
                await self._api.replace(CONFIGURATIONS, changed)
            except Conflict:
                if not left:
                    raise
                continue
            log.info("the certificate was written into the ValidatingWebhookConfiguration %s", self._name)
            return

    def _tell(self, trouble: str) -> None:
        """Logs what is new."""
        if trouble and trouble != self._trouble:
            log.warning("%s", trouble)
        self._trouble = trouble

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)
