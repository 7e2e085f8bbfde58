"""The building of environments on a screen: a bar on the live line, and lines where there is no live line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.cli.display import build_building, read_building
from paddock.cli.screen import Screen
from paddock.jobs.phrases import phrase


class Builds:
    """Hears of each status of the environments that are awaited. `live`: what the live line says, empty for nothing."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._told: set[tuple[str, str, int]] = set()
        self.live = ""

    def show(self, name: str, status: Mapping[str, Any]) -> None:
        """A line for each tenth of the way, once, however often the way is gone again; and one when an environment that
        was being built is ready."""
        building, language = read_building(name, status), self._screen.language
        self.live = build_building(building, bar=True, language=language) if building else ""
        if building and (tenth := (name, building.stage, building.percent // 10)) not in self._told:
            self._told.add(tenth)
            self._screen.note(build_building(building, bar=False, language=language))
        elif not building and any(told[0] == name for told in self._told) and status.get("phase") == "Ready":
            self._told = {told for told in self._told if told[0] != name}
            what = str(status.get("message") or "built")
            self._screen.talk(phrase("environment {name}: ready ({what})", name=name, what=what))
