"""For which machines an image is: of the nodes of a cluster, of an index, and as uv names them. Pure.

Sources: OCI image index, "platform"; uv's reference, `--python-platform`; PEP 600 (manylinux_X_Y is glibc X.Y).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from paddock.words.phrases import Names, Phrase, phrase

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_OLDEST_GLIBC, _ASSUMED_GLIBC, _NEWEST_GLIBC = (2, 17), (2, 28), (2, 40)
"""Of uv's names of platforms; what wheels of today want at most where the base image does not tell."""
_GLIBC = {
    "debian": {"10": 28, "11": 31, "12": 36, "13": 41},
    "ubuntu": {"18.04": 27, "20.04": 31, "22.04": 35, "24.04": 39, "25.04": 41, "26.04": 42},
    "centos": {"7": 17, "8": 28, "9": 34},
    "rhel": {"7": 17, "8": 28, "9": 34, "10": 39},
    "rocky": {"8": 28, "9": 34, "10": 39},
    "almalinux": {"8": 28, "9": 34, "10": 39},
    "openeuler": {"20.03": 28, "22.03": 34, "24.03": 38},
    "anolis": {"7": 17, "8": 28},
    "tencentos": {"3": 28, "4": 38},
}
"""The minor version of glibc by ID and VERSION_ID of /etc/os-release (the distributions' own package lists)."""


@dataclass(frozen=True, slots=True)
class Platform:
    """An operating system and an architecture, as Go and OCI name them: `linux/arm64/v8`."""

    architecture: str = "amd64"
    system: str = "linux"
    variant: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.system, self.architecture, self.variant)))


@dataclass(frozen=True, slots=True)
class Wheels:
    """Which wheels run in an image."""

    platform: Platform
    musl: bool = False
    """Alpine's libc in place of glibc."""
    glibc: tuple[int, int] | None = None
    """None where the image does not tell."""

    @property
    def uv(self) -> str:
        """uv's --python-platform; empty for an architecture that it does not know."""
        machine = _MACHINES.get(self.platform.architecture)
        if machine is None:
            return ""
        if self.musl:
            return f"{machine}-unknown-linux-musl"
        major, minor = max(_OLDEST_GLIBC, min(self.glibc or _ASSUMED_GLIBC, _NEWEST_GLIBC))
        minor = 17 if minor < 28 else 28 if minor < 31 else minor  # uv has 2.17, 2.28 and those from 2.31 on
        return f"{machine}-manylinux_{major}_{minor}"

    def __str__(self) -> str:
        libc = " (musl)" if self.musl else f" (glibc {self.glibc[0]}.{self.glibc[1]})" if self.glibc else ""
        return f"{self.platform}{libc}"


def choose_platform(nodes: Sequence[str] | None, wanted: str = "") -> tuple[Platform, Phrase | None]:
    """The platform to build for, and what is to be said of the choice. `nodes`: their architectures, None where they
    may not be read; `wanted`: of the job's own nodeSelector."""
    if wanted:
        return Platform(wanted), None
    there = sorted(set(nodes or ()))
    if len(there) == 1:
        return Platform(there[0]), None
    chosen = Platform()
    if not there:
        return chosen, phrase("the architecture of the cluster's nodes is not known: {platform} is taken",
                              platform=str(chosen))  # fmt: skip
    chosen = Platform("amd64" if "amd64" in there else there[0])
    return chosen, phrase(
        "the cluster has nodes of {architectures}: the image is for {platform}, unless the job's nodeSelector has "
        "kubernetes.io/arch",
        architectures=Names(tuple(there)), platform=str(chosen),
    )  # fmt: skip


def read_glibc(os_release: str, names: Sequence[str]) -> tuple[int, int] | None:
    """The glibc of an image: of a library's own name (`libc-2.31.so`, before 2.34), else of the distribution."""
    if found := next((match for name in names if (match := re.fullmatch(r"libc-2\.(\d+)\.so", name))), None):
        return 2, int(found[1])
    fields = dict(re.findall(r"^(ID|VERSION_ID)=[\"']?([^\"'\n]*)", os_release, re.MULTILINE))
    versions = _GLIBC.get(fields.get("ID", ""), {})
    version = fields.get("VERSION_ID", "")
    minor = versions.get(version) or versions.get(version.partition(".")[0])
    return (2, minor) if minor else None
