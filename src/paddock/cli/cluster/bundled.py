"""A bundle as the place of a job: nothing is started, reached or written, and it is always the moment at which it was
made."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from paddock.app.bundles.archive import BadBundle, unpack
from paddock.app.bundles.client import BundleClient
from paddock.app.bundles.contents import Bundle, Place, read_shortage
from paddock.app.bundles.kept import BundledHistory
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import ClusterChoice, Notify
from paddock.cli.output.language import localized
from paddock.cli.output.local_times import localize_times
from paddock.cli.output.streams import print_notice
from paddock.kube.errors import NotFound
from paddock.kube.times import Moment, format_time
from paddock.views.flags import LOCAL, Flags
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.client.kubeconfig import Config
    from paddock.kube.api import PodApi
    from paddock.views.rooms import Rooms
    from paddock.views.stored import StoredJob
    from paddock.words.phrases import Phrase

T = TypeVar("T")
_NOT_ONE = (
    ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError, msgspec.MsgspecError,
)  # fmt: skip
"""What code raises that is written for the objects of a Kubernetes, of one that is none."""


@dataclass(frozen=True, slots=True)
class Bundled:
    """The cluster of a bundle, as it was."""

    bundle: Bundle

    @property
    def flags(self) -> Flags:
        return build_flags(self.bundle.head.place)

    @property
    def home(self) -> None:
        return None

    @property
    def kept(self) -> BundledHistory | None:
        return BundledHistory(self.bundle) if self.bundle.head.place.local else None

    def find_copies(self) -> BundledHistory:
        return BundledHistory(self.bundle)

    def now(self) -> Moment:
        return self.bundle.head.made

    def start(self, *, sandbox: str = "auto") -> None:
        """Does nothing."""

    def read_config(self) -> Config:
        raise NotFound("a bundle has no server")

    async def attend(self, client: Client, job: StoredJob, notify: Notify) -> Phrase:
        raise NotFound("a bundle has no server")

    def find_outputs(self, job: StoredJob) -> Path | None:
        return None

    def find_room(self) -> Rooms | None:
        from paddock.views.rooms import NO_ROOMS, Rooms, explain_unseen

        if (room := self.bundle.head.room) is None:
            return NO_ROOMS
        known = None if room.shortage is None else read_shortage(room.shortage)
        return Rooms(unseen=explain_unseen(room.unseen) if room.unseen else None, known=known)

    def find_directory(self, job: StoredJob) -> None:
        return None

    def find_other_settings(self) -> list[str]:
        return []


def build_flags(place: Place) -> Flags:
    """As `places.build_cluster` builds them of what was typed there. Pure."""
    if place.local:
        return LOCAL
    file = f" --kubeconfig {shlex.quote(place.kubeconfig)}" if place.kubeconfig else ""
    name = f" --context {shlex.quote(place.context)}" if place.context else ""
    return Flags(file + name or " --context ''", place.namespace, f"kubectl{file}{name}")


def open_bundle(file: str) -> Bundle:
    """Raises `UserError` for a file that cannot be read, or is no bundle."""
    try:
        with Path(file).open("rb") as reader:
            return unpack(reader)
    except BadBundle as error:
        raise UserError(phrase("{file}: {why}", file=file, why=error.said)) from None
    except OSError as error:
        raise UserError(phrase("{file} cannot be read: {why}", file=file, why=explain_unreadable(error))) from None


def run_with_bundle(file: str, work: Callable[[PodApi, ClusterChoice, str, str], Coroutine[Any, Any, T]]) -> T:
    """Runs `work` with the client and the place of a bundle, and the namespace and the name of its job. Raises
    `UserError` for a file that is no bundle, also where its objects are none of a Kubernetes."""
    bundle = open_bundle(file)
    head = bundle.head
    made = phrase(
        "{file}: {job} as it was at {time} (paddock {version}); commands that are named are for where it was made",
        file=file, job=f"{head.job.namespace}/{head.job.name}", time=_show_time(head.made), version=head.paddock,
    )  # fmt: skip
    print_notice(localize_times(localized(made)))

    try:
        return asyncio.run(work(BundleClient(bundle), Bundled(bundle), head.job.namespace, head.job.name))
    except _NOT_ONE as error:
        # A stranger writes what he likes: one sentence, as for each other file that is none.
        raise UserError(
            phrase("{file}: an object in it is not as a Kubernetes writes it ({why})", file=file,
                   why=type(error).__name__)
        ) from error  # fmt: skip


def _show_time(moment: Moment) -> str:
    try:
        return format_time(moment)
    except (ValueError, OverflowError, OSError):
        return "?"
