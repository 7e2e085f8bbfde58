"""An operator of kopf with a kind of its own, Greeting: what its documentation shows first."""

from __future__ import annotations

import os
from typing import Any

import kopf

KIND = ("example.org", "v1", "greetings")


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.persistence.finalizer = "example.org/kopf"


@kopf.on.create(*KIND)
def create(spec: Any, body: kopf.Body, **_: Any) -> dict[str, str]:
    """What a handler returns becomes `status.create`."""
    kopf.info(body, reason="Greeted", message=f"greeted {spec['who']}")
    return {"greeted": spec["who"]}


@kopf.on.update(*KIND, field="spec.who")
def update(old: Any, new: Any, patch: kopf.Patch, **_: Any) -> None:
    patch.status["changed"] = f"{old} to {new}"


@kopf.on.create(*KIND, id="late", errors=kopf.ErrorsMode.TEMPORARY, backoff=1)
def succeed_at_the_second_try(retry: int, **_: Any) -> dict[str, int]:
    if retry == 0:
        raise kopf.TemporaryError("not yet", delay=0.5)
    return {"tries": retry + 1}


@kopf.on.delete(*KIND)
def delete(name: str, **_: Any) -> None:
    with open(os.environ["FAREWELLS"], "a") as file:
        file.write(f"{name}\n")


@kopf.timer(*KIND, interval=0.5, initial_delay=0.1)
def tick(patch: kopf.Patch, status: Any, **_: Any) -> None:
    if status.get("ticks", 0) < 2:
        patch.status["ticks"] = status.get("ticks", 0) + 1


@kopf.on.event("", "v1", "configmaps", labels={"greeting": kopf.PRESENT})
def look(event: Any, name: str, logger: Any, **_: Any) -> None:
    logger.info("saw %s %s", event["type"], name)
