"""Every screen, in the order of the menu. A new one is a module, a template and a line here."""

from __future__ import annotations

from paddock.console.screens import (
    cancel,
    charts,
    compare,
    delete,
    doctor,
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
from paddock.console.screens.data import dataset, datasets, new_dataset
from paddock.console.visit import Screen

SCREENS: tuple[Screen, ...] = (
    jobs.SCREEN,
    new.SCREEN,
    datasets.SCREEN,
    environments.SCREEN,
    queue.SCREEN,
    nodes.SCREEN,
    guide.SCREEN,
    compare.SCREEN,
    new_environment.SCREEN,
    environment.SCREEN,
    new_dataset.SCREEN,
    dataset.SCREEN,
    job.SCREEN,
    charts.SCREEN,
    logs.SCREEN,
    plan.SCREEN,
    doctor.SCREEN,
    pods.SCREEN,
    events.SCREEN,
    manifest.SCREEN,
    edit.SCREEN,
    cancel.SCREEN,
    delete.SCREEN,
)
