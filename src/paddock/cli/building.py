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
        self._tenths: dict[str, int] = {}
        self.live = ""

    def show(self, name: str, status: Mapping[str, Any]) -> None:
        """A line for each tenth of the way, and one when an environment that was being built is ready."""
        building, language = read_building(name, status), self._screen.language
        self.live = build_building(building, bar=True, language=language) if building else ""
        if building and self._tenths.get(name) != building.percent // 10:
            self._tenths[name] = building.percent // 10
            self._screen.note(build_building(building, bar=False, language=language))
        elif not building and name in self._tenths and status.get("phase") == "Ready":
            del self._tenths[name]
            what = str(status.get("message") or "built")
            self._screen.talk(phrase("environment {name}: ready ({what})", name=name, what=what))
