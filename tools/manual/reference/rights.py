"""docs/rights.md: every right of the operator, the console and the webhook, with the request that needs it, from the
tables that their Roles are made of. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from manual.reference.markdown import join, prose, table
from manual.reference.reader import Reader
from paddock.install.deployment import Installation
from paddock.install.rights import OF_DATASETS, OF_LOGS, OF_SHARING, Right, Where, build_keeper_rights, build_rights
from paddock.install.webhook import NAME, build_webhook_rights
from paddock.jobs.apis.registry import SCALED
from paddock.kube.meta import AUTOSCALERS

TITLE = "The operator's rights"
HEAD = (
    "The operator asks for this and for nothing else. `paddock manifests operator` gives it these rights, from the "
    "same table (`src/paddock/install/rights.py`), and `make reference` writes this page from it. A test lets "
    "an operator live with exactly these rights, and fails when it lacks one or has one that it does not use."
)
PLACES: Mapping[Where, str] = {
    Where.JOBS: "In each namespace whose jobs are run: a Role there, or a ClusterRole if those of all are run.",
    Where.CLUSTER: "Of the cluster: a ClusterRole. `--scope namespace` leaves it out; the operator goes on without it.",
    Where.OWN: "In the operator's own namespace: a Role.",
}
KUBEFLOW = (
    "With the kinds of `kubeflow.org` (`--kinds`) it has the rights on `paddlejobs` for each kind that it serves. "
    "Where PyTorchJobs are among them, also these, in each namespace whose jobs are run."
)
DATASETS = (
    "With `--datasets`, where the operator fetches [datasets](kubernetes.md#datasets-on-a-cluster), also these, in "
    "each namespace whose jobs are run. It reads no Secret: the kubelet gives it to the pod that fetches."
)
SHARING = (
    "With `--shards`, where several operators [share the namespaces out](operator.md#a-fleet-shared-out), also these, "
    "in the operator's own namespace. No name limits them: each process has a Lease of its own."
)
LOGS = (
    "`paddock manifests logs` prints a Role of its own for this, with Helm it is `operator.readLogs=true`, and neither "
    "is installed unless somebody says so: what programs print may be confidential. With it the annotation "
    "[`paddock.dev/silent`](kubeflow.md#what-to-know) works on a cluster; without it the operator reads no log of a "
    "job, and an event of the job says so. The last line of each rank is looked at every 5 seconds or less often, only "
    "of jobs with the annotation, with 10 requests a second at most in all. Whether it has the right, it asks by a "
    "SelfSubjectAccessReview, which Kubernetes allows every account (`system:basic-user`)."
)
CONSOLE = (
    "The [console](operations/console.md) has no right and no token: its readers' tokens go along with each request."
)
KEEPER = (
    "A console that [keeps logs and history](operations/console.md#keep-logs-and-history) (`paddock manifests console "
    "--keep`) has an account of its own, not the operator's, with a ClusterRole of these rights in all namespaces. Its "
    "readers get nothing by it: for what one of them is shown, the API is asked by their own token. Where it has the "
    "namespace `paddle-console` to itself, a Role there lets every user of the cluster list its pods and forward a "
    "port to them."
)
WEBHOOK = (
    "The [webhook](operations/webhook.md), where it is installed, has an account and a ClusterRole of its own, and "
    "this right alone (`src/paddock/install/webhook.py`)."
)


def build_rights_page(reader: Reader) -> str:
    """The page in the reader's language."""
    return join([f"# {reader.say(TITLE)}", reader.say(HEAD), *_build_sections(reader)])


def _build_sections(reader: Reader) -> Iterator[str]:
    rights = build_rights(Installation().kinds)
    for where, said in PLACES.items():
        yield from _build_section(said, (right for right in rights if right.where is where), reader)
    scaling = (right for right in build_rights(SCALED) if right.resource == AUTOSCALERS)
    yield from _build_section(KUBEFLOW, scaling, reader)
    yield from _build_section(DATASETS, OF_DATASETS, reader)
    yield from _build_section(SHARING, OF_SHARING, reader)
    yield from _build_section(LOGS, OF_LOGS, reader)
    yield reader.say(CONSOLE)
    yield from _build_section(KEEPER, build_keeper_rights(Installation().kinds), reader)
    yield from _build_section(WEBHOOK, build_webhook_rights(NAME), reader)


def _build_section(said: str, rights: Iterable[Right], reader: Reader) -> Iterator[str]:
    yield reader.say(said)
    head = [reader.say(each) for each in ("Resource", "Verbs", "The request that needs it")]
    yield table(head, (_build_row(right, reader) for right in rights))


def _build_row(right: Right, reader: Reader) -> tuple[str, str, str]:
    group, name = right.resource.group, f"`{right.name}`" if right.name else ""
    if reader.language == "en":
        of, named, comma = f" of {group}" if group else "", f", {name}" if name else "", ", "
    else:
        of, named, comma = f"（{group}）" if group else "", f"，名为 {name}" if name else "", "、"
    return f"`{right.plural}`{of}{named}", comma.join(right.verbs), prose(reader.say(right.request))
