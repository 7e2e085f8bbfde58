"""What `paddock run` and `paddock init` were asked for, as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from paddock.history.notes import Note
from paddock.launches.launch import Launch
from paddock.launches.reading import find_main, read_typed


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """A command and its options."""

    words: Sequence[str]
    """The command as typed."""
    framework: str = "paddle"
    """A key of `script.kinds.SCRIPT_KINDS`."""
    imports: frozenset[str] = frozenset()
    """The first parts of the modules that its programs import; some libraries need a variable."""
    rank_variables: bool = True
    """Whether the one worker of a PyTorchJob gets RANK, WORLD_SIZE and MASTER_ADDR
    (`script.pytorch_job.needs_variables`)."""
    alone: bool = False
    """All of its programs were read, and nothing in them could make it one of a group (`script.contents`)."""
    name: str = ""
    """--name; empty for the script's."""
    namespace: str = ""
    workers: int = 1
    servers: int = 0
    """Parameter servers; 0 is Collective training."""
    gpus: int = 0
    """GPUs of each worker."""
    cpus: str = ""
    """Of each rank, as a quantity: asked for, and no limit; empty for none."""
    memory: str = ""
    """Of each rank, as a quantity: asked for, and its limit; empty for none."""
    queue: str = ""
    """The queue that the job waits in; empty for none."""
    priority: str = ""
    """The PriorityClass of its ranks; empty for none."""
    shares: int = 0
    """How many ranks may share the GPU of a worker; 0 for none."""
    restarts: int = 0
    """How often a failed job is started again."""
    end_wait: int | None = None
    """Seconds after which ranks that run on are ended; None: never."""
    hold: int | None = None
    """Seconds that a failed rank is held for a shell; None: it is not."""
    mounts: str = ""
    """The annotation that names its datasets."""
    resume: str = ""
    """The value of the annotation that asks for checkpoints of an earlier run; empty for none."""
    outputs: str = ""
    """The claim for what its runs write, on a cluster; empty for none."""
    note: Note = field(default_factory=Note)
    """What is to be remembered of its run."""
    keeps_pods: bool = False
    """Whether pods that have ended stay with their logs, which on a cluster nothing else has (decision 85)."""
    image: str = ""
    """Empty for the default."""
    environment: str = ""
    """The name of an Environment; empty for the default."""
    requirements: str = ""
    """The file of the environment: that of -r, or one that lies beside the program. A manifest names it, relative to
    its own directory, where `environment` is empty."""
    directory: str = ""
    """Where the programs start on a laptop, absolute; empty for what the command line decides by itself."""
    variables: Sequence[tuple[str, str]] = ()
    """Variables that stand in the manifest."""
    secrets: Sequence[tuple[str, str]] = field(default=(), repr=False)
    """Variables that are in a Secret (`script.names.build_secret_name`): their values are never printed."""

    @property
    def launch(self) -> Launch:
        """What the command starts, behind its wrappers."""
        return find_main(read_typed(self.words))
