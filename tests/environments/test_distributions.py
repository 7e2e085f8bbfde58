"""Install commands by the distribution in /etc/os-release."""

from __future__ import annotations

import pytest

from paddock.environments.distributions import (
    LIBGOMP,
    PYTHON,
    PYTHON_313,
    VENV,
    explain_install,
    install_command,
    read_distribution,
)

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nNAME="Debian GNU/Linux"\nID=debian\n# a comment\n'
TRIXIE = DEBIAN + "VERSION_CODENAME=trixie\n"
UBUNTU = 'PRETTY_NAME="Ubuntu 26.04 LTS"\nID=ubuntu\nID_LIKE=debian\n'
MINT = "NAME='Linux Mint'\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"
ROCKY = 'NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\n'
LEAP = 'NAME="openSUSE Leap"\nID="opensuse-leap"\nID_LIKE="suse opensuse"\n'
ALPINE = 'NAME="Alpine Linux"\nID=alpine\n'
ARCH = "NAME=Arch\nID=arch\n"
NIX = "NAME=NixOS\nID=nixos\n"


@pytest.mark.parametrize(
    ("release", "thing", "command"),
    [
        (DEBIAN, LIBGOMP, "sudo apt-get install libgomp1"),
        (UBUNTU, VENV, "sudo apt-get install python3-venv"),
        (TRIXIE, PYTHON_313, "sudo apt-get install python3.13"),
        (MINT, PYTHON_313, ""),
        (DEBIAN, PYTHON, "sudo apt-get install python3 python3-venv"),
        ("ID=fedora", LIBGOMP, "sudo dnf install libgomp"),
        (ROCKY, PYTHON_313, "sudo dnf install python3.13"),
        (ARCH, LIBGOMP, "sudo pacman -S gcc-libs"),
        (ALPINE, LIBGOMP, "sudo apk add libgomp"),
        (LEAP, LIBGOMP, "sudo zypper install libgomp1"),
        (NIX, LIBGOMP, ""),
        (DEBIAN, "libodd.so.1", ""),
        ("", LIBGOMP, ""),
        ("no such \x00 file", LIBGOMP, ""),
        ('NAME="not closed\nID=debian', LIBGOMP, "sudo apt-get install libgomp1"),
    ],
)
def test_the_command_of_each_distribution(release: str, thing: str, command: str) -> None:
    assert install_command(read_distribution(release), thing, root=False) == command


def test_root_needs_no_sudo_and_the_distribution_is_named() -> None:
    assert explain_install(read_distribution(DEBIAN), LIBGOMP, root=True) == (
        "run `apt-get install libgomp1` (Debian GNU/Linux 13 (trixie))"
    )
    assert explain_install(read_distribution(NIX), LIBGOMP, root=True) == (
        "install the package of NixOS that has libgomp.so.1"
    )
    assert explain_install(read_distribution(""), LIBGOMP, root=True).startswith("install the package of this system")
