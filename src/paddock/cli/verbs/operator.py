"""paddock operator

The flags are a superset of paddle-operator's, in Go's syntax: `-x` is `--x`, and switches may have a value. Imports
only what the operator's image has (the group `operator` in pyproject.toml).
"""

from __future__ import annotations

import gc
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.app.prometheus import Address as PrometheusAddress
from paddock.app.prometheus import PrometheusError, find_address
from paddock.cli.cluster.addresses import build_bind_address, read_bind_address
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.kinds import KindsOfJob
from paddock.cli.output.language import localized
from paddock.cli.verb import DescribedDefault, Verb
from paddock.install.deployment import HEALTH_PORT, IMAGE_VARIABLE, KINDS, METRICS_PORT
from paddock.install.rights import MOST_SHARDS
from paddock.jobs.model import Settings
from paddock.jobs.objects.schedulers import GANG_SCHEDULERS, KUBE_SCHEDULER, VOLCANO
from paddock.kube.meta import KUBERNETES_POD_GROUPS, POD_GROUPS, VOLCANO_POD_GROUPS, Resource
from paddock.kube.validation.names import DNS_LABEL
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.app.health import Address

_TRUTHS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
"""The values that Go's strconv.ParseBool accepts."""
_SWITCHES = ("leader-elect", "substitute", "datasets", "zap-devel")

SCHEDULERS: Mapping[str, Resource | None] = {
    "": None,
    VOLCANO: VOLCANO_POD_GROUPS,
    "scheduler-plugins": POD_GROUPS,
    "coscheduling": POD_GROUPS,
    "kubernetes": KUBERNETES_POD_GROUPS,
    KUBE_SCHEDULER: KUBERNETES_POD_GROUPS,
}

_LOGS = "logs are set by --log-format"
IGNORED: Mapping[str, str] = {
    "initImage": "pods find their peers without an init container",
    "port-range": "the operator finds each job's ports by itself",
    "etcd-server": "the operator starts a gang again by itself, and no etcd takes part",
    **dict.fromkeys(("zap-encoder", "zap-log-level", "zap-stacktrace-level", "zap-time-encoding"), _LOGS),
}
"""Flags of paddle-operator that have no effect, and the reason."""


class GoCommand(Verb):
    """Accepts arguments in the syntax of Go's flag package."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [_read_go(argument) for argument in args])


def _read_go(argument: str) -> str:
    """An argument in click's syntax. Raises `click.UsageError`."""
    match = re.fullmatch(r"--?([A-Za-z][-\w]+)(?:=(.*))?", argument, re.DOTALL)
    if match is None:
        return argument
    name, value = match.groups()
    if name in _SWITCHES and value is not None:
        if value not in _TRUTHS:
            said = phrase("{flag}: true or false is allowed", flag=f"--{name}={value}")
            raise click.UsageError(localized(said))
        return f"--{name}" if _TRUTHS[value] else f"--no-{name}"
    return f"--{name}" if value is None else f"--{name}={value}"


def read_namespaces(_context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Comma-separated or repeated; empty, which means all, if any name is empty."""
    names = [name.strip() for value in values for name in value.split(",")]
    for name in names:
        if name and not DNS_LABEL.allows(name):
            said = phrase(
                "{name} is not a valid name for a namespace: small letters, digits and '-', at most 63", name=repr(name)
            )
            raise click.BadParameter(localized(said), param=parameter)
    return () if "" in names else tuple(dict.fromkeys(names))


def _read_scheduler(_context: click.Context, parameter: click.Parameter, value: str) -> Resource | None:
    if value not in SCHEDULERS:
        known = ", ".join(filter(None, SCHEDULERS))
        said = phrase(
            "{name} is no gang scheduler that Paddock knows; there are {known}", name=repr(value), known=known
        )
        raise click.BadParameter(localized(said), param=parameter)
    return SCHEDULERS[value]


_KUBE_BATCH = "kube-batch"


def _read_scheduler_name(_context: click.Context, parameter: click.Parameter, value: str) -> str:
    """kube-batch has PodGroups of its own, as which none is made; its repository is archived, and Volcano is what
    became of it."""
    if value.lower() == _KUBE_BATCH:
        said = phrase(
            "{name} is not developed any more (its repository is archived), and reads no PodGroup that Paddock makes: "
            "install Volcano, which came of it, and give {way}",
            name=value, way="--scheduling=volcano",
        )  # fmt: skip
        raise click.BadParameter(localized(said), param=parameter)
    return value


def choose_gangs(pod_groups: Resource | None, name: str) -> tuple[Resource | None, str]:
    """The PodGroups and the scheduler that places them. `pod_groups`: of --scheduling; `name`: --gang-scheduler-name,
    empty for the usual one. The name alone chooses as it does in training-operator: any but volcano, in any case, is a
    scheduler with the scheduler-plugins; `default-scheduler` too, as some clusters put the plugins into it. Only
    `kube-scheduler`, the program's name, which no pod names, is Kubernetes' own."""
    if pod_groups is None and name:
        pod_groups = SCHEDULERS[name.lower()] if name.lower() in (VOLCANO, KUBE_SCHEDULER) else POD_GROUPS
    if name.lower() in (VOLCANO, KUBE_SCHEDULER) and pod_groups is SCHEDULERS[name.lower()]:
        name = ""
    return pod_groups, name or (GANG_SCHEDULERS[pod_groups] if pod_groups else "")


def _ignored(command: Callable[..., Any]) -> Callable[..., Any]:
    for name in reversed(list(IGNORED)):
        command = click.option(f"--{name}", f"ignored_{name.replace('-', '_').lower()}", hidden=True)(command)
    return click.option("--zap-devel/--no-zap-devel", "ignored_zap_devel", default=None, hidden=True)(command)


@click.command(name="operator", cls=GoCommand)
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    callback=read_namespaces,
    metavar="NAME[,NAME]",
    help="Serve jobs of these namespaces alone (default: of all).",
)
@click.option("--leader-elect/--no-leader-elect", default=False, help="Work only while holding the operators' Lease.")
@click.option("--lease-namespace", metavar="NAME", help="Where that Lease is (default: the operator's own).")
@click.option(
    "--shards",
    type=click.IntRange(1, MOST_SHARDS),
    default=1,
    show_default=True,
    metavar="NUMBER",
    help="Divide the namespaces into so many parts, shared out among all operators.",
)
@click.option(
    "--scheduling",
    "pod_groups",
    default="",
    callback=_read_scheduler,
    metavar="SCHEDULER",
    help="Make a PodGroup for each job, for volcano, scheduler-plugins (coscheduling) or kubernetes (1.37).",
)
@click.option(
    "--gang-scheduler-name",
    "gang_scheduler",
    default="",
    callback=_read_scheduler_name,
    metavar="NAME",
    help="Which scheduler places them (default: volcano, scheduler-plugins-scheduler, default-scheduler).",
)
@click.option(
    "--substitute/--no-substitute",
    "substitutes",
    default=False,
    help="Replace commands that cannot work, as the local cluster does.",
)
@click.option(
    "--master-wait",
    type=click.IntRange(min=0),
    default=int(Settings().master_wait),
    show_default=True,
    metavar="SECONDS",
    help="How long a Master may run after all workers have succeeded.",
)
@click.option(
    "--end-wait",
    type=click.IntRange(min=0),
    default=int(Settings().end_wait),
    show_default=True,
    metavar="SECONDS",
    help="How long workers may run after the Master, or one of an elastic job, has succeeded, and other containers of a"
    " rank after its program.",
)
@click.option(
    "--loss-limit",
    type=click.IntRange(min=0),
    default=Settings().loss_limit,
    show_default=True,
    metavar="NUMBER",
    help="How often in a row pods may be lost with nodes, or deleted, before the job fails.",
)
@click.option(
    "--elastic-wait",
    type=click.IntRange(min=0),
    default=int(Settings().elastic_wait),
    show_default=True,
    metavar="SECONDS",
    help="How long an elastic gang waits for room for all ranks before it begins with fewer.",
)
@click.option(
    "--elastic-settle",
    type=click.IntRange(min=0),
    default=int(Settings().elastic_settle),
    show_default=True,
    metavar="SECONDS",
    help="How long a smaller gang trains before it asks for more room, and waits for the rest of it.",
)
@click.option("--datasets/--no-datasets", default=False, help="Fetch Datasets, each into a claim by a Job.")
@click.option(
    "--datasets-image",
    default="",
    metavar="NAME",
    help="The image in which they are fetched (default: the operator's own, without git and hubs).",
)
@click.option(
    "--notices",
    default="",
    metavar="FILE",
    help="Tell others of jobs that end, by the routes in this file, as of a mounted Secret.",
)
@click.option(
    "--prometheus",
    default="",
    metavar="URL",
    envvar="PADDOCK_PROMETHEUS",
    help="This Prometheus knows what GPUs do, which the annotation paddock.dev/idle needs (or PADDOCK_PROMETHEUS).",
)
@click.option("--kinds", type=KindsOfJob(), default=KINDS, metavar="KIND[,KIND]", help="Kinds of job to serve.")
@click.option(
    "--metrics-bind-address",
    "metrics",
    default=lambda: build_bind_address(METRICS_PORT),
    cls=DescribedDefault,
    show_default="127.0.0.1:8080; in a pod :8080",
    callback=read_bind_address,
    metavar="HOST:PORT",
    help="Where /metrics is; :8080 is every address of the machine, 0 is off.",
)
@click.option(
    "--health-probe-bind-address",
    "probes",
    default=lambda: build_bind_address(HEALTH_PORT),
    cls=DescribedDefault,
    show_default="127.0.0.1:8081; in a pod :8081",
    callback=read_bind_address,
    metavar="HOST:PORT",
    help="Where /healthz and /readyz are.",
)
@click.option("--kubeconfig", metavar="FILE", help="Default: $KUBECONFIG, ~/.kube/config, the pod's service account.")
@click.option("--context", "context_name", metavar="NAME", help="A context of the kubeconfig.")
@click.option(
    "--log-format",
    type=click.Choice(["json", "text"]),
    help="Default: text on a terminal, json elsewhere.",
)
@_ignored
def command(
    namespaces: tuple[str, ...],
    leader_elect: bool,
    shards: int,
    lease_namespace: str | None,
    pod_groups: Resource | None,
    gang_scheduler: str,
    substitutes: bool,
    master_wait: int,
    end_wait: int,
    loss_limit: int,
    elastic_wait: int,
    elastic_settle: int,
    datasets: bool,
    datasets_image: str,
    notices: str,
    prometheus: str,
    kinds: tuple[Resource, ...],
    metrics: Address | None,
    probes: Address | None,
    kubeconfig: str | None,
    context_name: str | None,
    log_format: str | None,
    **ignored: object,
) -> int:
    """Run the operator of a Kubernetes cluster, until it is told to stop.

    \b
    paddock operator --kubeconfig ~/.kube/config --namespace team-a
    paddock operator --leader-elect --shards 6
    paddock operator --leader-elect --metrics-bind-address=:8080 --health-probe-bind-address=:8081

    `paddock manifests operator` prints what runs it inside the cluster.
    """
    from paddock.app import cluster
    from paddock.app.cluster_datasets import build_fetch_pod
    from paddock.app.health import CannotServe
    from paddock.app.json_logs import start_logging
    from paddock.client.kubeconfig import read_config

    if shards > 1 and not leader_elect:
        said = phrase("--shards needs --leader-elect: which operator has which part is decided by Leases")
        raise click.UsageError(localized(said))
    if datasets and not datasets_image and not os.environ.get(IMAGE_VARIABLE):
        raise click.UsageError(localized(explain_no_image()))
    config = read_config(kubeconfig, context_name)
    start_logging(sys.stderr, "text" if log_format == "text" or (not log_format and sys.stderr.isatty()) else "json")
    _log_ignored(ignored)
    pod_groups, gang_scheduler = choose_gangs(pod_groups, gang_scheduler)
    options = cluster.Options(
        lease_namespace=lease_namespace or config.namespace,
        namespaces=namespaces,
        kinds=kinds,
        pod_groups=pod_groups,
        gang_scheduler=gang_scheduler,
        substitutes=substitutes,
        master_wait=master_wait,
        end_wait=end_wait,
        loss_limit=loss_limit,
        elastic_wait=elastic_wait,
        elastic_settle=elastic_settle,
        datasets=build_fetch_pod(datasets_image, os.environ) if datasets else None,
        notices=Path(notices) if notices else None,
        prometheus=_read_prometheus(prometheus),
        leader_elect=leader_elect,
        shards=shards,
        metrics=metrics,
        probes=probes,
    )
    from paddock.serving.loop import run
    from paddock.serving.open_files import raise_limit

    raise_limit()
    # Imported objects are never freed, and a reconcile creates thousands of short-lived dictionaries: with Python's
    # default thresholds garbage collection takes a fifth of the operator's time, with 5,000 still a tenth. Caches hold
    # bytes, so that no more memory is held for it: 84 MiB with 4,000 pods either way.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    try:
        return run(cluster.serve(config, options))
    except CannotServe as error:
        raise Failed(*error.args) from None


def _read_prometheus(text: str) -> PrometheusAddress | None:
    if not text:
        return None
    try:
        return find_address(text, os.environ)
    except PrometheusError as error:
        raise UserError(error.said) from None


def explain_no_image() -> Phrase:
    return phrase(
        "--datasets needs an image whose pods fetch them, and no image of Paddock is published: name yours by "
        "--datasets-image IMAGE or by the variable {variable}, which `{command}` sets",
        variable=IMAGE_VARIABLE,
        command="paddock manifests operator --datasets --image IMAGE",
    )


def _log_ignored(values: Mapping[str, object]) -> None:
    """Logs each given flag of `IGNORED` once."""
    for name, reason in {**IGNORED, "zap-devel": _LOGS}.items():
        if values.get(f"ignored_{name.replace('-', '_').lower()}") is not None:
            logging.getLogger("paddock.operator").info("--%s is not needed and changes nothing: %s", name, reason)
