"""The addresses of datasets, for a console."""

from __future__ import annotations

from collections.abc import Sequence

from paddock.console.backend import ShownSource, WantedDataset
from paddock.datasets.manifests import Asked, build_manifest, find_problems
from paddock.datasets.sources import BadSource, hide, read_source
from paddock.kube.meta import Manifest
from paddock.words.phrases import Phrase, phrase


class KnownSources:
    """Implements `console.backend.Datasets`. `local`: of the cluster of this machine."""

    def __init__(self, *, local: bool) -> None:
        self._local = local

    def read(self, wanted: WantedDataset) -> Manifest | Sequence[tuple[str, Phrase]]:
        asked = Asked(
            wanted.name, wanted.uri, wanted.sha256, wanted.revision, wanted.endpoint, wanted.region, wanted.include,
            wanted.exclude, wanted.secret, wanted.size, wanted.storage_class,
        )  # fmt: skip
        problems = find_problems(asked)
        if wanted.uri.startswith("file://") and not self._local:
            uri = hide(wanted.uri)
            said = phrase("{uri} is a directory of this machine: pods of a cluster cannot mount it", uri=uri)
            problems.append(("uri", said))
        return problems or build_manifest(asked, wanted.namespace)

    def show(self, uri: str) -> ShownSource:
        try:
            source = read_source(uri)
        except BadSource:
            return ShownSource(hide(uri), "", copied=True)
        return ShownSource(source.shown, source.kind.value, source.copied)
