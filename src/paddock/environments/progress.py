"""The progress of a build, parsed from uv's terminal output. Pure.

uv shows bytes only as bars (`numpy  -----  2.16 MiB/16.13 MiB`), one for each running download, under
`Preparing packages... (11/15)`; then `[6/15] name` while it installs. With a future output that does not match, the
build still works, and its percentage follows the phases alone.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from paddock.words.phrases import Phrase, Value, phrase

RESOLVED, DOWNLOADED, INSTALLED = 3, 88, 93
"""Percentage at the end of each phase. The download takes longest, then the first import (verifying)."""

_BAR = re.compile(r"([A-Za-z0-9][\w.-]*)\s+-+\s+([\d.]+) ?([KMGT]?i?B)/([\d.]+) ?([KMGT]?i?B)")
_PREPARING = re.compile(r"Preparing packages\.\.\. \((\d+)/(\d+)\)")
_INSTALLING = re.compile(r"\[(\d+)/(\d+)\] ")
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
# Characters of output to keep: several frames.
_WINDOW = 40_000


_PHASES = {"resolving": phrase("resolving"), "installing": phrase("installing"), "verifying": phrase("verifying")}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is."""

    phase: str
    percent: int
    subject: str
    """`paddlepaddle 3.0.0`; in phase `retrying`, the failed activity."""
    size: int | None = None
    """Bytes of its download; None if not known yet."""
    tries: tuple[int, int] = (0, 0)
    """After a network error: (failed tries, all tries)."""
    speed: float = 0.0
    """Bytes per second; 0 if unknown."""
    left: float = 0.0
    """Seconds until the downloads end at this speed; 0 if unknown."""
    build: str = ""
    """Which build of torch was chosen; empty without torch."""
    key: str = ""
    """Of the directory that is built, and of its log."""

    def explain(self) -> str:
        """What is done, as the API stores it: `building (paddlepaddle 3.0.0, 193 MB), 41 %, 12 MB/s, 9 s left`."""
        return str(self._say())

    def _say(self) -> Phrase:
        if self.phase == "waiting":
            return phrase("waiting for another build of {subject}", subject=self.subject)
        if self.phase == "retrying":
            failed, most = self.tries
            return phrase(
                "{subject}, the network failed: try {count} of {most}",
                subject=self.subject,
                count=failed + 1,
                most=most,
            )
        subject = self.subject + (f", {format_size(self.size)}" if self.size else "")
        if self.phase == "fetching":
            return phrase("fetching {subject}, {percent} %", subject=subject, percent=self.percent)
        return self._say_building(subject)

    def _say_building(self, subject: str) -> Phrase:
        how: dict[str, Value] = {"subject": subject, "percent": self.percent}
        if timed := bool(self.speed and self.left >= 0.5):
            how |= {"speed": f"{format_size(self.speed)}/s", "seconds": f"{self.left:.0f}"}
        if self.phase == "downloading":
            if timed:
                return phrase("building ({subject}), {percent} %, {speed}, {seconds} s left", **how)
            return phrase("building ({subject}), {percent} %", **how)
        how["phase"] = _PHASES.get(self.phase, self.phase)
        if timed:
            return phrase("building ({subject}), {phase}, {percent} %, {speed}, {seconds} s left", **how)
        return phrase("building ({subject}), {phase}, {percent} %", **how)


@dataclass(slots=True)
class TransferRate:
    """The transfer rate over the last `window` seconds. Times are of a monotonic clock."""

    window: float = 5.0
    _seen: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, now: float, got: int) -> float:
        """Bytes per second; 0 in the first second. `got`: the sum so far; a smaller sum (a retry) resets."""
        if self._seen and got < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, got))
        while now - self._seen[0][0] > self.window and len(self._seen) > 2:
            self._seen.popleft()
        begun, had = self._seen[0]
        return (got - had) / (now - begun) if now - begun >= 1 else 0.0


@dataclass(frozen=True, slots=True)
class Screen:
    """uv's output so far."""

    text: str = ""
    bars: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # package -> bytes (done, total)
    prepared: tuple[int, int] = (0, 0)  # packages (done, total)
    installed: tuple[int, int] = (0, 0)  # packages (done, total)
    best: float = 0.0

    @property
    def all_seen(self) -> bool:
        """Whether each package is either prepared or has shown its size."""
        running = sum(got < size for got, size in self.bars.values())
        return self.prepared[0] + running >= self.prepared[1]

    @property
    def bytes(self) -> tuple[int, int]:
        """Bytes (done, total) of all downloads that have shown their size."""
        return sum(got for got, _ in self.bars.values()), sum(whole for _, whole in self.bars.values())

    def largest(self) -> tuple[str, int] | None:
        """The package with the largest download, and its size."""
        return max(((name, whole) for name, (_, whole) in self.bars.items()), key=lambda each: each[1], default=None)


def read_screen(screen: Screen, text: str) -> Screen:
    """The screen after more `text`, which may end anywhere in a frame."""
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
    # uv no longer draws the bar of a finished download.
    if visible is not None and frames:
        last = {match[1] for match in _BAR.finditer(window, frames[-1].end())}
        bars = {name: (done if name in visible | last else whole, whole) for name, (done, whole) in bars.items()}
    steps = _INSTALLING.findall(window[frames[-1].end() if frames else 0 :])
    installed = (int(steps[-1][0]), int(steps[-1][1])) if steps else screen.installed
    kept = window[frames[-2].start() :] if len(frames) > 1 else window
    seen = replace(screen, text=kept, bars=bars, prepared=prepared, installed=installed)
    # The total grows while sizes become known, and the percentage that is shown must not decrease.
    return replace(seen, best=max(screen.best, _percent(seen)))


def _percent(screen: Screen) -> float:
    """Between RESOLVED and INSTALLED."""
    done, every = screen.installed
    if every:
        return DOWNLOADED + (INSTALLED - DOWNLOADED) * done / every
    got, whole = screen.bytes
    if not whole:
        return RESOLVED
    fraction = got / whole
    # While some sizes are unknown, so is the total: a tenth of the range is the most that can be claimed.
    return RESOLVED + (DOWNLOADED - RESOLVED) * (fraction if screen.all_seen else fraction / 10)


def build_progress(screen: Screen, subject: str, versions: Mapping[str, str], speed: float = 0.0) -> Progress:
    """The progress that a screen shows. Once all sizes are known, the subject is the largest download. `speed`: bytes
    per second."""
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
    """Bytes (done, total) of an interpreter that uv downloads, from the last bar in `text`."""
    bars = list(_PYTHON_BAR.finditer(text))
    return (_bytes(bars[-1][1], bars[-1][2]), _bytes(bars[-1][3], bars[-1][4])) if bars else None


def format_size(count: float) -> str:
    """`193 MB`, `1.2 GB`: in powers of ten, as on package indexes."""
    for unit in ("B", "kB", "MB"):
        if count < 999.5:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _read_bar(match: re.Match[str]) -> tuple[int, int]:
    return _bytes(match[2], match[3]), _bytes(match[4], match[5])


def _bytes(number: str, unit: str) -> int:
    return int(float(number) * _UNITS.get(unit, 1))
