"""The head of every page of one job: its name, why it is as it is, and its other pages. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from paddock.console.addresses import TABS, address_of_job, address_of_list, find_kind
from paddock.console.feed import Cache, Topic
from paddock.console.page_context import Missing, PageContext
from paddock.console.rooms import add_room, look_for_room
from paddock.console.step_buttons import FORM, Of, build_again, find_button
from paddock.jobs.exit_codes import has_failed_rank
from paddock.jobs.labels import JOB_LABEL
from paddock.jobs.model import CauseRecord, Phase
from paddock.jobs.names import job_label
from paddock.jobs.sentences.explain import explain
from paddock.kube.described import DESCRIPTION_ANNOTATION
from paddock.kube.errors import Forbidden
from paddock.kube.meta import POD_GROUPS, PODS, VOLCANO_POD_GROUPS, Manifest, Resource, annotations_of, name_of
from paddock.views.commands import printed_name
from paddock.views.job_progress import tell_wide
from paddock.views.jobs import read_job_row
from paddock.views.missing_scripts import lacks_directory
from paddock.views.rooms import explain_own_words, link_holders
from paddock.views.steps import Reach, Step, build_steps
from paddock.views.stored import read_stored
from paddock.words.phrases import Phrase, phrase

KUBEFLOW_JOB_LABEL = "training.kubeflow.org/job-name"


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab of the page of a job."""

    name: str  # of its screen
    title: str  # in the reader's language
    address: str


@dataclass(frozen=True, slots=True)
class Advice:
    """What would help: a button, where the console can do it, and the command that does the same."""

    title: str  # of the button, in the reader's language; empty where only the command does it
    address: str  # where the button leads; empty where only the command does it
    command: str  # as it is typed; empty where no command does the same
    said: str  # the command with a remark, in the reader's language
    posts: bool = False  # the button does something: its address takes a POST

    @property
    def right(self) -> str:
        """The verb of the right that the button needs; empty where it only shows something."""
        if self.posts:
            return "patch"
        return "create" if self.address.startswith(f"{FORM}?") else ""


def give_advice(
    page: PageContext, cause: CauseRecord | None, resource: Resource, namespace: str, name: str
) -> list[Advice]:
    """The steps of `paddock explain`, those with a button first; nothing where none is known, or nothing is wrong."""
    if cause is None:
        return []
    reach = Reach(page.backend.options, "default" if page.backend.local else "", page.backend.kubectl)
    word = shlex.quote(printed_name(resource, name))  # another kind may have the name
    steps = build_steps(cause, name, namespace, local=page.backend.local, kind=resource.qualified, word=word)
    found = [_advise(page, reach, each, Of(resource, namespace, name)) for each in steps]
    return sorted(found, key=lambda each: not each.address)


def _advise(page: PageContext, reach: Reach, step: Step, job: Of) -> Advice:
    command, said = reach.write(step), page.say(reach.fill(step))
    button = find_button(step, job)
    if button is None:
        return Advice("", "", command, said)
    return Advice(page.say(button.title), button.address, command, said, button.posts)


@dataclass(frozen=True, slots=True)
class Head:
    """What `job_frame.html` shows."""

    name: str
    namespace: str
    kind: str
    address: str
    phase: str  # empty for a job that is gone, of which logs are kept
    why: str  # empty for a job that is gone, of which logs are kept
    tabs: Sequence[Tab]
    more: Sequence[Tab] = ()  # behind a menu
    advice: Sequence[Advice] = ()
    description: str = ""  # what its annotation says
    bad: bool = False  # it has completed, and a rank of it failed
    far: str = ""  # how far the training of one that runs is
    beside: Sequence[str] = ()  # what the reader may not see
    ended: bool = False  # it never trains again
    own_words: str = ""  # the scheduler's, where the sentence stands in their place
    pieces: Sequence[tuple[str, str]] = ()  # `why`, with the address of each job that it names as a holder of room


async def build_head(page: PageContext, resource: Resource, job: Manifest | None) -> Head:
    """The head of the job that the page's address names."""
    name, namespace = page.path["name"], page.path["namespace"]
    address = address_of_job(resource, namespace, name)
    row = read_job_row(resource, job) if job else None
    cause, beside = await _look(page, resource, job, row.cause if row else None)
    why = explain(cause, page.language) if cause else ""
    tabs = [Tab(each, page.say(_TITLES[each]), address if each == "job" else f"{address}/{each}") for each in TABS]
    if job is None:
        tabs = [each for each in tabs if each.name not in _OF_OBJECTS]
    shown, more = [each for each in tabs if each.name not in _MORE], [each for each in tabs if each.name in _MORE]
    advice = await _allow(page, resource, give_advice(page, cause, resource, namespace, name))
    if job and row and row.phase.terminal and lacks_directory(cause, read_stored(resource, job).job):
        directory = _advise_directory(page, Of(resource, namespace, name))
        advice = [each for each in await _allow(page, resource, [directory]) if each.address] + advice
    bad = row is not None and has_failed_rank(row.phase, row.cause)
    return Head(
        name, namespace, resource.kind, address, row.state if row else "", why, shown, more, advice,
        annotations_of(job).get(DESCRIPTION_ANNOTATION, "") if job else "", bad,
        page.say(tell_wide(row.progress)) if row and row.phase is Phase.RUNNING else "", beside,
        row is None or row.phase.terminal, _say_own_words(page, cause), _link_holders(page, why, cause, namespace),
    )  # fmt: skip


def _advise_directory(page: PageContext, job: Of) -> Advice:
    title = page.say(phrase("Set the working directory and run again"))
    return Advice(title, build_again(job, anchor="f:directory"), "", "")


async def _allow(page: PageContext, resource: Resource, advice: Sequence[Advice]) -> list[Advice]:
    """Without the buttons of who may not change or create jobs: the command stays, as somebody else may type it."""
    wanted = {each.right for each in advice} - {""}
    missing = {each for each in wanted if not await page.may(each, resource, page.path["namespace"])}
    return [replace(each, title="", address="", posts=False) if each.right in missing else each for each in advice]


def _link_holders(page: PageContext, why: str, cause: CauseRecord | None, namespace: str) -> list[tuple[str, str]]:
    """To the list of jobs, as a scheduler's message does not tell the kind of a holder."""
    return [
        (text, f"{address_of_list(holder.namespace or namespace)}&q={quote(holder.name)}" if holder else "")
        for text, holder in link_holders(why, cause, page.language)
    ]


async def _look(
    page: PageContext, resource: Resource, job: Manifest | None, cause: CauseRecord | None
) -> tuple[CauseRecord | None, list[str]]:
    """The cause with what nodes and pods show of one that waits for room; and what the reader may not see of them."""
    if job is None or cause is None:
        return cause, []
    topic = next(iter(list_job_topics(page.path, page.query)), Topic(resource))
    rooms = await look_for_room(page, topic, [(cause, resource, job)])
    (cause,) = await add_room(rooms, [(cause, resource, job)])
    return cause, [page.say(rooms.unseen)] if rooms.unseen is not None else []


def _say_own_words(page: PageContext, cause: CauseRecord | None) -> str:
    said = explain_own_words(cause, is_folded=True)
    return "" if said is None else page.say(said)


def list_job_topics(path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    """The job that an address names, alone."""
    kind = find_kind(path["kind"])
    return [Topic(kind, path["namespace"], fields=f"metadata.name={path['name']}")] if kind else []


def list_pod_topics(path: Mapping[str, str]) -> Sequence[Topic]:
    """The job's pods, by the label that both Paddock and the API group's own operator give them."""
    kind = find_kind(path["kind"])
    label = KUBEFLOW_JOB_LABEL if kind and kind.group == "kubeflow.org" else JOB_LABEL
    return [Topic(PODS, path["namespace"], labels=f"{label}={job_label(path['name'])}")]


def list_group_topics(path: Mapping[str, str]) -> Sequence[Topic]:
    """The job's PodGroup, by its name (`jobs.names.pod_group_name`): it has the labels of no API group but ours."""
    names = ((POD_GROUPS, job_label(path["name"])), (VOLCANO_POD_GROUPS, path["name"]))
    return [Topic(each, path["namespace"], fields=f"metadata.name={name}") for each, name in names]


def find_job(page: PageContext) -> tuple[Resource, Manifest | None]:
    """The job that the page's address names; None if it does not exist. Raises `Missing` for a kind without jobs, and
    `Forbidden` for a reader who may not see it, or not any more: it is not told as one that is deleted."""
    topics = list_job_topics(page.path, page.query)
    if not topics:
        raise tell_missing(page)
    error = page.caches.get(topics[0], Cache()).error
    if isinstance(error, Forbidden):
        raise error
    found = (job for job in page.objects(topics[0]) if name_of(job) == page.path["name"])
    return topics[0].resource, next(found, None)


def explain_right(verb: str, resource: Resource, namespace: str) -> Phrase:
    """Why this reader has no button, whatever the object does."""
    return phrase(
        "you may not {verb} {kinds} in namespace {namespace}", verb=verb, kinds=resource.qualified, namespace=namespace
    )


def tell_missing(page: PageContext) -> Missing:
    name, namespace = page.path["name"], page.path["namespace"]
    return Missing(phrase("there is no job {name} in {namespace}", name=name, namespace=namespace))


_MORE = frozenset({"plan", "pods"})
"""What few readers of a job look for."""
_OF_OBJECTS = frozenset({"plan", "doctor", "pods", "events", "manifest"})
"""What there is of a job that exists, and of none that was deleted."""
_TITLES: Mapping[str, Phrase] = {
    "job": phrase("Job"),
    "logs": phrase("Logs"),
    "charts": phrase("Charts"),
    "outputs": phrase("Outputs"),
    "runs": phrase("Runs"),
    "plan": phrase("Plan"),
    "doctor": phrase("Doctor"),
    "pods": phrase("Pods"),
    "events": phrase("Events"),
    "manifest": phrase("Manifest"),
}
