"""YAML for people to read, which kubectl reads back as the same values. Pure.

PyYAML leaves quotes away where its own resolvers see text; kubectl reads more forms as truth values and numbers:
`y` and `1e-3` (see `manifests.scalars`). Such a text is written in quotes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from paddock.kube.printable import show
from paddock.manifests.scalars import TAG, read_scalar

ONE_LINE = 2**31 - 1
"""Characters: a text stays on its line."""

# libyaml writes the same text in a third of the time; a PyYAML that was built without it has no such name.
_FASTEST: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write_yaml(documents: Iterable[Mapping[str, Any]], *, sort_keys: bool = False) -> str:
    """The documents, separated by `---`, without anchors; their keys in their own order, or sorted."""
    dumped = (
        yaml.dump(each, Dumper=_Dumper, sort_keys=sort_keys, allow_unicode=True, width=ONE_LINE) for each in documents
    )
    return "---\n".join(map(show, dumped))


def represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """A representer of `str` for a dumper of PyYAML: in quotes what kubectl would not read as this text; in double
    quotes what a terminal acts on, as YAML reads there what `kube.printable.show` makes of what is dumped."""
    if show(text) != text:
        return dumper.represent_scalar(f"{TAG}str", text, style='"')
    return dumper.represent_scalar(f"{TAG}str", text, style=None if read_scalar(text) == text else "'")


class _Dumper(_FASTEST):  # type: ignore[misc, valid-type]
    """Writes shared parts in full instead of YAML anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


_Dumper.add_representer(str, represent_text)
