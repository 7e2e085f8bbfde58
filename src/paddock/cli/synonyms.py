"""Words of other tools (docker, kubectl, Slurm, SkyPilot) in the place of a verb, and the verb that does it here. Pure.

`cli.main` asks only for words that are no verb of Paddock.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from paddock.words.phrases import Phrase, phrase

_ENDS = phrase(
    "`paddock cancel {job}` ends a job and keeps it listed, `paddock delete {job}` removes it too, `paddock down` "
    "stops the local cluster"
)
_STARTS = phrase("`paddock run job.yaml` and `paddock run -- python train.py` train and follow, `paddock submit "
                 "job.yaml` comes back at once")  # fmt: skip

_ROWS: tuple[tuple[tuple[str, ...], Phrase], ...] = (
    (("ps", "pods", "pod"), phrase("`paddock get pods` lists pods, `paddock get` jobs")),
    (
        ("list", "ls", "jobs", "job"),
        phrase("`paddock get` lists jobs, and why each waits or failed"),
    ),
    (
        ("squeue", "qstat", "queued", "queues", "waiting", "pending"),
        phrase("`paddock queue` lists what runs and what waits for room, in order, and why"),
    ),
    (("stop", "kill", "rm", "remove", "abort", "scancel"), _ENDS),
    (("apply", "create", "launch", "start", "train", "deploy", "srun"), _STARTS),
    (
        ("sbatch",),
        phrase("`paddock init --from {job}` writes the job of a batch script, and `paddock run job.yaml` trains it"),
    ),
    (
        ("ssh", "rsh", "enter", "terminal"),
        phrase("`paddock shell {job}` opens a shell in a pod, `paddock exec {job} -- nvidia-smi` runs one command"),
    ),
    (
        ("attach",),
        phrase("`paddock logs {job} -f` shows what its ranks print, `paddock shell {job}` opens a shell beside them"),
    ),
    (
        ("port-forward", "portforward", "tunnel", "proxy", "expose"),
        phrase("`paddock forward {job} 8080` leads a port of this machine to one of a pod"),
    ),
    (
        ("nodes", "node", "gpus", "info", "sinfo"),
        phrase("`paddock status` shows what the cluster runs on, `paddock queue` what of it is free"),
    ),
    (("log", "tail", "follow"), phrase("`paddock logs {job} -f` shows what its ranks print")),
    (
        ("pstack", "py-spy", "gstack", "hang", "stuck", "where"),
        phrase("`paddock stacks {job}` shows where each of its ranks is"),
    ),
    (
        ("stats", "htop", "nvidia-smi", "sstat"),
        phrase("`paddock top {job}` shows what each rank uses: processors, memory, GPUs"),
    ),
    (
        ("sreport", "sacct", "accounting", "cost", "costs", "report", "gpu-hours"),
        phrase("`paddock usage` adds up the hours of GPUs and cores that jobs have held, `paddock history` lists runs"),
    ),
    (("show", "inspect"), phrase("`paddock describe {job}` shows everything about one job")),
    (("why", "debug", "events"), phrase("`paddock explain {job}` says why a job waits, restarts or failed")),
    (
        ("rehearsal", "simulate", "dry-run", "dryrun", "try", "smoke", "preflight"),
        phrase("`paddock rehearse job.yaml` starts all ranks of a cluster's job on this machine, for two steps"),
    ),
    (("check", "lint", "verify"), phrase("`paddock validate job.yaml` finds every mistake, without a cluster")),
    (
        ("restart", "retry", "rerun"),
        phrase(
            "`paddock run` of the same file or script runs it again, under the same name; `paddock clone {job}` makes "
            "another one"
        ),
    ),
    (("diff", "versus"), phrase("`paddock compare {job}` shows its last two runs side by side")),
    (("pause", "hold"), phrase("`paddock suspend {job}` ends its pods and keeps the job, to be resumed later")),
    (("unpause", "release", "continue"), phrase("`paddock resume {job}` lets a suspended job go on")),
    (
        ("cp", "scp", "rsync", "download", "pull"),
        phrase(
            "`paddock outputs {job}` names the directory with what a job has written; `paddock exec {job} -- cat FILE` "
            "prints another file of a pod"
        ),
    ),
    (("copy", "duplicate"), phrase("`paddock clone {job}` makes a new job like one that is there")),
    (("ui", "web", "dashboard", "open", "browser"), phrase("`paddock console` opens the console in the browser")),
    (
        ("tensorboard", "visualdl", "vdl", "boards"),
        phrase("`paddock board {job}` shows in TensorBoard or VisualDL what it has written"),
    ),
    (
        ("envs", "environment", "environments", "image", "images"),
        phrase("`paddock get env` lists environments, `paddock env --help` says how one is made"),
    ),
    (
        ("prune", "gc", "cleanup", "clear", "purge", "du", "df", "disk"),
        phrase("`paddock clean --dry-run` shows what takes room on the disk, `paddock clean` removes what may go"),
    ),
    (
        ("edit", "patch", "scale"),
        phrase(
            "change the file and `paddock run` it again, or change a running job with kubectl (`export "
            "KUBECONFIG=$(paddock kubeconfig)`)"
        ),
    ),
    (
        ("context", "use-context", "login"),
        phrase("`paddock --context NAME …` takes the cluster of that name in a kubeconfig"),
    ),
)
_BY_WORD: Mapping[str, Phrase] = {word: said for words, said in _ROWS for word in words}
SYNONYMS = frozenset(_BY_WORD)

_STARTERS = frozenset({"python", "python3", "torchrun", "bash", "sh"})
_MANIFESTS = (".yaml", ".yml", ".json")


def advise_verb(typed: Sequence[str]) -> Phrase | None:
    """What to type in place of `paddock <typed …>`, whose first word is no verb; None for a word that nobody knows."""
    word, *others = typed
    if word.endswith(_MANIFESTS):
        return phrase("`{command}` runs a manifest", command=shlex.join(["paddock", "run", *typed]))
    if word.endswith(".py"):
        return phrase("`{command}` runs a script", command=shlex.join(["paddock", "run", "--", "python", *typed]))
    if word in _STARTERS:
        return phrase("`{command}` runs a script", command=shlex.join(["paddock", "run", "--", *typed]))
    if word.lower() not in _BY_WORD:
        return None
    named = others[0].partition(":/")[0] if others and not others[0].startswith("-") else ""
    return replace(_BY_WORD[word.lower()], args=(("job", shlex.quote(named) if named else "JOB"),))
