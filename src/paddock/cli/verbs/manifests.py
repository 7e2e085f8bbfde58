"""paddock manifests

Prints the files of `deploy/`, which `install` builds from the typed models: the CRDs, the operator, the webhook,
the console. This module only formats them. tests/cli/test_manifests.py compares them with deploy/.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click
from click.core import ParameterSource

from paddock.app.prometheus import PrometheusError, read_address
from paddock.cli.cluster.kinds import KindsOfJob
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.verb import DescribedDefault, Verb
from paddock.datasets.crd import build_crd as build_dataset_crd
from paddock.install.console import NAMESPACE as CONSOLE_NAMESPACE
from paddock.install.console import Keep, build_console
from paddock.install.crd import build_crd, build_old_crd
from paddock.install.deployment import KINDS as DEFAULT_KINDS
from paddock.install.deployment import NAMESPACE, Installation, Scope, build_log_rights, build_operator
from paddock.install.rights import MOST_SHARDS
from paddock.install.webhook import CHECKED, build_webhook
from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Manifest, Resource
from paddock.kube.validation.names import DNS_LABEL, DNS_SUBDOMAIN
from paddock.manifests.yaml_texts import write_yaml
from paddock.version import __version__
from paddock.words.phrases import Phrase, phrase

_HEAD = "# Printed by `paddock manifests`. How to install, edit and remove it is in docs/kubernetes.md.\n"

_COMMENTS: Mapping[str, Sequence[str]] = {
    "- --namespace=": (
        "The namespace whose jobs are run. To submit jobs in another one, write it here and as the namespace of the",
        "Role paddle-manager-role and of its RoleBinding; operator-all-namespaces.yaml runs those of every namespace.",
    ),
}
"""Comments to print above a line with this prefix."""


def _check_namespace(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not DNS_LABEL.allows(value):
        said = phrase(
            "{name} is not a valid name for a namespace: a-z, 0-9 and - are allowed, at most 63", name=repr(value)
        )
        raise click.BadParameter(localized(said), context, parameter)
    return value


def _check_namespaces(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    names = [name.strip() for value in values for name in value.split(",")]
    return tuple(dict.fromkeys(_check_namespace(context, parameter, name) for name in names))


def _check_prometheus(_context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not value:
        return ""
    try:
        address = read_address(value)
    except PrometheusError as error:
        raise click.BadParameter(localized(error.said), param=parameter) from None
    if address.user or address.password:
        said = phrase(
            "a name and a password would stand in the Deployment, which many may read: leave them out, and set "
            "PADDOCK_PROMETHEUS of its container from a Secret"
        )
        raise click.BadParameter(localized(said), param=parameter)
    return value


def _check_secret(_context: click.Context, parameter: click.Parameter, value: str) -> str:
    if value and not DNS_SUBDOMAIN.allows(value):
        said = phrase("{found} is not a valid name for a Secret", found=repr(value))
        raise click.BadParameter(localized(said), param=parameter)
    return value


def _check_claim(_context: click.Context, parameter: click.Parameter, value: str) -> str:
    if value and not DNS_SUBDOMAIN.allows(value):
        said = phrase("{found} is not a valid name for a claim", found=repr(value))
        raise click.BadParameter(localized(said), param=parameter)
    return value


@click.command(name="manifests", cls=Verb)
@click.argument("what", type=click.Choice(["crd", "operator", "logs", "webhook", "console", "all"]), default="all")
@click.option(
    "-n",
    "--namespace",
    default=NAMESPACE,
    show_default=True,
    metavar="NAME",
    callback=_check_namespace,
    help="Where the operator runs, and the jobs. The console's own default is paddle-console.",
)
@click.option(
    "--jobs-in",
    "watched",
    multiple=True,
    callback=_check_namespaces,
    metavar="NAME[,NAME]",
    help="Where the jobs are, if not there; the operator has rights in these namespaces alone.",
)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Run the jobs of every namespace.")
@click.option(
    "--scope",
    type=click.Choice([each.value for each in Scope]),
    default=Scope.CLUSTER.value,
    show_default=True,
    help="namespace leaves out what is the cluster's own: the right to read nodes, users' roles.",
)
@click.option(
    "--kinds",
    type=KindsOfJob(),
    cls=DescribedDefault,
    show_default=",".join(kind.qualified for kind in DEFAULT_KINDS),
    help="Which kinds of job, joined by commas; kubeflow.org: all of that group. The webhook checks all kinds.",
)
@click.option(
    "--image",
    default="",
    metavar="IMAGE",
    help="The image of the operator, the webhook and the console, which you have built and pushed: none is published.",
)
@click.option("--datasets/--no-datasets", default=False, help="Also serve Datasets: their definition, and the rights.")
@click.option(
    "--datasets-image",
    default="",
    metavar="NAME",
    help="The image in which datasets are fetched, if it is not the operator's.",
)
@click.option(
    "--notices",
    default="",
    metavar="SECRET",
    callback=_check_secret,
    help="The operator tells others of jobs that end, by the routes in this Secret (routes.yaml).",
)
@click.option(
    "--prometheus",
    default="",
    metavar="URL",
    callback=_check_prometheus,
    help="The operator asks this Prometheus what GPUs do, which the annotation paddock.dev/idle needs.",
)
@click.option(
    "--replicas",
    type=click.IntRange(1, MOST_SHARDS),
    default=1,
    show_default=True,
    metavar="NUMBER",
    help="The replicas of the operator: one leads, the others stand by, unless --shards has them share.",
)
@click.option(
    "--shards",
    type=click.IntRange(1, MOST_SHARDS),
    default=1,
    show_default=True,
    metavar="NUMBER",
    help="Share the namespaces out among all replicas of the operator, in so many parts.",
)
@click.option(
    "--api-version",
    "version",
    type=click.Choice(["v1", "v1beta1"]),
    default="v1",
    show_default=True,
    help="v1beta1 is for Kubernetes 1.15 and older.",
)
@click.option(
    "--keep",
    default="",
    metavar="CLAIM",
    callback=_check_claim,
    help="The console keeps logs and history of all jobs in this claim of its namespace, which is there already.",
)
@click.option("-o", "output", type=click.Choice(["yaml", "json"]), default="yaml", help="How to print it.")
def command(
    what: str,
    namespace: str,
    watched: tuple[str, ...],
    everywhere: bool,
    scope: str,
    kinds: tuple[Resource, ...] | None,
    image: str,
    datasets: bool,
    datasets_image: str,
    notices: str,
    prometheus: str,
    replicas: int,
    shards: int,
    version: str,
    keep: str,
    output: str,
) -> None:
    """Print what a cluster needs: the definitions of jobs, and the operator. The webhook and the console are optional,
    and so is the right to read logs (logs), which `paddock.dev/silent` needs on a cluster.

    \b
    paddock manifests --image IMAGE | kubectl apply -f -
    paddock manifests operator --image IMAGE --jobs-in team-a,team-b
    paddock manifests operator --image IMAGE -n team-a --scope namespace
    paddock manifests crd --kinds kubeflow.org
    paddock manifests --image IMAGE --datasets
    paddock manifests operator --image IMAGE -A --shards 6 --replicas 3
    paddock manifests logs --jobs-in team-a
    paddock manifests webhook --image IMAGE
    paddock manifests console --image IMAGE
    paddock manifests console --image IMAGE --keep CLAIM

    The files in deploy/ are what it prints for the image registry.example/paddock, which stands for yours.
    """
    if everywhere and scope == Scope.NAMESPACE:
        said = phrase("--all-namespaces needs rights in all of them, which --scope namespace does not give")
        raise click.UsageError(localized(said))
    if everywhere and watched:
        said = phrase("--all-namespaces and --jobs-in do not go together: name the namespaces, or run the jobs of all")
        raise click.UsageError(localized(said))
    is_webhook = what == "webhook"
    if is_webhook and scope == Scope.NAMESPACE:
        said = phrase("a webhook is the cluster's own, which --scope namespace leaves out")
        raise click.UsageError(localized(said))
    if is_webhook and version == "v1beta1":
        raise click.UsageError(localized(phrase("the webhook needs Kubernetes 1.20 or later")))
    if what not in ("operator", "all"):
        _refuse_operators(what, {"--replicas": replicas, "--shards": shards})
        for option, value in {"--notices": notices, "--prometheus": prometheus}.items():
            if value:
                said = phrase("{option} is of the operator: {what} has none", option=option, what=what)
                raise click.UsageError(localized(said))
    if keep and what != "console":
        said = phrase("--keep is of the console: {what} keeps nothing", what=what)
        raise click.UsageError(localized(said))
    if shards > 1 and not everywhere and len(watched) <= 1:
        said = phrase("--shards shares several namespaces out, and here is one: add -A, or name them by --jobs-in")
        raise click.UsageError(localized(said))
    _check_datasets(what, version, datasets, datasets_image)
    if what not in ("crd", "logs") and not image:
        raise click.UsageError(localized(explain_no_image(what)))
    if what == "console":
        is_own = click.get_current_context().get_parameter_source("namespace") is ParameterSource.DEFAULT
        where, kept = CONSOLE_NAMESPACE if is_own else namespace, Keep(keep) if keep else None
        _print(build_console(where, image, keep=kept), output)
        return
    own = () if is_webhook else (namespace,)  # it checks jobs of all namespaces unless some are named
    installation = Installation(
        namespace=namespace,
        watched=() if everywhere else watched or own,
        image=image,
        kinds=kinds or (CHECKED if is_webhook else DEFAULT_KINDS),
        scope=Scope(scope),
        old=version == "v1beta1",
        datasets=datasets,
        datasets_image=datasets_image,
        shards=shards,
        replicas=replicas,
        notices=notices,
        prometheus=prometheus,
    )
    _print(build_manifests(what, installation), output)


def explain_no_image(what: str) -> Phrase:
    """How one comes to an image, as nobody has published one. `what`: as it was typed, which names an image.

    The wheel has no Dockerfile. A clone and the source archive that `make dist` puts beside the wheel have all that
    deploy/Dockerfile copies (pyproject.toml)."""
    name = f"REGISTRY/paddock:{__version__}"
    return phrase(
        "--image is missing: the pods of `paddock manifests {what}` run in an image of Paddock, and nobody has "
        "published one. Build it, in a clone of Paddock or in its source archive ({archive}, beside the wheel) "
        "unpacked, and push it where your nodes can pull it:\n\n    {build}\n    {push}\n\nThen type the same "
        "command with {option}",
        what=what,
        archive=f"paddock_jobs-{__version__}.tar.gz",
        build=f"docker build -f deploy/Dockerfile -t {name} .",
        push=f"docker push {name}",
        option=f"--image {name}",
    )


def _refuse_operators(what: str, given: Mapping[str, int]) -> None:
    for option, number in given.items():
        if number > 1:
            raise click.UsageError(
                localized(phrase("{option} is of the operator: {what} has none", option=option, what=what))
            )


def _check_datasets(what: str, version: str, datasets: bool, image: str) -> None:
    if image and not datasets:
        raise click.UsageError(localized(phrase("--datasets-image needs --datasets")))
    if datasets and what in ("logs", "webhook", "console"):
        said = phrase("--datasets is of the operator and the definitions: {what} has none", what=what)
        raise click.UsageError(localized(said))
    if datasets and version == "v1beta1":
        raise click.UsageError(localized(phrase("datasets need Kubernetes 1.16 or later")))


def _print(found: Sequence[Manifest], output: str) -> None:
    print_line(write_list(found) if output == "json" else write_commented(found), end="")


def build_manifests(what: str, installation: Installation) -> list[Manifest]:
    """`what`: crd, operator, logs, webhook, or all, which has neither webhook nor logs. CRDs come first: without them
    the operator cannot watch jobs."""
    if what == "logs":
        return list(build_log_rights(installation))
    if what == "webhook":
        return list(build_webhook(installation))
    build = build_old_crd if installation.old else build_crd
    crds = [build(KINDS[resource]) for resource in installation.kinds]
    crds += [build_dataset_crd()] if installation.datasets else []
    return [
        *(crds if what != "operator" else ()),
        *(build_operator(installation) if what != "crd" else ()),
    ]


def write_list(manifests: Sequence[Manifest]) -> str:
    """One object as itself, several as a List, for `kubectl create -f`."""
    several = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
    return write_json(manifests[0] if len(manifests) == 1 else several, indent=2) + "\n"


def write_commented(manifests: Sequence[Manifest]) -> str:
    lines = write_yaml(manifests).splitlines(keepends=True)
    return _HEAD + "".join(comment + line for line in lines for comment in (_comment(line),))


def _comment(line: str) -> str:
    text = line.lstrip()
    indent = line[: len(line) - len(text)]
    said = next((said for start, said in _COMMENTS.items() if text.startswith(start)), ())
    return "".join(f"{indent}# {sentence}\n" for sentence in said)
