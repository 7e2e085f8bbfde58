"""The ways in which a directory and packages reach a cluster, and which one a job takes.

By a registry (--push: layers above the job's own image, `cli.submit.pushed_images`); else packages go by a claim of the
cluster, and a directory by a ConfigMap that the job owns, or by a claim where it is too large for one
(`cli.submit.claim_directories`). On the local cluster programs start where they are, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.cli.submit.push_options import Push
from paddock.cli.submit.sent_directories import Notify
from paddock.cli.submit.storage import Storage
from paddock.submission.documents import Checked
from paddock.words.phrases import Phrase

if TYPE_CHECKING:
    from paddock.cli.submit.claim_directories import Fill
    from paddock.cli.submit.pushed_images import PushedImages
    from paddock.kube.api import Api


@dataclass(frozen=True, slots=True)
class Sending:
    """What was typed of it."""

    workdir: str | None
    """The value of --workdir."""
    packages: Path | None
    """Of -r, where no registry takes them."""
    storage: Storage
    notify: Notify
    pushes: PushedImages | None
    """The images of --push."""


async def add_sent(api: Api, each: Checked, asked: Sending) -> tuple[list[Checked], list[Fill]]:
    """The document with what is sent for it, before it, and the claims that are to be filled. Raises `UserError`,
    `Failed`; writes nothing to the cluster."""
    if asked.pushes is not None and each.is_job:
        return [await asked.pushes.add(api, each)], []
    from paddock.cli.submit.claim_directories import add_claims  # late: of a cluster alone

    return add_claims([each], asked.workdir, asked.packages, asked.storage, asked.notify)


def open_pushes(
    push: Push | None, workdir: str | None, notify: Notify, show: Callable[[Phrase], None] = lambda said: None
) -> PushedImages | None:
    """What builds and sends the images of a submission; None without --push. `show` gets the progress at any time."""
    if push is None:
        return None
    from paddock.cli.submit.pushed_images import PushedImages  # late: no other command speaks to a registry

    return PushedImages(push, workdir, notify, show)
