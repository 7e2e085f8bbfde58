"""Manifests as YAML for people: fields in the order of the documents, Secrets without their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from paddock.jobs.script.variables import mask
from paddock.kube.meta import Manifest

_ONE_LINE = 2**31


class _Dumper(yaml.SafeDumper):
    """Writes equal parts in full, not as anchors; a list deeper than its field; a text of several lines as such."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # in plain form PyYAML would fold a long text, and kubectl reads on, off, yes and no as truth values
    quoted = text.lower() in ("on", "off", "yes", "no", "y", "n")
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if quoted else None)


_Dumper.add_representer(str, _represent_text)


def write_manifests(manifests: Sequence[Manifest]) -> str:
    """The documents, separated by `---`."""
    return "---\n".join(write_manifest(each) for each in manifests)


def write_manifest(manifest: Mapping[str, Any]) -> str:
    """One document; of a Secret the names alone."""
    return yaml.dump(mask(manifest), Dumper=_Dumper, sort_keys=False, width=_ONE_LINE, allow_unicode=True)
