"""Every action: what a POST to its address does."""

from __future__ import annotations

from paddock.console.actions import boards, datasets, environments, jobs
from paddock.console.page_context import Action

ACTIONS: tuple[Action, ...] = (*jobs.ACTIONS, *environments.ACTIONS, *datasets.ACTIONS, *boards.ACTIONS)
