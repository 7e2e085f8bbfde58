"""Configurations of programs and of continuous integration, taken for manifests: what each is, by its keys. Pure.

Keys are those of GitHub's page "Workflow syntax", GitLab's "CI/CD YAML syntax reference", accelerate 1.15
(`commands/config/config_args.py`) and DeepSpeed 0.19 ("DeepSpeed Configuration JSON").
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from paddock.words.phrases import Phrase, phrase

_OF_DEEPSPEED = frozenset({
    "zero_optimization", "train_micro_batch_size_per_gpu", "gradient_clipping", "wall_clock_breakdown",
    "steps_per_print", "train_batch_size", "gradient_accumulation_steps", "zero_allow_untested_optimizer",
})  # fmt: skip


def explain_configuration(file: str, text: str, manifest: Mapping[str, Any]) -> Phrase | None:
    """None for a text that is none of them. `file`: quoted for a shell."""
    if _is_workflow(file, manifest):
        return _explain_steps(phrase("a workflow of GitHub"))
    if _is_pipeline(file, manifest):
        return _explain_steps(phrase("a pipeline of GitLab"))
    if {"compute_environment", "distributed_type"} <= manifest.keys():
        return phrase(
            "this is a configuration of accelerate: `paddock run -- accelerate launch --config_file {file} train.py` "
            "trains with it",
            file=file,
        )
    if len(_OF_DEEPSPEED & manifest.keys()) > 1 or isinstance(manifest.get("zero_optimization"), Mapping):
        return phrase(
            "this is a configuration of DeepSpeed, which the program reads: `paddock run -- torchrun train.py "
            "--deepspeed_config {file}` where it has this option",
            file=file,
        )
    return None


def _explain_steps(what: Phrase) -> Phrase:
    return phrase(
        "this is {what}, and no job of a cluster: `paddock init -- python train.py` writes the job of a program",
        what=what,
    )


def _is_workflow(file: str, manifest: Mapping[str, Any]) -> bool:
    """`on` is a truth value for some readers of YAML."""
    jobs = manifest.get("jobs")
    has_jobs = isinstance(jobs, Mapping) and any(
        isinstance(each, Mapping) and {"runs-on", "uses"} & each.keys() for each in jobs.values()
    )
    return has_jobs and (".github/workflows" in file or any(str(key).lower() in ("on", "true") for key in manifest))


def _is_pipeline(file: str, manifest: Mapping[str, Any]) -> bool:
    scripts = any(isinstance(each, Mapping) and "script" in each for each in manifest.values())
    return scripts and (posixpath.basename(file).startswith(".gitlab-ci.y") or isinstance(manifest.get("stages"), list))
