"""The package index of a build: settings of the Environment, uv and pip, translated for uv. Pure except `read_texts`.

Precedence, highest first: the Environment's `indexURL` and `extraIndexURLs`; uv's settings (UV_*, uv.toml); pip's
variables (PIP_*); pip's files in pip's order, `[install]` over `[global]`. One index setting of uv replaces all index
settings of pip.

URLs may contain passwords. They are passed in the child's environment, never in messages, and never in arguments, which
every user of the machine can read.

Sources: pip's user guide, "Configuration"; uv's reference, "Environment variables".
"""

from __future__ import annotations

import configparser
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paddock.environments.definition import Definition

_UV_INDEX = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_NO_INDEX")
_UV_TOML_INDEX = {"index", "index-url", "extra-index-url", "no-index"}
_REMOVED_VARIABLES = (
    "UV_PYTHON", "UV_SYSTEM_PYTHON", "UV_PROJECT", "UV_WORKING_DIR", "UV_NO_PROGRESS", "UV_PROJECT_ENVIRONMENT",
    "UV_VENV_CLEAR", "UV_VENV_SEED", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "CI",
    "FORCE_COLOR", "CLICOLOR_FORCE",
)  # fmt: skip
"""Variables that would make uv use another environment, or change its progress bars."""


_FIXED_VARIABLES = {"UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1", "TERM": "xterm", "GIT_TERMINAL_PROMPT": "0"}
"""uv has a terminal, but no user who answers prompts. `managed_pythons` alone downloads interpreters."""


@dataclass(frozen=True, slots=True)
class UvSettings:
    """uv's complete environment variables, and flags for settings without a variable."""

    environment: Mapping[str, str]
    flags: tuple[str, ...] = ()

    def __repr__(self) -> str:
        # URLs among the values may contain passwords, so names alone are shown.
        return f"UvSettings(variables={sorted(self.environment)}, flags={self.flags})"


def read_pip_settings(files: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """pip's settings by long option name (`extra-index-url`), weakest file first in `files` (their texts)."""
    settings: dict[str, str] = {}
    # `[install]` of any file wins over `[global]` of every file, so sections are the outer loop.
    for section in ("global", "install"):
        for text in files:
            parser = configparser.RawConfigParser()
            try:
                parser.read_string(text)
            except configparser.Error:
                # pip reports a file that cannot be parsed; a mistake in one file must not stop a build.
                continue
            if parser.has_section(section):
                settings.update({_option(key): value.strip() for key, value in parser.items(section)})
    for name, value in environ.items():
        if name.startswith("PIP_") and name != "PIP_CONFIG_FILE" and value.strip():
            settings[_option(name[4:])] = value.strip()
    return settings


def plan_uv_settings(
    definition: Definition, pip: Mapping[str, str], environ: Mapping[str, str], uv_toml: frozenset[str] = frozenset()
) -> UvSettings:
    """uv's environment and flags. `uv_toml`: the top-level keys that the user's and system's uv.toml set."""
    result = {name: value for name, value in environ.items() if name not in _REMOVED_VARIABLES}
    flags: list[str] = []
    if definition.index_url or definition.extra_index_urls:
        for name in _UV_INDEX:
            result.pop(name, None)
        _apply_index(result, definition.index_url, definition.extra_index_urls)
    # pip's index settings count only if uv has none: a mix of both would be neither.
    elif not (any(environ.get(name) for name in _UV_INDEX) or uv_toml & _UV_TOML_INDEX):
        _apply_index(result, pip.get("index-url", ""), pip.get("extra-index-url", "").split())
        if pip.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t"):
            flags.append("--no-index")
    if pip.get("find-links") and "find-links" not in uv_toml:
        result.setdefault("UV_FIND_LINKS", ",".join(pip["find-links"].split()))
    _apply_network(result, pip)
    hosts = [each.partition(" ")[2] for each in definition.options if each.startswith("--trusted-host ")]
    if hosts:
        result["UV_INSECURE_HOST"] = " ".join((*hosts, result.get("UV_INSECURE_HOST", ""))).strip()
    return UvSettings(result | _FIXED_VARIABLES, tuple(flags))


def _apply_index(result: dict[str, str], url: str, extra: Sequence[str]) -> None:
    """Sets the index URLs."""
    if url:
        result["UV_DEFAULT_INDEX"] = url
    if extra:
        result["UV_INDEX"] = " ".join(extra)
        # pip takes the best version of all its indexes: `unsafe-best-match` makes uv do the same.
        result.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")


def _apply_network(result: dict[str, str], pip: Mapping[str, str]) -> None:
    """Sets certificates, proxies and time-outs."""
    # pip also reads the older variables of requests and curl.
    cert = pip.get("cert") or result.get("REQUESTS_CA_BUNDLE") or result.get("CURL_CA_BUNDLE")
    wanted = {
        "SSL_CERT_FILE": cert,
        "SSL_CLIENT_CERT": pip.get("client-cert"),
        "UV_INSECURE_HOST": " ".join(pip.get("trusted-host", "").split()),
        "UV_HTTP_TIMEOUT": pip.get("timeout") or pip.get("default-timeout"),
        "ALL_PROXY": pip.get("proxy"),
    }
    if result.get("all_proxy"):
        wanted["ALL_PROXY"] = None
    for name, value in wanted.items():
        if value:
            result.setdefault(name, value)
    # uv retries silently, `environments.uv` with progress, so uv's own retries are few.
    result.setdefault("UV_HTTP_RETRIES", "1")


def pip_files(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> tuple[Path, ...]:
    """pip's configuration files, weakest first. PIP_CONFIG_FILE replaces the user's; /dev/null there means no files."""
    named = environ.get("PIP_CONFIG_FILE", "")
    if named == "/dev/null":
        return ()
    xdg = [Path(each) for each in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if each]
    places = [directory / "pip/pip.conf" for directory in reversed(xdg)] + [Path("/etc/pip.conf")]
    if platform == "darwin":
        places.insert(0, Path("/Library/Application Support/pip/pip.conf"))
    if named:
        return (*places, Path(named))
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    places += [home / ".pip/pip.conf", config / "pip/pip.conf"]
    if platform == "darwin":
        places.append(home / "Library/Application Support/pip/pip.conf")
    return tuple(places)


def uv_files(environ: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """The user's and the system's uv.toml. A project's is not read: an Environment belongs to no project."""
    if environ.get("UV_NO_CONFIG"):
        return ()
    if named := environ.get("UV_CONFIG_FILE"):
        return (Path(named),)
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return (config / "uv/uv.toml", Path("/etc/uv/uv.toml"))


def read_uv_keys(texts: Iterable[str]) -> frozenset[str]:
    """The keys that these files set at the top level and under `[pip]`."""
    keys: set[str] = set()
    for text in texts:
        try:
            parsed = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            # uv itself reports syntax errors when it runs.
            continue
        keys |= parsed.keys()
        keys |= parsed["pip"].keys() if isinstance(parsed.get("pip"), dict) else set()
    return frozenset(keys)


def read_texts(paths: Iterable[Path]) -> list[str]:
    """The texts of the readable files."""
    texts = []
    for path in paths:
        try:
            texts.append(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    return texts


def _option(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")
