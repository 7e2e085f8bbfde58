"""Install commands for what a machine lacks: package names by Linux distribution. Pure.

`tools/bootstrap.py` reads this file before Paddock is installed, with whatever Python a machine has: it must stay
readable by Python 3.7 and import nothing outside the standard library.
"""

from __future__ import annotations

import shlex
from typing import NamedTuple

LIBGOMP = "libgomp.so.1"
VENV = "venv"
"""Python's venv module, with the pip that it installs into environments."""
PYTHON = "python"
PYTHON_313 = "python3.13"
"""The newest interpreter that PaddlePaddle has wheels for."""
COMPILER = "a compiler of C and C++"
_HAVE_PYTHON_313 = frozenset({"trixie", "forky", "sid", "plucky", "questing"})
"""Codenames of Debian and Ubuntu releases that package python3.13."""


class Distribution(NamedTuple):
    """A distribution of Linux."""

    name: str  # PRETTY_NAME (`Debian GNU/Linux 13 (trixie)`)
    family: str  # a key of the tables below, or empty
    codename: str = ""  # the release's (`trixie`), or empty


_INSTALL = {
    "debian": "apt-get install {}",
    "fedora": "dnf install {}",
    "arch": "pacman -S {}",
    "suse": "zypper install {}",
    "alpine": "apk add {}",
}

# A missing family has it in its Python or C library package, or has no package of it.
_PACKAGES = {
    LIBGOMP: {"debian": "libgomp1", "fedora": "libgomp", "arch": "gcc-libs", "suse": "libgomp1", "alpine": "libgomp"},
    VENV: {"debian": "python3-venv", "fedora": "python3-pip", "arch": "python", "suse": "python3", "alpine": "python3"},
    PYTHON_313: {"debian": "python3.13", "fedora": "python3.13", "suse": "python313"},
    COMPILER: {
        "debian": "build-essential", "fedora": "gcc gcc-c++", "arch": "base-devel", "suse": "gcc gcc-c++",
        "alpine": "build-base",
    },
    PYTHON: {
        "debian": "python3 python3-venv", "fedora": "python3.13", "arch": "python", "suse": "python313",
        "alpine": "python3",
    },
    # What packages without a wheel are compiled with, by a file of it or the program's name.
    "Python.h": {"debian": "python3-dev", "fedora": "python3-devel", "suse": "python3-devel", "alpine": "python3-dev"},
    "cargo": {"debian": "cargo", "fedora": "cargo", "arch": "rust", "suse": "cargo", "alpine": "cargo"},
    "ffi.h": {
        "debian": "libffi-dev", "fedora": "libffi-devel", "arch": "libffi", "suse": "libffi-devel",
        "alpine": "libffi-dev",
    },
    "git": {"debian": "git", "fedora": "git", "arch": "git", "suse": "git", "alpine": "git"},
    "hdf5.h": {
        "debian": "libhdf5-dev", "fedora": "hdf5-devel", "arch": "hdf5", "suse": "hdf5-devel", "alpine": "hdf5-dev",
    },
    "libpq-fe.h": {
        "debian": "libpq-dev", "fedora": "libpq-devel", "arch": "postgresql-libs", "suse": "postgresql-devel",
        "alpine": "libpq-dev",
    },
    "libxml/xmlversion.h": {
        "debian": "libxml2-dev libxslt1-dev", "fedora": "libxml2-devel libxslt-devel", "arch": "libxml2 libxslt",
        "suse": "libxml2-devel libxslt-devel", "alpine": "libxml2-dev libxslt-dev",
    },
    "mysql.h": {
        "debian": "default-libmysqlclient-dev pkg-config", "fedora": "mariadb-connector-c-devel pkgconf",
        "arch": "mariadb-libs pkgconf", "suse": "libmariadb-devel pkg-config",
        "alpine": "mariadb-connector-c-dev pkgconf",
    },
    "openssl/ssl.h": {
        "debian": "libssl-dev", "fedora": "openssl-devel", "arch": "openssl", "suse": "libopenssl-devel",
        "alpine": "openssl-dev",
    },
    "portaudio.h": {
        "debian": "portaudio19-dev", "fedora": "portaudio-devel", "arch": "portaudio", "suse": "portaudio-devel",
        "alpine": "portaudio-dev",
    },
    "sql.h": {
        "debian": "unixodbc-dev", "fedora": "unixODBC-devel", "arch": "unixodbc", "suse": "unixODBC-devel",
        "alpine": "unixodbc-dev",
    },
    "zlib.h": {
        "debian": "zlib1g-dev", "fedora": "zlib-devel", "arch": "zlib", "suse": "zlib-devel", "alpine": "zlib-dev",
    },
}  # fmt: skip


def read_distribution(os_release: str) -> Distribution:
    """The distribution in the text of /etc/os-release ("" without the file): ID, else the first known of ID_LIKE
    (os-release(5))."""
    fields = {}
    for line in os_release.splitlines():
        key, equals, value = line.partition("=")
        if not equals or key.startswith("#"):
            continue
        try:
            words = shlex.split(value)
        except ValueError:
            # An unclosed quotation mark spoils its own line only.
            continue
        fields[key.strip()] = words[0] if words else ""
    alike = [fields.get("ID", ""), *fields.get("ID_LIKE", "").split()]
    alike = [_FAMILIES.get(each, each) for each in alike]
    family = next((each for each in alike if each in _INSTALL), "")
    name = fields.get("PRETTY_NAME") or fields.get("NAME") or "this system"
    return Distribution(name, family, fields.get("VERSION_CODENAME", ""))


_FAMILIES = {
    "ubuntu": "debian", "rhel": "fedora", "centos": "fedora", "opensuse": "suse", "sles": "suse",
}  # fmt: skip


def install_command(distribution: Distribution, thing: str, root: bool) -> str:
    """`sudo apt-get install libgomp1`; empty for an unknown package. `root`: whether the user is root."""
    package = _PACKAGES.get(thing, {}).get(distribution.family, "")
    lacks = thing == PYTHON_313 and distribution.family == "debian" and distribution.codename not in _HAVE_PYTHON_313
    if not package or lacks:
        return ""
    return ("" if root else "sudo ") + _INSTALL[distribution.family].format(package)


def explain_install(distribution: Distribution, thing: str, root: bool) -> str:
    """`run `apt-get install libgomp1` (Debian GNU/Linux 13 (trixie))`, or the thing to look for if its package is
    unknown."""
    command = install_command(distribution, thing, root)
    if command:
        return f"run `{command}` ({distribution.name})"
    return f"install the package of {distribution.name} that has {thing}"
