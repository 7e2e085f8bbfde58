"""What becomes of a Dataset that is there: the same, another source, or fetched again. As merge patches. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.kube.meta import Manifest, version_of


def is_same_spec(written: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Whether a manifest says nothing else than what is stored. A `round` that it does not say is whatever it is."""
    ours, theirs = _read_spec(written), _read_spec(stored)
    return {"round": theirs.get("round", 0), **ours} == {"round": 0, **theirs}


def _read_spec(manifest: Mapping[str, Any]) -> dict[str, Any]:
    spec = {name: value for name, value in (manifest.get("spec") or {}).items() if value is not None}
    for part in ("source", "storage"):
        spec[part] = {name: value for name, value in (spec.get(part) or {}).items() if value is not None}
    return spec


def asks_for_another_claim(written: Manifest, stored: Manifest) -> bool:
    """Whether a manifest says another claim than the one that is stored, which has files and stays."""
    asked = written["spec"]
    return "storage" in asked and asked["storage"] != stored["spec"].get("storage")


def build_replacement(written: Manifest, stored: Manifest) -> Manifest:
    """The patch by which a Dataset has the source of another manifest, and nothing of its own that this does not say;
    refused by the server (`Conflict`) if it is no longer as it is stored here."""
    source = {**dict.fromkeys(stored["spec"].get("source") or {}), **written["spec"]["source"]}
    return {"metadata": {"resourceVersion": version_of(stored)}, "spec": {"source": source}}


def build_rerun(fetched: int) -> Manifest:
    """The patch by which a Dataset is fetched again. `fetched`: its `round` so far."""
    return {"spec": {"round": fetched + 1}}
