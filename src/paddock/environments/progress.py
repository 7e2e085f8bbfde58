"""How far a build is, read from what uv draws on a terminal. Pure.

uv tells bytes only as bars (`numpy  -----  2.16 MiB/16.13 MiB`), one for each package that is being downloaded, under
`Preparing packages... (11/15)`; then `[6/15] name` while it installs. A release of uv that draws otherwise costs the
per cent, never the build: phases alone still move it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

RESOLVED, DOWNLOADED, INSTALLED = 3, 88, 93
"""Per cent at the end of each phase; most of the time goes to the download, then to the first import (verifying)."""

_BAR = re.compile(r"([A-Za-z0-9][\w.-]*)\s+-+\s+([\d.]+) ?([KMGT]?i?B)/([\d.]+) ?([KMGT]?i?B)")
_PREPARING = re.compile(r"Preparing packages\.\.\. \((\d+)/(\d+)\)")
_INSTALLING = re.compile(r"\[(\d+)/(\d+)\] ")
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_WINDOW = 40_000  # characters of the terminal to keep: several frames


@dataclass(frozen=True, slots=True)
class Progress:
    """`subject` as people know it (`paddlepaddle 3.0.0`), or while `retrying` what is being done; `size` of its
    download in bytes, once it is known.

    `tries`: how many have failed, and how many there are, where the network failed. `speed` in bytes a second, and
    `left`, the seconds that the downloads will take at this speed; 0 where they are not known.
    """

    phase: str
    percent: int
    subject: str
    size: int | None = None
    tries: tuple[int, int] = (0, 0)
    speed: float = 0.0
    left: float = 0.0

    def explain(self) -> str:
        if self.phase == "waiting":
            return f"waiting for another build of {self.subject}"
        if self.phase == "retrying":
            failed, most = self.tries
            return f"{self.subject}, the network failed: try {failed + 1} of {most}"
        size = f", {format_size(self.size)}" if self.size else ""
        if self.phase == "fetching":
            return f"fetching {self.subject}{size}, {self.percent} %"
        phase = f", {self.phase}" if self.phase != "downloading" else ""
        pace = f", {format_size(self.speed)}/s, {self.left:.0f} s left" if self.speed and self.left >= 0.5 else ""
        return f"building ({self.subject}{size}){phase}, {self.percent} %{pace}"


@dataclass(slots=True)
class Pace:
    """How fast bytes come, over the last seconds. Times are of any clock that only goes forward."""

    window: float = 5.0
    _seen: deque[tuple[float, int]] = field(default_factory=deque)

    def note(self, now: float, got: int) -> float:
        """Bytes a second; 0 before it is known. `got` that goes back is another try: the count begins anew."""
        if self._seen and got < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, got))
        while now - self._seen[0][0] > self.window and len(self._seen) > 2:
            self._seen.popleft()
        begun, had = self._seen[0]
        return (got - had) / (now - begun) if now - begun >= 1 else 0.0


@dataclass(frozen=True, slots=True)
class Screen:
    """What has been seen of uv's output so far: bytes (done, whole) by package, and packages (done, all)."""

    text: str = ""
    bars: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    prepared: tuple[int, int] = (0, 0)
    installed: tuple[int, int] = (0, 0)
    best: float = 0.0

    @property
    def all_seen(self) -> bool:
        """Whether every package has either been prepared or shown its size."""
        running = sum(got < size for got, size in self.bars.values())
        return self.prepared[0] + running >= self.prepared[1]

    @property
    def bytes(self) -> tuple[int, int]:
        """Of all downloads that have shown their size: done, whole."""
        return sum(got for got, _ in self.bars.values()), sum(whole for _, whole in self.bars.values())

    def largest(self) -> tuple[str, int] | None:
        """The package that the wait is for, and its size."""
        return max(((name, whole) for name, (_, whole) in self.bars.items()), key=lambda each: each[1], default=None)


def read_screen(screen: Screen, text: str) -> Screen:
    """The screen after `text`, which may end anywhere in a frame."""
    window = (screen.text + text)[-_WINDOW:]
    frames = list(_PREPARING.finditer(window))
    bars = dict(screen.bars)
    prepared = screen.prepared
    visible: set[str] | None = None
    for index, frame in enumerate(frames):
        complete = index + 1 < len(frames)
        end = frames[index + 1].start() if complete else len(window)
        drawn = {match[1]: _read_bar(match) for match in _BAR.finditer(window, frame.end(), end)}
        bars.update(drawn)
        prepared = (int(frame[1]), int(frame[2]))
        if complete:
            visible = set(drawn)
    if visible is not None and frames:
        last = {match[1] for match in _BAR.finditer(window, frames[-1].end())}
        bars = {name: (done if name in visible | last else whole, whole) for name, (done, whole) in bars.items()}
    steps = _INSTALLING.findall(window[frames[-1].end() if frames else 0 :])
    installed = (int(steps[-1][0]), int(steps[-1][1])) if steps else screen.installed
    kept = window[frames[-2].start() :] if len(frames) > 1 else window
    seen = replace(screen, text=kept, bars=bars, prepared=prepared, installed=installed)
    return replace(seen, best=max(screen.best, _percent(seen)))


def _percent(screen: Screen) -> float:
    """Between RESOLVED and INSTALLED. Until every download has been seen its total is unknown: a tenth at most."""
    done, every = screen.installed
    if every:
        return DOWNLOADED + (INSTALLED - DOWNLOADED) * done / every
    got, whole = screen.bytes
    if not whole:
        return RESOLVED
    fraction = got / whole
    return RESOLVED + (DOWNLOADED - RESOLVED) * (fraction if screen.all_seen else fraction / 10)


def build_progress(screen: Screen, subject: str, versions: Mapping[str, str], speed: float = 0.0) -> Progress:
    """The progress that a screen shows. The subject becomes the largest download once there is one; `speed` in bytes a
    second."""
    phase = "installing" if screen.installed[1] else "downloading"
    largest = screen.largest()
    if largest is None or not screen.all_seen or largest[1] < 10**6:
        return Progress(phase, int(screen.best or RESOLVED), subject)
    name, size = largest
    got, whole = screen.bytes
    pace = (speed, (whole - got) / speed) if speed and phase == "downloading" else (0.0, 0.0)
    named = f"{name} {versions.get(name, '')}".strip()
    return Progress(phase, int(screen.best), named, size, speed=pace[0], left=pace[1])


_PYTHON_BAR = re.compile(r"\(download\)\s+-+\s+([\d.]+) ?([KMGT]?i?B)/([\d.]+) ?([KMGT]?i?B)")


def read_python_bar(text: str) -> tuple[int, int] | None:
    """Bytes (done, whole) of an interpreter that uv fetches, from the last bar in `text`."""
    bars = list(_PYTHON_BAR.finditer(text))
    return (_bytes(bars[-1][1], bars[-1][2]), _bytes(bars[-1][3], bars[-1][4])) if bars else None


def format_size(count: float) -> str:
    """As package indexes print it, in powers of ten: `193 MB`, `1.2 GB`."""
    for unit in ("B", "kB", "MB"):
        if count < 999.5:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _read_bar(match: re.Match[str]) -> tuple[int, int]:
    return _bytes(match[2], match[3]), _bytes(match[4], match[5])


def _bytes(number: str, unit: str) -> int:
    return int(float(number) * _UNITS.get(unit, 1))
