"""The page of the environment variables: those that Paddock reads, and those that a rank gets. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from manual.reference.markdown import code, join, table
from manual.reference.reader import Reader

READ: Mapping[str, str] = {
    "PADDOCK_HOME": "The directory of the local cluster: jobs, logs, outputs. Default: `~/.local/state/paddock`.",
    "PADDOCK_CONSOLE": "As `--console` of every command that takes it.",
    "PADDOCK_CONSOLE_TOKEN": "The token by which the console of a cluster knows you, where your kubeconfig has none.",
    "PADDOCK_CONTEXT": "As `--context` of every command that takes it.",
    "PADDOCK_PROMETHEUS": "As `--prometheus` of `usage`, `doctor` and `operator`; best for an address with a password.",
    "PADDOCK_PROMETHEUS_TOKEN": "A bearer token for that Prometheus, sent over HTTPS or to this machine alone.",
    "KUBECONFIG": "Where a context is looked up, as kubectl does. Default: `~/.kube/config`.",
    "XDG_STATE_HOME": "In place of `~/.local/state`.",
    "XDG_CACHE_HOME": "In place of `~/.cache`, which has the environments.",
    "LC_ALL, LC_MESSAGES, LANG, LANGUAGE": "The language of every sentence: Chinese for `zh…`, else English.",
    "NO_COLOR": "No colours.",
    "COLUMNS": "The width of tables, where the output is no terminal.",
    "PIP_…, UV_…": (
        "The package index, certificates and proxies, for the environments that are built. uv's win over pip's."
    ),
    "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY": "Proxies, for the environments that are built.",
    "CUDA_VISIBLE_DEVICES": "Which GPUs of this machine the local cluster may use.",
    "PADDOCK_HUB_PYTHON": "In an image of `--datasets-image`: the Python that has the libraries of hubs.",
}
"""What `paddock` reads of the shell that it is typed in."""

PROGRAM: Mapping[str, str] = {
    "PADDOCK_OUTPUT_DIR": (
        "On a laptop, and on a cluster where the job names a claim (`--outputs`): where the program writes its results."
        " Each run has its own; `paddock outputs JOB` has them."
    ),
    "PADDOCK_CHECKPOINT_DIR": "Likewise, for what a later run may go on from (`--resume`).",
    "PADDOCK_METRICS": (
        'On a laptop: the rank\'s own file for its numbers, a JSON object in each line: `{"step": 3, "loss": 0.1}`.'
    ),
    "PADDOCK_ATTEMPT": "Which attempt this is, from 0.",
    "PADDOCK_SUBSTITUTE": "`1` where PyTorch's nccl may be replaced by gloo, as no GPU is there.",
    "PADDOCK_STACKS": (
        "On a laptop: `1`, by which a Python of an environment that Paddock has built can be asked where it is"
        " (`paddock stacks`); `0` in the container's `env` leaves that out."
    ),
    "PADDOCK_REHEARSAL": (
        "In a rehearsal (`paddock rehearse`) alone: how many steps are wanted, so that a program may shorten itself."
    ),
    "PADDOCK_TERMINATION_LOG": (
        "On a laptop: the file for the program's last words, in place of `/dev/termination-log`."
    ),
}
"""What every program of a job gets of Paddock."""

ENDED: Mapping[str, str] = {
    "PADDOCK_JOB": "The name of the job.",
    "PADDOCK_NAMESPACE": "Its namespace.",
    "PADDOCK_PHASE": "How it ended: `Completed`, `Failed`, `Cancelled` or `Suspended`.",
    "PADDOCK_CAUSE": "Why, as one sentence.",
    "PADDOCK_SECONDS": "How long it took.",
}
"""What the command of `paddock run --on-end` gets."""

PADDLE: Mapping[str, str] = {
    "PADDLE_TRAINER_ID": "The number of a worker, from 0. Parameter servers and heter ranks have none.",
    "PADDLE_PSERVER_ID": "The number of a parameter server, from 0.",
    "TRAINING_ROLE, PADDLE_TRAINING_ROLE": "`PSERVER`, `TRAINER` or `HETER_TRAINER`.",
    "POD_IP": "The address of the rank, in the form that it has in the endpoints.",
    "PADDLE_PORT": "The port of the job; it and the 19 after it are the job's.",
    "TRAINER_PORTS_NUM": "How many ports a program may use: 20.",
    "PADDLE_TRAINER_ENDPOINTS": "`host:port` of every worker, in the order of the ranks.",
    "PADDLE_PSERVERS_IP_PORT_LIST": "The same of every parameter server.",
    "PADDLE_HETER_ENDPOINTS": "The same of every heterogeneous worker.",
    "PADDLE_TRAINERS, PADDLE_TRAINERS_NUM": "The hosts of the workers, and their number.",
    "PADDLE_WITH_GLOO, PADDLE_GLOO_RENDEZVOUS, PADDLE_GLOO_HTTP_ENDPOINT": "Gloo, where `withGloo` asks for it.",
    "PADDLE_GLOO_FS_PATH": "On a laptop: where gloo's ranks meet, of workers that wait for their servers.",
    "PADDLE_LOG_DIR": "On a laptop: where the launcher writes its logs.",
    "PORT_RANGE": "On a laptop, and with `intranet: Host`: where the launcher takes free ports, 10000 to 19999.",
    "FLAGS_enable_pir_api": "`0` beside parameter servers, which need the older representation of programs.",
    "PADDLE_MASTER": "Of kubeflow.org: where ranks meet, the first worker.",
    "PADDLE_NNODES, PADDLE_RANK, PADDLE_JOB_ID": (
        "Of kubeflow.org: the number of pods, the pod's own number, the job's name."
    ),
    "PADDLE_SERVER_NUM, PADDLE_TRAINER_NUM": "Of kubeflow.org, beside Masters: 1 in each pod.",
    "POD_IP_DUMMY": "Of kubeflow.org: the address of the first rank, as Kubeflow sets it.",
    "STAGE_ID, STAGE_NUM, PADDLE_STAGE_TRAINERS_NUM, HETER_DEVICE_TYPE": (
        "Of the role `heter`: its stage and its device."
    ),
    "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST": "Of the role `heter`: the endpoints of its pods.",
    "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST, PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST": (
        "Of the role `heter`: the endpoints of the next stage and of the one before."
    ),
}
TORCH: Mapping[str, str] = {
    "MASTER_ADDR, MASTER_PORT": "Where ranks meet: the Master, or the first worker.",
    "WORLD_SIZE, RANK": "The number of processes, and the number of this pod.",
    "PET_MASTER_ADDR, PET_MASTER_PORT, PET_NODE_RANK, PET_NNODES, PET_NPROC_PER_NODE": (
        "The same for `torchrun`, as its options."
    ),
    "GROUP_RANK, NODE_RANK": (
        "Of several pods: the number of this one, as Lightning and Composer read it; not where the template sets them."
    ),
    "PET_RDZV_ENDPOINT, PET_RDZV_BACKEND, PET_RDZV_ID, PET_RDZV_CONF": (
        "With an `elasticPolicy`: where and how the agents meet."
    ),
    "PET_MAX_RESTARTS, PET_STANDALONE, PET_LOCAL_ADDR": "With an `elasticPolicy`: further options of `torchrun`.",
    "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": (
        "Of `torchrun`, where the pod's grace is longer than its own 30 seconds: the grace less 5. Read by torch 2.12 "
        "and later."
    ),
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": (
        "With an `elasticPolicy`: `1`, without which a job may hang after a lost pod."
    ),
    "PYTHONUNBUFFERED": (
        "`1`: lines are in the log as soon as they are printed. Also of the other kinds of kubeflow.org."
    ),
}
JAX: Mapping[str, str] = {
    "COORDINATOR_ADDRESS, COORDINATOR_PORT": "Where ranks meet: the first worker.",
    "NUM_PROCESSES, PROCESS_ID": "The number of pods, and the number of this one.",
}

WITHIN = frozenset(
    {
        "PADDOCK_CONTAINER",
        "PADDOCK_POD_UID",
        "PADDOCK_RANK",
        "PADDOCK_DIRECTORY",
        "PADDOCK_ERROR_FILE_OF",
        "PADDOCK_NAME_SECONDS",
        "PADDOCK_NOTE",
        "PADDOCK_FETCH",
        "PADDOCK_GIT_PASSWORD",
        "PADDOCK_GIT_USERNAME",
        "PADDOCK_IMAGE",
        "PADDOCK_FETCH_TERMINATION",
        "PADDOCK_FILL",
        "PADDOCK_REQUIREMENTS",
        "PADDOCK_SCRATCH",
    }
)
"""Variables between parts of Paddock, which nobody sets or reads."""

TABLES: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("What `paddock` reads", "Of the shell in which it is typed.", READ),
    (
        "What every program of a job gets",
        "Of the two directories, a value that the container sets itself wins.",
        PROGRAM,
    ),
    (
        "What a rank of PaddlePaddle gets",
        (
            "paddle-operator's variables; what the container sets itself is overwritten where ranks have to agree, and"
            " `paddock validate` warns of it."
        ),
        PADDLE,
    ),
    (
        "What a rank of PyTorch gets",
        "Kubeflow's variables; what the container sets itself wins, but for the number of a rank.",
        TORCH,
    ),
    ("What a rank of JAX gets", "Kubeflow's variables; `jax.distributed.initialize` takes them as arguments.", JAX),
    ("What the command of `--on-end` gets", "It is started without a shell when the job has ended.", ENDED),
)


def list_known() -> frozenset[str]:
    """Every name of the page, and those that nobody needs."""
    return frozenset(name for _, _, rows in TABLES for key in rows for name in key.split(", ")) | WITHIN


def find_ours(sources: Iterable[str]) -> frozenset[str]:
    """The names that begin with PADDOCK_ in the texts of modules."""
    return frozenset(name for source in sources for name in re.findall(r"\bPADDOCK_[A-Z_]*[A-Z]\b", source))


def build_variables(reader: Reader) -> str:
    say = reader.say
    parts = [
        part
        for title, text, rows in TABLES
        for part in (
            f"## {say(title)}",
            say(text),
            table(
                (say("Variable"), say("Meaning")),
                ((", ".join(map(code, names.split(", "))), say(means)) for names, means in rows.items()),
            ),
        )
    ]
    return join([f"# {say('Environment variables')}", *parts])
