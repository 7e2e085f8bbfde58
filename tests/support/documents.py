"""Long YAML files, read as fast as this machine can."""

from __future__ import annotations

from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's takes a sixth of the time; a PyYAML that was built without it has only its own."""


def read_documents(text: str) -> list[Any]:
    """Every document of `text`, as `yaml.safe_load_all` reads it."""
    return list(yaml.load_all(text, Loader=_LOADER))
