"""What of objects and logs may not leave the machine: values of variables that are called as secrets, of Secrets that a
pod takes into variables, credentials in texts. Pure.

What a secret is by its name says `script.secrets`, how a known value is taken out of a text
`node.runtime.hidden_values`: here both are laid over a bundle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from paddock.jobs.apis.last_valid import decode_spec, encode_spec
from paddock.kube.meta import Manifest
from paddock.node.runtime.container_env import Configs
from paddock.node.runtime.hidden_values import Hidden, read_hidden
from paddock.script.secrets import MASK, hide_in_output, hide_secrets, is_secret

_SHORTEST = 8
"""Characters of a variable's value that is looked for in other texts: `AUTH=true` hides no other true."""
_PLAIN = frozenset({"name", "namespace", "uid", "kind", "apiVersion", "resourceVersion", "phase", "type", "status"})
"""Fields by which objects are found and compared."""
_NAMED = frozenset({"data", "stringData", "annotations"})
"""Maps from a name to its value."""
_DROPPED = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})
_PACKED = "lastValidSpec"


def find_values(objects: Iterable[Any]) -> frozenset[str]:
    """The values of the variables in these objects that are called as secrets."""
    return frozenset(value for each in objects for value in _find_values(each) if len(value.strip()) >= _SHORTEST)


def _find_values(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        name, said = value.get("name"), value.get("value")
        if isinstance(name, str) and isinstance(said, str) and is_secret(name, said):
            yield said
        if isinstance(packed := value.get(_PACKED), str):
            yield from _find_values(decode_spec(packed) or {})
        for each in value.values():
            yield from _find_values(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _find_values(each)


def find_secrets(objects: Iterable[Any]) -> list[tuple[str, str]]:
    """The Secrets that variables of containers come from, and the key; an empty one where all of them are taken. From
    pods, the templates of a job and its last valid spec; sorted."""
    return sorted({found for each in objects for found in _find_secrets(each)})


def _find_secrets(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for source, has_key in (("secretRef", False), ("secretKeyRef", True)):
            named = value.get(source)
            if isinstance(named, Mapping) and isinstance(name := named.get("name"), str) and name:
                yield name, str(named.get("key") or "") if has_key else ""
        if isinstance(packed := value.get(_PACKED), str):
            yield from _find_secrets(decode_spec(packed) or {})
        for each in value.values():
            yield from _find_secrets(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _find_secrets(each)


def read_secrets(taken: Iterable[tuple[str, str]], configs: Configs) -> frozenset[str]:
    """The values of what `find_secrets` has found, as a container that takes all of it has them."""
    sources = [
        {"valueFrom": {"secretKeyRef": {"name": name, "key": key}}} if key else {"secretRef": {"name": name}}
        for name, key in taken
    ]
    return read_hidden({"spec": {"containers": [{"envFrom": sources, "env": sources}]}}, configs)


@dataclass(frozen=True)
class Hider:
    """Takes out of objects and texts what is secret."""

    known: Hidden = field(default_factory=Hidden)
    """Values that are hidden wherever they stand."""

    def hide_text(self, text: str) -> str:
        return hide_in_output(self.known.apply(text))

    def hide_log(self, text: bytes) -> bytes:
        hidden = self.known.read_tail(text, len(text)).decode("utf-8", "surrogateescape")
        return hide_in_output(hidden).encode("utf-8", "surrogateescape")

    def hide(self, value: Any, field_name: str = "") -> Any:
        """A copy of a JSON value; `field_name`: the field that it stands in."""
        if isinstance(value, Mapping):
            return self._hide_map(value, field_name)
        if isinstance(value, list | tuple):
            words = self._hide_words(value) if field_name in ("command", "args") else value
            return [self.hide(each) for each in words]
        if not isinstance(value, str) or field_name in _PLAIN:
            return value
        if field_name == _PACKED:
            spec = decode_spec(value)
            return encode_spec(self.hide(spec)) if spec is not None else ""
        return self.hide_text(value)

    def _hide_map(self, value: Mapping[str, Any], field_name: str) -> Manifest:
        found: Manifest = {}
        for name, each in value.items():
            if name == "managedFields" or (field_name == "annotations" and name in _DROPPED):
                continue
            masked = field_name in _NAMED and isinstance(each, str) and is_secret(str(name).replace("-", "_"))
            found[name] = MASK if masked else self.hide(each, str(name))
        named, said = value.get("name"), value.get("value")
        if isinstance(named, str) and isinstance(said, str) and is_secret(named, said):
            found["value"] = MASK
        return found

    def _hide_words(self, words: Iterable[Any]) -> list[Any]:
        """The words of a command: what stands behind an option that is called as secrets, and in each word."""
        hidden, is_value = list[Any](), False
        for word in words:
            if not isinstance(word, str):
                hidden.append(word)
                continue
            is_option = word.startswith("-")
            hidden.append(MASK if is_value and not is_option else hide_secrets(word))
            is_value = is_option and "=" not in word and is_secret(word.lstrip("-").replace("-", "_"))
        return hidden


def show_node(node: Mapping[str, Any]) -> Manifest:
    """The shape of a node: how large it is, what runs on it, who may. Without its addresses and images."""
    metadata, spec, status = (node.get(each) or {} for each in ("metadata", "spec", "status"))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            name: metadata[name] for name in ("name", "uid", "labels", "creationTimestamp") if name in metadata
        },
        "spec": {name: spec[name] for name in ("taints", "unschedulable") if name in spec},
        "status": {
            name: status[name] for name in ("capacity", "allocatable", "conditions", "nodeInfo") if name in status
        },
    }
