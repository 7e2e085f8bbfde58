"""The progress of environment builds on a screen: a bar on the live line, or separate lines without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.cli.output.display import build_building
from paddock.cli.output.screen import Screen
from paddock.views.building import read_building
from paddock.words.phrases import Foreign, phrase


class Builds:
    """Shows each status of the environments that the job waits for. `live`: text of the live line, or empty."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._shown: set[tuple[str, str, int]] = set()
        self._told: set[tuple[str, str]] = set()
        self.live = ""

    def show(self, name: str, status: Mapping[str, Any]) -> None:
        """Prints one line for each 10 %, once also if the build is repeated, and one when the environment is ready;
        and which build of PyTorch was chosen."""
        building, language = read_building(name, status), self._screen.language
        if (torch := str(status.get("torch") or "")) and building and (name, torch) not in self._told:
            self._told.add((name, torch))
            self._screen.notify(phrase("environment {name}: {what}", name=name, what=Foreign(torch)))
        self.live = build_building(building, bar=True, language=language) if building else ""
        if building and (tenth := (name, building.stage, building.percent // 10)) not in self._shown:
            self._shown.add(tenth)
            self._screen.notify_unless_live(build_building(building, bar=False, language=language))
        elif not building and any(shown[0] == name for shown in self._shown) and status.get("phase") == "Ready":
            self._shown = {shown for shown in self._shown if shown[0] != name}
            message = str(status.get("message") or "")
            what = Foreign(message) if message else phrase("built")
            self._screen.notify(phrase("environment {name}: ready ({what})", name=name, what=what))
