"""The launchers of training programs, as tables: their options, what each says, and the variable that says the same.

Sources, read on 2026-11-27: paddle/distributed/launch/context/args_envs.py (3.0.0, 3.3.1) and fleet/launch.py (2.6.2 to
3.3.1); torch/distributed/run.py and launch.py (2.13); accelerate 1.15 commands/launch.py; deepspeed 0.19
launcher/runner.py; lightning-fabric 2.6 cli.py; horovod 0.28 runner/launch.py; Open MPI 5 mpirun(1); Slurm 25 srun(1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property


class Means(StrEnum):
    """What an option says."""

    NODES = "nodes"
    PROCESSES = "processes"
    """Of each node."""
    ALL_PROCESSES = "all processes"
    NODE_RANK = "node rank"
    MASTER = "master"
    """ADDRESS:PORT."""
    MASTER_ADDRESS = "master address"
    MASTER_PORT = "master port"
    BACKEND = "rendezvous backend"
    RUN = "run"
    """The name that tells two runs at one master apart."""
    HOSTS = "hosts"
    """The addresses of all nodes, or a file with them."""
    OWN_ADDRESS = "own address"
    STANDALONE = "standalone"
    """One node, whatever else is said."""
    DEVICES = "devices"
    RESTARTS = "restarts"
    LOGS = "logs"
    MODE = "mode"
    MODULE = "module"
    """What follows is a module."""
    PROGRAM = "program"
    """What follows is a program, not a Python file."""
    SERVERS = "servers"
    SERVER_COUNT = "server count"
    TRAINERS = "trainers"
    TRAINER_COUNT = "trainer count"
    HETER = "heter"
    """Heterogeneous workers of parameter servers."""
    ELASTIC = "elastic"
    OTHER = "other"


_LOOPBACK = re.compile(r"(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)(:\d+)?", re.IGNORECASE)


def is_loopback(text: str) -> bool:
    """Whether the address in an option is the machine itself, with a port or without one."""
    return _LOOPBACK.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option."""

    name: str
    """Without dashes, with `_` between its words."""
    means: Means = Means.OTHER
    variable: str = ""
    """The environment variable that says the same; empty without one."""
    is_flag: bool = False
    others: tuple[str, ...] = ()
    """Other names of it, as typed: `-m`, `--gpus`."""


@dataclass(frozen=True)
class Launcher:
    """A program that starts another one, on one or several ranks."""

    name: str
    """What people call it."""
    family: str
    """The framework whose variables it sets; empty where it is nobody's."""
    programs: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    """Words one of which stands behind the program: `launch` of accelerate."""
    options: Mapping[str, OptionSpec] = field(default_factory=dict)
    """By name."""
    variable_wins: bool = False
    """Whether an option's variable counts more than the option."""
    takes_prefixes: bool = False
    """Whether a beginning of an option stands for it where there is one such option (argparse)."""
    takes_command: bool = False
    """Whether a whole command follows, not a Python file."""
    by_dashes: bool = True
    """Whether `-` may stand for `_` in an option."""

    def find(self, typed: str) -> OptionSpec | None:
        """The option that a word before its `=` is; None for one that the launcher does not know, or cannot tell."""
        found = self.list_candidates(typed)
        return self._strings[found[0]] if len(found) == 1 else None

    def list_candidates(self, typed: str) -> list[str]:
        """The options that a word may be, as they are typed: one, none, or several for a beginning of several."""
        word = typed
        if self.by_dashes and typed.startswith("--"):
            word = "--" + typed[2:].replace("-", "_")
        if word in self._strings:
            return [word]
        if not self.takes_prefixes or not word.startswith("--") or len(word) < 3:
            return []
        return sorted(each for each in self._strings if each.startswith(word))

    @cached_property
    def _strings(self) -> Mapping[str, OptionSpec]:
        """Every way to type an option -> the option."""
        options = self.options.values()
        return {f"--{each.name}": each for each in options} | {name: each for each in options for name in each.others}


def _table(*rows: OptionSpec) -> Mapping[str, OptionSpec]:
    return {row.name: row for row in rows}


def _values(names: str) -> tuple[OptionSpec, ...]:
    return tuple(OptionSpec(name) for name in names.split())


def _flags(names: str) -> tuple[OptionSpec, ...]:
    return tuple(OptionSpec(name, is_flag=True) for name in names.split())


PADDLE = Launcher(
    "paddle.distributed.launch",
    "paddle",
    frozenset({"fleetrun"}),
    frozenset({"paddle.distributed.launch", "paddle.distributed.run"}),
    options=_table(
        OptionSpec("master", Means.MASTER, "PADDLE_MASTER"),
        OptionSpec("nnodes", Means.NODES, "PADDLE_NNODES"),
        OptionSpec("rank", Means.NODE_RANK, "PADDLE_RANK"),
        OptionSpec("nproc_per_node", Means.PROCESSES, "PADDLE_NPROC_PER_NODE"),
        OptionSpec("devices", Means.DEVICES, "PADDLE_DEVICES", others=("--gpus", "--npus", "--xpus")),
        OptionSpec("ips", Means.HOSTS, "PADDLE_IPS"),
        OptionSpec("host", Means.OWN_ADDRESS, "POD_IP"),
        OptionSpec("start_port", Means.MASTER_PORT, "PADDLE_START_PORT"),
        OptionSpec("job_id", Means.RUN, "PADDLE_JOB_ID"),
        OptionSpec("log_dir", Means.LOGS, "PADDLE_LOG_DIR"),
        OptionSpec("run_mode", Means.MODE, "PADDLE_RUN_MODE"),
        OptionSpec("max_restart", Means.RESTARTS, "PADDLE_MAX_RESTART"),
        OptionSpec("servers", Means.SERVERS, "PADDLE_SERVERS_ENDPOINTS"),
        OptionSpec("trainers", Means.TRAINERS, "PADDLE_TRAINERS_ENDPOINTS"),
        OptionSpec("server_num", Means.SERVER_COUNT, "PADDLE_SERVER_NUM"),
        OptionSpec("trainer_num", Means.TRAINER_COUNT, "PADDLE_TRAINER_NUM"),
        OptionSpec("elastic_level", Means.ELASTIC, "PADDLE_ELASTIC_LEVEL"),
        OptionSpec("elastic_timeout", Means.ELASTIC, "PADDLE_ELASTIC_TIMEOUT"),
        OptionSpec("gloo_port", variable="PADDLE_GLOO_PORT"),
        OptionSpec("with_gloo", variable="PADDLE_WITH_GLOO"),
        OptionSpec("log_level", variable="PADDLE_LOG_LEVEL"),
        OptionSpec("log_overwrite", variable="PADDLE_LOG_OVERWRITE"),
        OptionSpec("sort_ip", variable="PADDLE_SORT_IP"),
        OptionSpec("auto_parallel_config", variable="PADDLE_AUTO_PARALLEL_CONFIG"),
        OptionSpec("auto_cluster_config", variable="PADDLE_AUTO_CLUSTER"),
        *_values("legacy enable_gpu_log auto_tuner_json"),
        OptionSpec("help", is_flag=True, others=("-h",)),
    ),
    variable_wins=True,
    takes_prefixes=True,
    by_dashes=False,
)
"""Today's launcher of PaddlePaddle. Each of its options has a value, also what others would make a flag."""

OLD_PADDLE = Launcher(
    "paddle.distributed.fleet.launch",
    "paddle",
    modules=frozenset({"paddle.distributed.fleet.launch"}),
    options=_table(
        *_values("log_dir backend run_mode cluster_topo_path rank_mapping_path enable_auto_mapping"),
        *_values("http_port elastic_pre_hook job_id scale force"),
        OptionSpec("nproc_per_node", Means.PROCESSES),
        # those of GPUs are there with a wheel for CUDA, those of XPUs with one for XPUs
        *(OptionSpec(name, Means.DEVICES) for name in ("gpus", "xpus", "selected_gpus", "selected_xpus")),
        OptionSpec("ips", Means.HOSTS),
        OptionSpec("host", Means.OWN_ADDRESS),
        OptionSpec("servers", Means.SERVERS),
        OptionSpec("server_num", Means.SERVER_COUNT),
        OptionSpec("workers", Means.TRAINERS),
        OptionSpec("worker_num", Means.TRAINER_COUNT),
        OptionSpec("elastic_server", Means.MASTER),
        *_values("coordinators coordinator_num"),
        *(OptionSpec(name, Means.HETER) for name in ("heter_workers", "heter_worker_num", "heter_devices")),
    ),
    by_dashes=False,
)
"""The launcher of other years, which today's becomes where it meets an option that it does not know."""
OLD_DEVICES = frozenset({"selected_gpus", "selected_npus", "selected_xpus", "dcus"})
"""Options of launchers before 2.0 that name devices."""
OLD_PLACES = frozenset({"cluster_node_ips", "node_ip", "started_port"})
"""Options of launchers before 2.0 that say where a node stands. Each of both had a value."""

_OF_TORCH = (
    OptionSpec("nnodes", Means.NODES, "PET_NNODES"),
    OptionSpec("nproc_per_node", Means.PROCESSES, "PET_NPROC_PER_NODE"),
    OptionSpec("node_rank", Means.NODE_RANK, "PET_NODE_RANK"),
    OptionSpec("rdzv_backend", Means.BACKEND, "PET_RDZV_BACKEND"),
    OptionSpec("rdzv_endpoint", Means.MASTER, "PET_RDZV_ENDPOINT"),
    OptionSpec("rdzv_id", Means.RUN, "PET_RDZV_ID"),
    OptionSpec("rdzv_conf", variable="PET_RDZV_CONF"),
    OptionSpec("master_addr", Means.MASTER_ADDRESS, "PET_MASTER_ADDR"),
    OptionSpec("master_port", Means.MASTER_PORT, "PET_MASTER_PORT"),
    OptionSpec("local_addr", Means.OWN_ADDRESS, "PET_LOCAL_ADDR"),
    OptionSpec("standalone", Means.STANDALONE, "PET_STANDALONE", is_flag=True),
    OptionSpec("max_restarts", Means.RESTARTS, "PET_MAX_RESTARTS"),
    OptionSpec("log_dir", Means.LOGS, "PET_LOG_DIR"),
    OptionSpec("module", Means.MODULE, "PET_MODULE", is_flag=True, others=("-m",)),
    OptionSpec("no_python", Means.PROGRAM, "PET_NO_PYTHON", is_flag=True),
    OptionSpec("redirects", variable="PET_REDIRECTS", others=("-r",)),
    OptionSpec("tee", variable="PET_TEE", others=("-t",)),
    OptionSpec("help", is_flag=True, others=("-h",)),
    *_flags("run_path virtual_local_rank"),
    *_values("monitor_interval start_method event_log_handler role local_ranks_filter duplicate_stdout_filters"),
    *_values("duplicate_stderr_filters logs_specs numa_binding signals_to_handle shutdown_timeout"),
)
TORCHRUN = Launcher(
    "torchrun", "pytorch", frozenset({"torchrun"}), frozenset({"torch.distributed.run"}), options=_table(*_OF_TORCH),
    takes_prefixes=True,
)  # fmt: skip
TORCH_LAUNCH = Launcher(
    "torch.distributed.launch", "pytorch", modules=frozenset({"torch.distributed.launch"}),
    options=_table(*_OF_TORCH, *_flags("use_env")), takes_prefixes=True,
)  # fmt: skip
"""torchrun's predecessor: each program gets `--local-rank` as an argument, unless `--use-env` is given."""

ACCELERATE = Launcher(
    "accelerate launch",
    "pytorch",
    frozenset({"accelerate"}),
    frozenset({"accelerate.commands.launch"}),
    frozenset({"launch"}),
    _table(
        OptionSpec("num_machines", Means.NODES),
        OptionSpec("machine_rank", Means.NODE_RANK),
        OptionSpec("num_processes", Means.ALL_PROCESSES),
        OptionSpec("main_process_ip", Means.MASTER_ADDRESS),
        OptionSpec("main_process_port", Means.MASTER_PORT),
        OptionSpec("gpu_ids", Means.DEVICES),
        OptionSpec("max_restarts", Means.RESTARTS),
        OptionSpec("log_dir", Means.LOGS),
        OptionSpec("rdzv_backend", Means.BACKEND),
        OptionSpec("deepspeed_hostfile", Means.HOSTS),
        OptionSpec("mpirun_hostfile", Means.HOSTS),
        OptionSpec("module", Means.MODULE, is_flag=True, others=("-m",)),
        OptionSpec("no_python", Means.PROGRAM, is_flag=True),
        OptionSpec("quiet", is_flag=True, others=("-q",)),
        OptionSpec("tee", others=("-t",)),
        OptionSpec("help", is_flag=True, others=("-h",)),
        *_flags("cpu multi_gpu tpu enable_cpu_affinity dynamo_use_fullgraph dynamo_use_dynamic use_deepspeed use_fsdp"),
        *_flags(
            "dynamo_use_regional_compilation use_parallelism_config use_megatron_lm same_network tpu_cluster debug"
        ),
        *_flags("no_tpu_cluster tpu_use_sudo downcast_bf16 fp8_use_autocast_during_eval"),
    ),
    takes_prefixes=True,
)
DEEPSPEED = Launcher(
    "deepspeed",
    "pytorch",
    frozenset({"deepspeed", "ds"}),
    frozenset({"deepspeed.launcher.runner"}),
    options=_table(
        OptionSpec("num_nodes", Means.NODES),
        OptionSpec("num_gpus", Means.PROCESSES, others=("--num_accelerators",)),
        OptionSpec("node_rank", Means.NODE_RANK),
        OptionSpec("master_addr", Means.MASTER_ADDRESS),
        OptionSpec("master_port", Means.MASTER_PORT),
        OptionSpec("hostfile", Means.HOSTS, others=("-H",)),
        OptionSpec("include", Means.DEVICES, others=("-i",)),
        OptionSpec("exclude", Means.DEVICES, others=("-e",)),
        OptionSpec("module", Means.MODULE, is_flag=True),
        OptionSpec("no_python", Means.PROGRAM, is_flag=True),
        OptionSpec("quiet", is_flag=True, others=("-q",)),
        *_flags("no_local_rank no_ssh no_ssh_check force_multi save_pid bind_cores_to_rank"),
    ),
)
FABRIC = Launcher(
    "fabric run",
    "pytorch",
    frozenset({"fabric", "lightning"}),
    frozenset({"lightning", "lightning_fabric.cli", "lightning.fabric.cli"}),
    frozenset({"fabric", "run", "model"}),
    _table(
        OptionSpec("num_nodes", Means.NODES),
        OptionSpec("devices", Means.PROCESSES),
        OptionSpec("node_rank", Means.NODE_RANK),
        OptionSpec("main_address", Means.MASTER_ADDRESS),
        OptionSpec("main_port", Means.MASTER_PORT),
        *_values("accelerator strategy precision"),
    ),
)
COMPOSER = Launcher(
    "composer",
    "pytorch",
    frozenset({"composer"}),
    frozenset({"composer.cli.launcher"}),
    options=_table(
        OptionSpec("nproc", Means.PROCESSES, "LOCAL_WORLD_SIZE", others=("-n",)),
        OptionSpec("world_size", Means.ALL_PROCESSES, "WORLD_SIZE"),
        OptionSpec("node_rank", Means.NODE_RANK, "NODE_RANK"),
        OptionSpec("master_addr", Means.MASTER_ADDRESS, "MASTER_ADDR"),
        OptionSpec("master_port", Means.MASTER_PORT, "MASTER_PORT"),
        OptionSpec("module_mode", Means.MODULE, is_flag=True, others=("-m",)),
        OptionSpec("command_mode", Means.PROGRAM, is_flag=True, others=("-c",)),
        OptionSpec("stdout", Means.LOGS),
        OptionSpec("stderr", Means.LOGS),
        *_values("base_rank run_directory"),
        *_flags("verbose no_python"),
    ),
)
HOROVODRUN = Launcher(
    "horovodrun",
    "",
    frozenset({"horovodrun"}),
    frozenset({"horovod.runner.launch"}),
    options=_table(
        OptionSpec("num_proc", Means.ALL_PROCESSES, others=("-np",)),
        OptionSpec("hosts", Means.HOSTS, others=("-H",)),
        OptionSpec("hostfile", Means.HOSTS, others=("-hostfile",)),
        *_values("start_timeout network_interfaces network_interface output_filename config_file fusion_threshold_mb"),
        *_values("cycle_time_ms cache_capacity min_np min_num_proc max_np max_num_proc slots_per_host log_level"),
        *_values("elastic_timeout reset_limit timeline_filename mpi_args binding_args num_nccl_streams"),
        *_values("thread_affinity gloo_timeout_seconds host_discovery_script autotune_log_file"),
        OptionSpec("ssh_port", others=("-p",)),
        OptionSpec("ssh_identity_file", others=("-i",)),
    ),
    takes_command=True,
)
MPIRUN = Launcher(
    "mpirun",
    "",
    frozenset({"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"}),
    options=_table(
        OptionSpec("np", Means.ALL_PROCESSES, others=("-np", "-n", "-c", "--n")),
        OptionSpec("host", Means.HOSTS, others=("-H", "-host", "-hosts", "--hosts")),
        OptionSpec("hostfile", Means.HOSTS, others=("-hostfile", "-machinefile", "--machinefile", "-f")),
        OptionSpec("npernode", Means.PROCESSES, others=("-npernode", "-ppn", "-N")),
        OptionSpec("map_by", others=("-map-by",)),
        OptionSpec("bind_to", others=("-bind-to",)),
        OptionSpec("wdir", others=("-wdir", "-wd")),
        OptionSpec("x", others=("-x", "-env", "-genvlist")),
        *_values("prefix rank_by output_filename timeout"),
        *_flags("allow_run_as_root oversubscribe nooversubscribe use_hwthread_cpus report_bindings display_map quiet"),
        *_flags("display_allocation tag_output timestamp_output verbose nolocal"),
    ),
    takes_command=True,
)
"""Options with one value; `--mca KEY VALUE` and `-genv KEY VALUE` have two (`launch`)."""
SRUN = Launcher(
    "srun",
    "",
    frozenset({"srun"}),
    options=_table(
        OptionSpec("nodes", Means.NODES, "SLURM_NNODES", others=("-N",)),
        OptionSpec("ntasks", Means.ALL_PROCESSES, "SLURM_NTASKS", others=("-n",)),
        OptionSpec("ntasks_per_node", Means.PROCESSES, "SLURM_NTASKS_PER_NODE"),
        OptionSpec("nodelist", Means.HOSTS, others=("-w",)),
        OptionSpec("gpus_per_node", Means.DEVICES),
        OptionSpec("output", Means.LOGS, others=("-o",)),
        OptionSpec("error", Means.LOGS, others=("-e",)),
        OptionSpec("partition", others=("-p",)),
        OptionSpec("time", others=("-t",)),
        OptionSpec("cpus_per_task", others=("-c",)),
        OptionSpec("account", others=("-A",)),
        OptionSpec("job_name", others=("-J",)),
        OptionSpec("gpus", others=("-G",)),
        OptionSpec("qos", others=("-q",)),
        OptionSpec("constraint", others=("-C",)),
        *_values("gres mem container_image container_mounts container_workdir cpu_bind mpi export jobid chdir exclude"),
        *_values("gpus_per_task gpu_bind mem_per_cpu threads_per_core distribution reservation container_name wait"),
        *_values("input kill_on_bad_exit"),
        *(
            OptionSpec(name, is_flag=True, others=(short,))
            for name, short in (
                ("label", "-l"),
                ("unbuffered", "-u"),
                ("overcommit", "-O"),
                ("oversubscribe", "-s"),
                ("quiet", "-Q"),
                ("verbose", "-v"),
                ("preserve_env", "-E"),
                ("disable_status", "-X"),
                ("immediate", "-I"),
            )
        ),
        *_flags("exclusive exact overlap pty multi_prog no_kill container_writable container_readonly"),
    ),
    takes_command=True,
)
GONE_PADDLE = Launcher(
    "paddle.fluid",
    "paddle",
    modules=frozenset({"paddle.distributed.launch_ps", "paddle.fluid.launch", "paddle.fluid.distributed"}),
    takes_prefixes=False,
)
"""Modules that PaddlePaddle has had no more since 2.3."""
LAUNCHERS = (
    PADDLE, OLD_PADDLE, GONE_PADDLE, TORCHRUN, TORCH_LAUNCH, ACCELERATE, DEEPSPEED, FABRIC, COMPOSER, HOROVODRUN,
    MPIRUN, SRUN,
)  # fmt: skip
BY_PROGRAM: Mapping[str, Launcher] = {program: each for each in LAUNCHERS for program in each.programs}
_BY_MODULE: Mapping[str, Launcher] = {module: each for each in LAUNCHERS for module in each.modules}


def find_by_module(module: str) -> Launcher | None:
    """The launcher of `python -m module`."""
    return GONE_PADDLE if module.startswith("paddle.fluid.") else _BY_MODULE.get(module)
