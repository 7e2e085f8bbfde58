"""Every screen, in the order of the menu. A new one is a module, a template and a line here."""

from __future__ import annotations

from paddock.console.screens import (
    cancel,
    charts,
    compare,
    delete,
    edit,
    environment,
    environments,
    events,
    guide,
    job,
    jobs,
    logs,
    manifest,
    new,
    new_environment,
    nodes,
    plan,
    pods,
    queue,
)
from paddock.console.visit import Screen

SCREENS: tuple[Screen, ...] = (
    jobs.SCREEN,
    new.SCREEN,
    environments.SCREEN,
    queue.SCREEN,
    nodes.SCREEN,
    guide.SCREEN,
    compare.SCREEN,
    new_environment.SCREEN,
    environment.SCREEN,
    job.SCREEN,
    charts.SCREEN,
    logs.SCREEN,
    plan.SCREEN,
    pods.SCREEN,
    events.SCREEN,
    manifest.SCREEN,
    edit.SCREEN,
    cancel.SCREEN,
    delete.SCREEN,
)
