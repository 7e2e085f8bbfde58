"""Service accounts of Paddock itself in a job beside it: `jobs.needs` creates no pod of such a job."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from paddock.kube.meta import Key
from paddock.kube.service_accounts import find_use
from paddock.kube.validation.field_errors import Code
from paddock.manifests.parts import Part, mapping
from paddock.words.phrases import phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told


def check_accounts(parts: Sequence[Part], manifest: Mapping[str, Any], own: Collection[Key]) -> Iterator[Problem]:
    """`own`: the accounts of Paddock, empty where they are not known; of each role the first field."""
    namespace = mapping(manifest.get("metadata")).get("namespace")
    for part in parts:
        if use := find_use(part.spec, str(namespace), own):
            said = (
                phrase(
                    'found "{name}", the Secret of a token of {account}, the service account of Paddock itself in '
                    "namespace {namespace}: no pod is created that could do what Paddock may. Any other Secret is "
                    "allowed; take it out, or create the job in another namespace",
                    name=use.name, account=use.account, namespace=str(namespace),
                )
                if use.by_token
                else phrase(
                    'found "{name}", the service account of Paddock itself in namespace {namespace}: no pod is created '
                    "that could do what Paddock may. Any other account is allowed, and none at all; change it, or "
                    "create the job in another namespace",
                    name=use.name, namespace=str(namespace),
                )
            )  # fmt: skip
            yield told(f"{part.spec_path}.{use.path}", said, use.name, code=Code.FORBIDDEN)
