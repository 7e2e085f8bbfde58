"""Manifests and configurations of images as values: which of an index, what one has, one with more layers. Pure.

Sources: OCI image specification 1.1 (manifest, index, config); Docker's "Image Manifest V 2, Schema 2". Both are read,
and what is written has the form of the base image, as a registry may know one alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.images.errors import ImageError
from paddock.images.platforms import Platform
from paddock.words.phrases import Names, Phrase, phrase

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
ACCEPTED = (OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_LIST)
LARGEST_MANIFEST = 4 * 2**20
"""Bytes, also of a configuration: what registries have to take (OCI distribution, "Pushing Manifests")."""
_MOST_LAYERS = 125
"""Of overlayfs in containerd and Docker: 127 with the two that are added."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes in a registry by their digest: a layer or a configuration."""

    digest: str
    size: int
    media_type: str

    def describe(self) -> dict[str, Any]:
        return {"mediaType": self.media_type, "size": self.size, "digest": self.digest}


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer that is added."""

    blob: Blob
    diff_id: str
    """The digest of its archive before it was compressed."""
    what: str
    """What it holds, in the history of the image."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image of one platform in a registry."""

    digest: str
    is_oci: bool
    config: Mapping[str, Any]
    layers: tuple[Blob, ...]

    @property
    def layer_type(self) -> str:
        return OCI_LAYER if self.is_oci else DOCKER_LAYER

    @property
    def platform(self) -> Platform:
        variant = str(self.config.get("variant") or "")
        return Platform(str(self.config.get("architecture") or ""), str(self.config.get("os") or ""), variant)

    @property
    def variables(self) -> dict[str, str]:
        """The environment that its programs begin with."""
        listed = (self.config.get("config") or {}).get("Env") or ()
        return dict(each.partition("=")[::2] for each in map(str, listed))


@dataclass(frozen=True, slots=True)
class Changes:
    """What the configuration of a base image gets."""

    layers: tuple[Layer, ...]
    variables: Mapping[str, str]
    """Those that are set, with their whole new values."""
    directory: str
    """Where programs start; empty where the base image says it."""
    labels: Mapping[str, str]
    platform: Platform


def compute_digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def read_json(content: bytes, image: str) -> dict[str, Any]:
    """Raises `ImageError` for what is no JSON object: the registry is no registry, or broken."""
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise ImageError(phrase("{image}: what the registry has of it is no JSON, as a manifest is", image=image))
    return parsed


def is_index(manifest: Mapping[str, Any], media_type: str) -> bool:
    return (str(manifest.get("mediaType") or media_type)) in (OCI_INDEX, DOCKER_LIST) or "manifests" in manifest


def choose_manifest(index: Mapping[str, Any], platform: Platform, image: str) -> str:
    """The digest of the manifest for a platform. Raises `ImageError` where the image has none for it."""
    found: dict[str, Platform] = {}
    for each in _list(index.get("manifests")):
        about = each.get("platform")
        digest = str(each.get("digest") or "")
        if isinstance(about, Mapping) and about.get("os") not in (None, "unknown") and _DIGEST.fullmatch(digest):
            found[digest] = Platform(str(about.get("architecture")), str(about["os"]), str(about.get("variant") or ""))
    fitting = [digest for digest, each in found.items() if (each.system, each.architecture) == _names(platform)]
    if not fitting:
        raise ImageError(
            phrase(
                "{image} is for {platforms}, and the nodes are {platform}: name an image that is for them",
                image=image, platform=str(platform), platforms=Names(tuple(sorted(map(str, found.values())))),
            ),
            is_mistake=True,
        )  # fmt: skip
    return next((each for each in fitting if found[each].variant == platform.variant), fitting[0])


def _names(platform: Platform) -> tuple[str, str]:
    return platform.system, platform.architecture


def read_blobs(manifest: Mapping[str, Any], image: str) -> tuple[Blob, tuple[Blob, ...]]:
    """The configuration and the layers of a manifest. Raises `ImageError`."""
    if manifest.get("schemaVersion") == 1 or "fsLayers" in manifest:
        raise ImageError(
            phrase(
                "{image} has Docker's manifest of schema 1, which registries have not taken for years: pull it and "
                "push it once more with a Docker of today",
                image=image,
            ),
            is_mistake=True,
        )
    config, layers = manifest.get("config"), _list(manifest.get("layers"))
    found = [_read_blob(each) for each in ([config] if isinstance(config, Mapping) else []) + layers]
    if not isinstance(config, Mapping) or not layers or None in found:
        raise ImageError(phrase("{image} is no image of a container: its manifest has no layers", image=image))
    blobs = [each for each in found if each is not None]
    if len(blobs) - 1 > _MOST_LAYERS:
        raise ImageError(
            phrase(
                "{image} has {count} layers, and at most {most} leave room for those with packages and code",
                image=image, count=len(blobs) - 1, most=_MOST_LAYERS,
            ),
            is_mistake=True,
        )  # fmt: skip
    return blobs[0], tuple(blobs[1:])


def _read_blob(each: Mapping[str, Any]) -> Blob | None:
    digest, size = each.get("digest"), each.get("size")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest) or not isinstance(size, int) or size < 0:
        return None
    return Blob(digest, size, str(each.get("mediaType") or ""))


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def read_image(
    digest: str, manifest: Mapping[str, Any], media_type: str, config: Mapping[str, Any], image: str
) -> Image:
    """An image of its manifest and configuration. Raises `ImageError` where they do not fit together."""
    _, layers = read_blobs(manifest, image)
    roots = config.get("rootfs")
    diff_ids = roots.get("diff_ids") if isinstance(roots, Mapping) else None
    if not isinstance(diff_ids, list) or len(diff_ids) != len(layers):
        raise ImageError(phrase("{image} is no image of a container: its configuration does not fit its layers",
                                image=image))  # fmt: skip
    settings = config.get("config")
    if (
        not _is_a(Mapping, settings)
        or not _is_a(list, (settings or {}).get("Env"))
        or not _is_a(Mapping, (settings or {}).get("Labels"))
    ):
        raise ImageError(phrase("{image} is no image of a container: its configuration is none", image=image))
    return Image(digest, str(manifest.get("mediaType") or media_type) != DOCKER_MANIFEST, config, layers)


def _is_a(kind: type, value: object) -> bool:
    """Go writes what is empty as null."""
    return value is None or isinstance(value, kind)


def build_config(base: Image, changes: Changes) -> bytes:
    """The configuration of the base image with the layers. The same changes give the same bytes: `created` stays that
    of the base image."""
    config = dict(base.config)
    settings = dict(config.get("config") or {})
    settings["Env"] = [f"{name}={value}" for name, value in {**base.variables, **changes.variables}.items()]
    if changes.directory:
        settings["WorkingDir"] = changes.directory
    settings["Labels"] = {**(settings.get("Labels") or {}), **changes.labels}
    roots = config["rootfs"]
    config["config"] = settings
    config["rootfs"] = {**roots, "diff_ids": [*roots["diff_ids"], *(each.diff_id for each in changes.layers)]}
    history = [{"created_by": each.what, "comment": "paddock"} for each in changes.layers]
    if isinstance(config.get("history"), list):
        config["history"] = [*config["history"], *history]
    config.setdefault("os", changes.platform.system)
    config.setdefault("architecture", changes.platform.architecture)
    return json.dumps(config, separators=(",", ":")).encode()


def build_manifest(base: Image, config: Blob, layers: Sequence[Layer]) -> bytes:
    """The manifest of the base image's layers and those that are added, in the form of the base image."""
    return json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST if base.is_oci else DOCKER_MANIFEST,
            "config": config.describe(),
            "layers": [each.describe() for each in (*base.layers, *(each.blob for each in layers))],
        },
        separators=(",", ":"),
    ).encode()


def config_type(base: Image) -> str:
    return (
        "application/vnd.oci.image.config.v1+json" if base.is_oci else "application/vnd.docker.container.image.v1+json"
    )


def explain_other_platform(base: Image, platform: Platform, image: str) -> Phrase | None:
    """That an image without an index is for other machines than the nodes; None where it fits or does not say."""
    there = base.platform
    if not there.architecture or _names(there) == _names(platform):
        return None
    return phrase(
        "{image} is for {platforms}, and the nodes are {platform}: name an image that is for them",
        image=image, platforms=str(there), platform=str(platform),
    )  # fmt: skip
