"""What the claims of a job are asked of a cluster's storage (`cli.submit.claim_directories`), as typed."""

from __future__ import annotations

from dataclasses import dataclass

import click

from paddock.cli.cluster.errors import UserError
from paddock.words.phrases import phrase


@dataclass(frozen=True, slots=True)
class Storage:
    """As typed."""

    size: str = ""
    """The value of --storage, a quantity; empty for what is usual."""
    storage_class: str | None = None
    """The value of --storage-class; None for the cluster's default, empty for a volume of no class."""

    @property
    def is_asked(self) -> bool:
        return bool(self.size) or self.storage_class is not None


USUAL = Storage()


def read_size(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """The size of --storage. Raises `UserError`."""
    from paddock.kube.quantities import read_quantity

    if value is None:
        return ""
    try:
        if read_quantity(value) > 0:
            return value
    except ValueError:
        pass
    raise UserError(phrase("--storage: {found} is no size: write 20Gi", found=repr(value)))
