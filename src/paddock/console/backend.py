"""What a console is given by the place where it runs: the API for each reader, and where it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from paddock.history.answers import KeptFile
from paddock.history.log_shelf import OpenLog
from paddock.history.notes import Note
from paddock.history.records import Damaged, RunRecord
from paddock.history.surroundings import Packages
from paddock.jobs.model import CauseRecord, Job, Settings
from paddock.kube.api import Api
from paddock.kube.meta import Manifest, Resource
from paddock.kube.times import Moment
from paddock.logs.metric_lines import Piece, Place
from paddock.submission.documents import Checked
from paddock.submission.prepared import Prepared
from paddock.words.phrases import Phrase

if TYPE_CHECKING:
    from paddock.console.oidc import Begun  # few consoles have a provider

WhyNot = Callable[[Api, Job, Moment], Awaitable[Sequence[CauseRecord]]]
"""What a job would wait for if it were created now; nothing if it would start. Raises `ApiError`."""
Prepare = Callable[[Api, Sequence[Checked], bool], Awaitable[Prepared]]
"""The documents of a text, and whether they are created then -> as they are sent here; for who only looks, without
what they begin with, as to read a large repository takes seconds. Raises `ApiError`; writes nothing."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The signed-in user."""

    id: str = ""
    """Cache key: objects of two ids are never mixed. The token's digest on a cluster; empty on a laptop, which has one
    reader."""
    name: str = ""
    """For the page; empty where it is not known."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the copy of a log lacks."""

    pod: str
    """Where the whole log is, in its `container`."""
    container: str
    stopped: int | None = None
    """Bytes at which copying has stopped, as there was no room for more; None while it goes on."""
    gaps: tuple[tuple[Moment, Moment], ...] = ()
    """The times between which lines were lost."""
    removed: bool = False
    """All of the copy gave way, and it is not copied again."""
    missed: tuple[Moment, Moment] | None = None
    """The pod was gone before its log was read to its end: when it had printed the last line that is here (0 where
    there is none), and when that was noticed. Whether it printed anything in between is not known."""


@dataclass(frozen=True, slots=True)
class KeptLog:
    """What one rank printed in one attempt."""

    id: str
    """No other log has it, in any run."""
    role: str
    index: int
    attempt: int
    size: int
    """Bytes, at the moment of asking."""
    modified: Moment
    """When it printed last, at the moment of asking."""
    left_out: LeftOut | None = None
    read_written: Callable[[Place], Piece] | None = field(default=None, compare=False, repr=False)
    """What the rank wrote to PADDOCK_METRICS since the last look, as much as is read at once; empty where there is no
    more. Blocks. None where nobody can read it."""

    @property
    def rank(self) -> str:
        return f"{self.role}-{self.index}"


@dataclass(frozen=True, slots=True)
class KeptRun:
    """The last run of a job."""

    logs: tuple[KeptLog, ...] = ()
    """By attempt, role and index."""
    failed: Mapping[int, str] = field(default_factory=dict)
    """By attempt: the rank that is said to have failed first, as far as it is known."""
    over: bool = False
    """Nothing more will be printed."""
    pruned: bool = False
    """Logs of it were removed."""
    causes: Mapping[int, CauseRecord] = field(default_factory=dict)
    """Why each attempt after the first was started."""
    begun: Mapping[int, Moment] = field(default_factory=dict)
    """When each attempt was first seen."""
    sizes: tuple[tuple[Moment, int], ...] = ()
    """Since when how many ranks trained together, oldest first."""
    steps: Mapping[int, tuple[Moment | None, Moment | None]] = field(default_factory=dict)
    """By attempt: when all its pods were on nodes, and when all its programs ran; None where nobody saw it come."""


class Logs(Protocol):
    """The logs of jobs, those of deleted pods and jobs as well, with the rights of one reader."""

    async def find(self, resource: Resource, namespace: str, name: str, uid: str) -> KeptRun | None:
        """The run with this UID; with an empty one the last that the name had. None if nothing is kept of it."""
        ...

    def open(self, log: KeptLog) -> AbstractContextManager[OpenLog]:
        """Opens a log for reading, looked through as far as it has grown. Blocks, so it belongs into a thread. Raises
        OSError."""
        ...


@dataclass(frozen=True, slots=True)
class RankUsage:
    """What one rank used in one attempt."""

    role: str
    index: int
    attempt: int
    times: Sequence[Moment]
    """The oldest first."""
    columns: Mapping[str, Sequence[float]]
    """Each as long as `times`. `cpu`: cores; `memory`: bytes; `gpu`: percent of the time in which its GPUs worked;
    `gpu_memory`: bytes. NaN where it has none."""

    @property
    def rank(self) -> str:
        return f"{self.role}-{self.index}"


@dataclass(frozen=True, slots=True)
class Used:
    """What the ranks of one run used."""

    ranks: tuple[RankUsage, ...] = ()
    measured: bool = True
    """False where nobody measures, as on a cluster without metrics.k8s.io."""
    since: Moment | None = None
    """What was used before is not known, as nobody looked; None where it is recorded from the first second on."""


class Metrics(Protocol):
    """What the ranks of jobs use and used, with the rights of one reader."""

    async def find(self, resource: Resource, namespace: str, name: str, uid: str, ranks: Collection[str]) -> Used:
        """What these ranks (`worker-0`) of the run with this UID used, by attempt; with an empty one of the last run.
        Raises `ApiError`."""
        ...


@dataclass(frozen=True, slots=True)
class Printing:
    """A job of a list."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    over: bool
    """It will print nothing more."""


@dataclass(frozen=True, slots=True)
class Spark:
    """The loss that rank 0 printed in its last attempt."""

    values: tuple[float, ...]
    """A few, the oldest first."""
    last: float
    epoch: int | None = None
    """Where the last value stood, as `step` of `steps`."""
    step: int | None = None
    steps: int | None = None


class Sparks(Protocol):
    """The loss of many jobs, with the rights of one reader."""

    def look(self, jobs: Iterable[Printing]) -> Mapping[str, Spark]:
        """What is known now, by UID; what is not known, or old, is read behind the page."""
        ...

    @property
    def reading(self) -> bool:
        """Whether more will be known in a moment."""
        ...


class EntryKind(StrEnum):
    """What stands in a directory."""

    DIRECTORY = "directory"
    FILE = "file"
    LINK = "link"
    OTHER = "other"
    """A FIFO, a socket, a device: it is shown and never opened."""


@dataclass(frozen=True, slots=True)
class OutputEntry:
    """One name of a directory of outputs."""

    name: str
    """As the system has it: a byte that is no UTF-8 is half of a surrogate (`os.fsdecode`)."""
    kind: EntryKind
    size: int | None = None
    """Bytes, of a file."""
    modified: Moment | None = None
    target: str = ""
    """Of a link, as it is written."""


@dataclass(frozen=True, slots=True)
class OutputList:
    """A part of one directory."""

    entries: tuple[OutputEntry, ...]
    count: int
    """Names that were found in all."""
    whole: bool = True
    """False where the directory has more names than are looked at."""
    order: str = "name"
    """By which it is sorted: `name`, `size`, `changed`; with `-` before it the other way round."""


@dataclass(frozen=True, slots=True)
class OutputRun:
    """The outputs of one run of a job."""

    mark: str
    """Of the run, in addresses."""
    number: int | None
    """None where nothing else is kept of the run."""
    started: Moment
    path: str
    """The directory, on the machine of the console."""
    has_results: bool = True
    """False while no program has written a result."""


class Unshown(Exception):
    """A file or directory of outputs that cannot be shown; `said`: why."""

    def __init__(self, said: Phrase) -> None:
        super().__init__(str(said))
        self.said = said


class Outputs(Protocol):
    """What jobs wrote, those that are deleted as well. Paths are relative to the directory of a run, without `..`, with
    `/` between their parts. Nothing outside of that directory is read, whatever links say."""

    async def find(self, resource: Resource, namespace: str, name: str, uid: str) -> Sequence[OutputRun]:
        """The runs of this job that have a directory, the newest first. `uid`: of the job that exists, or empty."""
        ...

    def list(self, run: OutputRun, path: str, order: str, begin: int, most: int) -> OutputList | None:
        """At most `most` names of a directory, from the one at `begin` on; None where `path` is no directory. Blocks.
        Raises `Unshown`."""
        ...

    def open(self, run: OutputRun, path: str) -> int:
        """A descriptor of a regular file, for reading, which the caller closes. Blocks. Raises `Unshown`."""
        ...

    def pack(self, run: OutputRun, path: str) -> Iterator[bytes]:
        """The files below a directory as a tar archive, in pieces, each of which blocks. What cannot be read is left
        out."""
        ...


@dataclass(frozen=True, slots=True)
class Extent:
    """The readings of one metric, over all attempts of rank 0."""

    last: float
    """As printed: it may be no number (`nan`)."""
    lowest: float | None
    """None where no number was printed."""
    highest: float | None
    """None where no number was printed."""


@dataclass(frozen=True, slots=True)
class RunList:
    """Runs that are kept."""

    runs: tuple[tuple[RunRecord, Note], ...] = ()
    """The oldest first, each with the note that counts."""
    damaged: tuple[Damaged, ...] = ()
    """Files of records and of notes that cannot be read."""


HeldRun = tuple[RunRecord, Job | None, Mapping[int, Moment]]
"""A run, its job (None where its manifest cannot be read), and when a rank of each attempt was last seen to use
something (`views.usage.read_run`)."""


class Runs(Protocol):
    """What ran, beyond jobs and pods, with the rights of one reader."""

    async def read(self, namespace: str = "", name: str = "") -> RunList:
        """Of all namespaces, of one, or of one name. Nothing but the records is read."""
        ...

    def look(self, runs: Iterable[RunRecord]) -> Mapping[str, Mapping[str, Extent]]:
        """The metrics of runs as far as they are known now, by UID and name; what is not known, or old, is read behind
        the page."""
        ...

    @property
    def reading(self) -> bool:
        """Whether more will be known in a moment."""
        ...

    def read_packages(self, digest: str) -> Packages | None:
        """The packages of a digest of a record; None where the set is not kept. Blocks, so it belongs into a thread."""
        ...

    async def write_note(self, run: RunRecord, note: Note, seen: str) -> None:
        """Replaces the note whose digest is `seen`. Raises `history.note_files.Stale`, `RunGone`, OSError."""
        ...


class KeptReader(Protocol):
    """What is kept of a cluster, for one token: nothing of which the API does not say now that its owner may see it.
    Raises `Forbidden`, `Unauthorized`, `ApiError`."""

    async def list_runs(self, namespace: str, name: str, most: int) -> tuple[Sequence[RunRecord], int]:
        """The newest runs of a namespace, or of one name, oldest first, and how many older ones are left out. What
        stands in logs (metrics) is theirs alone who may read logs."""
        ...

    async def list_logs(self, namespace: str, name: str, uid: str, most: int) -> tuple[Sequence[KeptFile], int]:
        """The logs of the runs of a name, or of one of them, and how many are left out."""
        ...

    async def open(self, namespace: str, directory: str, file: str) -> int | None:
        """A descriptor of a log, or of the marks beside it, by the names of `list_logs`, which the caller closes; None
        where it is not kept."""
        ...


class KeptForPrograms(Protocol):
    """How programs reach what is kept: `console.kept_answers` serves it."""

    def find(self, token: str) -> KeptReader | None:
        """The reader of a token that the API took a moment ago."""
        ...

    async def enter(self, token: str) -> KeptReader:
        """Raises `Unauthorized` if the API does not take this token; `ApiError`."""
        ...


@dataclass(frozen=True, slots=True)
class Drawing:
    """A program that draws what a run has written for it."""

    tool: str
    """Its name in addresses: `tensorboard`, `visualdl`."""
    title: str
    files: int


class BoardPhase(StrEnum):
    """How far a board is."""

    INSTALLING = "Installing"
    STARTING = "Starting"
    OPEN = "Running"
    ENDED = "Ended"


@dataclass(frozen=True, slots=True)
class Board:
    """TensorBoard or VisualDL over the outputs of one run, at the moment of asking."""

    id: str
    """In addresses."""
    resource: Resource
    namespace: str
    job: str
    mark: str
    """Of the run."""
    tool: str
    title: str
    phase: BoardPhase
    said: Phrase
    """What is done, or why it has ended."""
    printed: str = ""
    """The last lines of a program that has ended by itself."""
    port: int = 0
    """Where it listens, once it is open."""
    unboxed: str = ""
    """Why it runs without a sandbox; empty where it has one."""


class Boards(Protocol):
    """The boards that readers of this console have begun. Each is open to who is signed in here, and ends with the
    console, and when nobody has looked for half an hour."""

    def find(self, run: OutputRun, resource: Resource, namespace: str, name: str) -> Sequence[Drawing]:
        """What can be drawn of a run. Blocks."""
        ...

    async def begin(
        self, run: OutputRun, resource: Resource, namespace: str, name: str, tool: str, language: str
    ) -> Board:
        """The board of this run, which is begun if it is not there. `language`: of its pages. Raises `Unshown` where
        there is nothing to draw, or where so many are open that no more are begun."""
        ...

    def list(self, resource: Resource, namespace: str, name: str) -> Sequence[Board]:
        """Those of one job, the newest first."""
        ...

    def look(self, id: str) -> Board | None: ...

    def make_link(self, id: str) -> str:
        """An address that lets in, once, whoever asks for it soon; empty where it is not open."""
        ...

    async def end(self, id: str) -> None:
        """Returns when nothing is left of it."""
        ...

    async def close(self) -> None:
        """Ends all of them."""
        ...

    @property
    def last_request(self) -> Moment:
        """When somebody looked at one of them last, or began one."""
        ...


class Rights(Protocol):
    """What one reader may do, for buttons that are greyed. The API decides when the reader does it."""

    async def may(self, verb: str, resource: Resource, namespace: str, subresource: str = "") -> bool:
        """Whether the reader may do this, by the verbs of Kubernetes (`patch`, `delete`, `create`). True where it is
        not known."""
        ...


class TokenLogin(Protocol):
    """How the readers of a cluster sign in: each with a token of the cluster, which this alone remembers."""

    async def enter(self, token: str) -> Identity:
        """The identity of a token's owner. Raises `Unauthorized`, and `ApiError` if the API does not say."""
        ...

    async def look(self, identity: Identity) -> None:
        """Raises `Unauthorized` if the API does not take this reader's token any more; `ApiError`."""
        ...

    async def leave(self, identity: Identity) -> None:
        """The reader's last session has ended: the token is forgotten."""
        ...


class IdentityProvider(Protocol):
    """Where readers of a cluster may sign in, in place of pasting a token: by OpenID Connect."""

    @property
    def host(self) -> str:
        """How pages call it."""
        ...

    async def begin(self, redirect: str, following: str) -> tuple[Begun, str]:
        """A sign-in that begins, and the address to which the browser goes; it comes back to `redirect`, and the reader
        goes on to `following`. Raises `oidc.Refused`."""
        ...

    async def finish(self, begun: Begun, query: str) -> Identity:
        """Who has signed in. `query`: what the browser has brought back. Raises `oidc.Refused`; `Unauthorized` if the
        cluster does not take who the provider vouches for, `ApiError` if its API does not say."""
        ...

    def why_over(self, identity: Identity) -> Phrase | None:
        """Why this reader's sign-in could not be renewed; None if it was, or was not by this provider."""
        ...


@dataclass(frozen=True, slots=True)
class Backend:
    """What a console is given. An optional part is None where the place does not have it."""

    name: str
    """Of the cluster, in the head of each page."""
    local: bool
    """The embedded cluster of this machine."""
    connect: Callable[[Identity], Api]
    """The API with the rights of a reader."""
    options: str = ""
    """What a `paddock` command needs to reach it (` --context prod`)."""
    kubectl: str = "kubectl"
    """With its options."""
    namespace: str = "default"
    """Proposed to a reader who may not look into all."""
    logs: Callable[[Identity], Logs] | None = None
    """What is kept of the jobs that this reader may see."""
    metrics: Callable[[Identity], Metrics] | None = None
    """What the ranks of these jobs use."""
    sparks: Callable[[Identity], Sparks] | None = None
    """The loss of many of these jobs at once."""
    runs: Callable[[Identity], Runs] | None = None
    """The history of these jobs. None on a cluster of which no runs are kept."""
    held: Callable[[Moment, str], Awaitable[tuple[Sequence[HeldRun], Phrase]]] | None = None
    """(since, namespace or empty) -> the runs that are kept, and what was looked at. None on a cluster, where the jobs
    tell what was held that are still there."""
    kept: KeptForPrograms | None = None
    """The same for programs, by the token of each request; None where no runs are kept, and on a laptop, where they
    read the files."""
    list_troubles: Callable[[], Sequence[Phrase]] | None = None
    """Why something is not kept that should be, for who looks at what is; None where nothing is kept."""
    why_not: WhyNot | None = None
    prepare: Prepare | None = None
    """What `paddock run FILE` does with a file; None where it sends what is written."""
    rights: Callable[[Identity], Rights] | None = None
    """None where the reader may do all that the API can."""
    read_build_log: Callable[[Manifest], Awaitable[str]] | None = None
    """(Environment) -> the end of what its build printed, without passwords; empty before there was one. None on a
    cluster, which has no environments."""
    token_login: TokenLogin | None = None
    """None where one signs in with a link that a command prints."""
    provider: IdentityProvider | None = None
    """Beside `token_login`: where its readers may sign in too."""
    silent_since: Callable[[Identity], Moment | None] | None = None
    """Since when the API has not answered this reader; None while it does."""
    find_outputs: Callable[[Manifest], str] | None = None
    """The directory of a job's outputs on this machine, empty while it has none."""
    outputs: Outputs | None = None
    """What jobs wrote; None on a cluster, where it lies in claims."""
    boards: Boards | None = None
    """None where there are no outputs to draw."""
    settings: Settings | None = None
    """Of the cluster's operator; None where they are read from its Lease."""
    clusters: Mapping[str, Backend] = field(default_factory=dict)
    """Of what shows several clusters together: what it is given of each, by context."""
