"""The button of a step: where the console does what a command of `views.steps` does, or shows what it prints. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from paddock.console.addresses import address_of_dataset, address_of_environment, address_of_job, name_kind
from paddock.kube.meta import Resource
from paddock.views.steps import Step
from paddock.words.phrases import Names, Phrase, phrase

FORM = "/new"
"""The form of a new job: who may not create one has no button that leads there."""


@dataclass(frozen=True, slots=True)
class Of:
    """The job that a step is of."""

    resource: Resource
    namespace: str
    name: str

    @property
    def address(self) -> str:
        return address_of_job(self.resource, self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Button:
    """A link, or a form of one button."""

    title: Phrase
    address: str
    posts: bool = False  # it does something: the address takes a POST


def find_button(step: Step, job: Of) -> Button | None:
    """None for what only a command can do, as a debugger does."""
    text = step.text.removeprefix("paddock ")
    for words, build in _BUILDERS.items():
        if text.startswith(words):
            return build(step, job)
    return None


def build_again(job: Of, *, anchor: str = "") -> str:
    """The address of the form with a new job like this one, of which all is kept."""
    return _address_of_form(job, {"again": "1"}) + (f"#{anchor}" if anchor else "")


def build_without(job: Of, resources: Sequence[str]) -> str:
    """The address of the form with a new job like this one that does not ask for these resources (`nvidia.com/gpu`)."""
    return _address_of_form(job, {"without": ",".join(resources)})


def build_clone(job: Of) -> str:
    """The address of the form with a new job like this one."""
    return _address_of_form(job, {})


def _address_of_form(job: Of, options: Mapping[str, str]) -> str:
    source = f"{job.namespace}/{name_kind(job.resource)}/{job.name}"
    return f"{FORM}?{urlencode({'from': source, **options}, safe='/,')}"


def _open_log(step: Step, job: Of) -> Button | None:
    if "container" in step.args:  # the console keeps the logs of the containers that train
        return None
    rank = f"{step.args['role']}-{step.args['index']}" if "role" in step.args else ""
    address = f"{job.address}/logs" + (f"?{urlencode({'rank': rank})}" if rank else "")
    return Button(phrase("Open the log of {rank}", rank=rank) if rank else phrase("Open the logs"), address)


def _run_without(step: Step, job: Of) -> Button | None:
    devices = step.args.get("devices", "").replace("--without", " ").split()
    if not devices:
        return None
    if all(each.endswith("/gpu") for each in devices):
        return Button(phrase("Run without GPUs"), build_without(job, devices))
    return Button(phrase("Run without {devices}", devices=Names(tuple(devices))), build_without(job, devices))


def _open_environment(step: Step, _: Of) -> Button:
    name = step.args["environment"]
    return Button(phrase("Open the environment {name}", name=name), address_of_environment(name))


def _make_environment(step: Step, _: Of) -> Button:
    typed = {"name": name} if (name := step.args.get("environment")) else {}
    return Button(phrase("Make the environment"), "/new-environment" + (f"?{urlencode(typed)}" if typed else ""))


def _make_dataset(step: Step, job: Of) -> Button:
    typed = {"name": step.args["dataset"], "namespace": job.namespace}
    return Button(phrase("Make the dataset"), f"/new-dataset?{urlencode(typed)}")


def _open_dataset(step: Step, job: Of) -> Button:
    name = step.args["dataset"]
    return Button(phrase("Open the dataset {name}", name=name), address_of_dataset(job.namespace, name))


def _of_job(title: Phrase, part: str, *, posts: bool = False) -> Callable[[Step, Of], Button]:
    return lambda _, job: Button(title, f"{job.address}/{part}", posts)


def _of_all(title: Phrase, address: str) -> Callable[[Step, Of], Button]:
    return lambda *_: Button(title, address)


_EVENTS, _NODES, _QUEUE = phrase("Open the events"), phrase("Open the nodes"), phrase("See who has the room")
_BUILDERS: Mapping[str, Callable[[Step, Of], Button | None]] = {
    "logs": _open_log,
    "clone": _run_without,
    "resume": _of_job(phrase("Resume"), "resume", posts=True),
    "describe": _of_job(_EVENTS, "events"),
    "delete": _of_job(phrase("Delete"), "delete"),  # a page that asks
    "queue": _of_all(_QUEUE, "/queue"),
    "get environments": _of_all(phrase("Open the environments"), "/environments"),
    "get": _of_all(phrase("See all jobs"), "/"),
    "env build": _open_environment,
    "env create": _make_environment,
    "dataset create": _make_dataset,
    "dataset describe": _open_dataset,
    "dataset list": _of_all(phrase("Open the datasets"), "/datasets"),
    "{kubectl} edit": _of_job(phrase("Edit the job"), "edit"),
    "{kubectl} label {kind}": _of_job(phrase("Edit the job"), "edit"),
    "{kubectl}{on} describe pods": _of_job(_EVENTS, "events"),
    "{kubectl} describe node": _of_all(_NODES, "/nodes"),
    "{kubectl} get nodes": _of_all(_NODES, "/nodes"),
    "{kubectl} get workloads": _of_all(phrase("Open the queue"), "/queue"),
}
"""By the words with which the command of a step begins, behind `paddock`; the first that fits."""
