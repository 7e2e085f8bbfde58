"""YAML of the files of places, for people to read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

_ONE_LINE = 10_000  # characters: a text stays on its line


def write_yaml(documents: Iterable[Mapping[str, Any]]) -> str:
    """The documents, in the order of their keys, without anchors."""
    return "---\n".join(
        yaml.dump(each, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_ONE_LINE) for each in documents
    )


class _Dumper(yaml.SafeDumper):
    """Writes shared parts in full instead of YAML anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True
