"""paddock env

Environments are objects of the API (paddock.dev/v1alpha1, cluster-scoped): what is done here kubectl can do as well.
Building is the cluster's work (`environments.library`); `build` asks for it by an annotation and follows.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.app.home import Home
from paddock.cli.errors import Failed, UserError
from paddock.cli.find import fetch_all
from paddock.cli.language import readers_language
from paddock.cli.names import complete_environments
from paddock.cli.places import Place
from paddock.cli.requirements import Requirements, explain_url, read_requirements
from paddock.cli.session import home, talk
from paddock.cli.terminal import print_table, stderr, stdout
from paddock.cli.verb import VerbGroup
from paddock.environments.definition import BUILD_REQUESTED
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import ENVIRONMENT_ANNOTATION
from paddock.jobs.model import Rank, Settings
from paddock.jobs.phrases import phrase, render
from paddock.jobs.problems import InvalidJob
from paddock.jobs.text import nearest
from paddock.kube.errors import AlreadyExists, NotFound
from paddock.kube.meta import ENVIRONMENTS, PODS, Manifest, Resource, annotations_of, key_of, name_of
from paddock.kube.quantities import format_bytes

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.kube.api import Api

HEADER = ("NAME", "STATUS", "PROGRESS", "PYTHON", "SIZE", "IMAGES", "WHAT")
_SEED = "paddock.dev/seed"


@click.group(name="env", cls=VerbGroup)
def command() -> None:
    """Environments: which Python and which packages an image stands for on this machine.

    \b
    paddock env list
    paddock env create mine -r requirements.txt --image 'registry.example/team/*'
    paddock env build mine

    A job runs in the one whose image pattern matches, or in the one that its annotation paddock.dev/environment names.
    """


@command.command(name="list")
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", help="How to print it.")
def list_(output: str) -> None:
    """List the environments: what is built, how large it is, which images it stands for."""

    async def work(client: Client, place: Place) -> list[Manifest]:
        return sorted((await client.list(ENVIRONMENTS)).items, key=name_of)

    found = talk(work)
    if output == "json":
        listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": found}
        print(json.dumps(listed, indent=4, ensure_ascii=False))
    else:
        print_table(stdout(), HEADER, [build_row(each) for each in found], cut=True)


def build_row(environment: Manifest) -> list[str]:
    """WHAT is what it is made of; while that fails or is being made, the word about it."""
    spec, status = environment.get("spec") or {}, environment.get("status") or {}
    phase, progress, size = str(status.get("phase") or "Pending"), status.get("progress"), status.get("sizeBytes")
    images = list(spec.get("images") or ())
    made_of = ", ".join(spec.get("requirements") or ()) or "programs of this machine"
    what = str(status.get("message") or made_of) if phase in ("Building", "Failed") else made_of
    return [
        name_of(environment),
        phase,
        "" if progress is None else f"{progress} %",
        str(status.get("python") or spec.get("python") or ""),
        format_bytes(size) if size else "",
        (images[0] if images else "") + (f" and {len(images) - 1} more" if len(images) > 1 else ""),
        " ".join(what.split()),
    ]


@command.command(name="create")
@click.argument("name", metavar="NAME")
@click.option(
    "-r",
    "--requirement",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A requirements.txt; - reads standard input.",
)
@click.option("--image", "images", multiple=True, metavar="PATTERN", help="An image it stands for; * is any text.")
@click.option("--index-url", default="", metavar="URL", help="The package index, in place of pip's and uv's setting.")
@click.option("--extra-index-url", "extra", multiple=True, metavar="URL", help="A further package index.")
@click.option("--env", "variables", multiple=True, metavar="K=V", help="An environment variable of the image.")
@click.option("--python", default="", metavar="SPEC", help="Which Python, as in >=3.9,<3.13.")
def create(
    name: str,
    files: tuple[str, ...],
    images: tuple[str, ...],
    index_url: str,
    extra: tuple[str, ...],
    variables: tuple[str, ...],
    python: str,
) -> None:
    """Describe a new environment. It is built when a pod needs it, or by `paddock env build`.

    \b
    paddock env create mine -r requirements.txt
    paddock env create mine -r requirements.txt --image 'registry.example/team/*' --env FLAGS_use_mkldnn=1
    """
    read = [read_requirements(file, _read_text) for file in files]
    manifest = build_environment(name, read, images, index_url, extra, variables, python)

    async def work(client: Client, place: Place) -> None:
        try:
            await client.create(ENVIRONMENTS, manifest, strict=True)
        except AlreadyExists:
            raise UserError(f"Environment {name} exists already: `paddock env rm {name}` removes it") from None

    talk(work)
    stdout().print(f"environment/{name} created")
    if not images:
        stderr().print(f"a job runs in it by its annotation {ENVIRONMENT_ANNOTATION}: {name}")


def _read_text(file: str) -> str:
    return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")


def build_environment(
    name: str,
    read: Sequence[Requirements],
    images: Sequence[str],
    index_url: str,
    extra: Sequence[str],
    variables: Sequence[str],
    python: str,
) -> Manifest:
    """The object. Options win over what stands in the files. Raises `UserError` with every problem at once."""
    problems = [problem for each in read for problem in each.problems]
    problems += [f"--index-url: {said}" for said in (explain_url(index_url) if index_url else "",) if said]
    problems += [f"--extra-index-url: {said}" for each in extra if (said := explain_url(each))]
    problems += [said for each in variables if (said := _explain_variable(each))]
    problems += [f"--python: {said}" for said in (explain_python(python),) if said]
    if problems:
        raise UserError("\n".join((*problems, "nothing was created")))
    urls = [each.index_url for each in read if each.index_url]
    spec: dict[str, Any] = {
        "images": list(images),
        "python": python,
        "requirements": list(dict.fromkeys(package for each in read for package in each.packages)),
        "indexURL": index_url or (urls[-1] if urls else ""),
        "extraIndexURLs": list(extra) or [url for each in read for url in each.extra_index_urls],
        "env": [{"name": key, "value": value} for key, value in dict(each.split("=", 1) for each in variables).items()],
    }
    return {
        "apiVersion": ENVIRONMENTS.api_version,
        "kind": ENVIRONMENTS.kind,
        "metadata": {"name": name},
        "spec": {key: value for key, value in spec.items() if value},
    }


def _explain_variable(text: str) -> str:
    name, equals, _ = text.partition("=")
    if equals and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", name):
        return ""
    return f"--env: found {text!r}; NAME=VALUE is wanted, as in FLAGS_use_mkldnn=1"


def explain_python(specifier: str) -> str:
    """Why it does not say which Python, or ''."""
    from paddock.environments.pythons import match_version

    if re.fullmatch(r"\d+\.\d+", specifier):
        return f"found {specifier}; did you mean =={specifier}.*?"
    try:
        match_version(specifier, (3, 11, 0))
    except ValueError as error:
        return str(error)
    return ""


@command.command(name="build")
@click.argument("name", metavar="NAME", shell_complete=complete_environments)
def build(name: str) -> None:
    """Build an environment now, so that no job has to wait for it. One that failed is tried again.

    \b
    paddock env build mine
    """
    from paddock.cli.building import Builds
    from paddock.cli.screen import Screen

    async def work(client: Client, place: Place) -> None:
        await fetch_environment(client, name)
        wish = f"{time.time():.6f}"
        await client.patch(ENVIRONMENTS, "", name, {"metadata": {"annotations": {BUILD_REQUESTED: wish}}})
        with Screen(language=readers_language()) as screen:
            status = await _follow_build(client, place, name, wish, Builds(screen), screen)
            what = str(status.get("message") or "built")
            screen.line(phrase("environment {name}: ready ({what})", name=name, what=what))

    try:
        talk(work)
    except KeyboardInterrupt:
        stderr().print(
            render(phrase("the build goes on; `{command}` shows it", command="paddock env list"), readers_language())
        )
        raise


def _explain_failed(name: str, status: Manifest, place: Place) -> str:
    """The builder's sentence; where a setting may be at fault, whether the cluster has this shell's."""
    from paddock.cli.explain import build_next
    from paddock.cli.unbuilt import build_down

    steps = build_next(build_down(place)) if status.get("fault") != "definition" else []
    said = f"environment {name}: {status.get('message')}"
    return "\n".join([said, *(render(step, readers_language()) for step in steps)])


async def _follow_build(client: Client, place: Place, name: str, wish: str, builds: Any, screen: Any) -> Manifest:
    """The status of what is ready. Raises `Failed` with the builder's sentence."""
    async for event in client.follow(ENVIRONMENTS, fields=f"metadata.name={name}"):
        if event.type == "SYNCED" or name_of(event.object) != name:
            continue
        status: Manifest = event.object.get("status") or {}
        if event.type == "DELETED":
            raise Failed(f"environment {name} was removed while it was built")
        if status.get("requested") != wish:
            continue
        if status.get("phase") == "Ready":
            return status
        if status.get("phase") == "Failed":
            raise Failed(_explain_failed(name, status, place))
        builds.show(name, status)
        screen.status(builds.live)
    raise Failed(f"environment {name}: the cluster has gone")


async def fetch_environment(api: Api, name: str) -> Manifest:
    """Raises `UserError` with the nearest name where there is none of this one."""
    try:
        return await api.get(ENVIRONMENTS, "", name)
    except NotFound:
        near = nearest(name, [name_of(each) for each in (await api.list(ENVIRONMENTS)).items])
        hint = f"; did you mean {near!r}?" if near else "; `paddock env list` lists them"
        raise UserError(f"there is no environment {name!r}{hint}") from None


@command.command(name="rm")
@click.argument("name", metavar="NAME", shell_complete=complete_environments)
@click.option("--files", is_flag=True, help="What was built from it as well.")
def rm(name: str, files: bool) -> None:
    """Remove an environment that no unfinished job needs. What was built is kept for the next one of equal content.

    \b
    paddock env rm mine
    paddock env rm mine --files
    """

    async def work(client: Client, place: Place) -> list[str]:
        environment = await fetch_environment(client, name)
        others = [each for each in (await client.list(ENVIRONMENTS)).items if name_of(each) != name]
        jobs, pods = await fetch_all(client, KINDS, ""), (await client.list(PODS)).items
        if users := find_users(name, [environment, *others], jobs, pods):
            more = f" and {len(users) - 1} more" if len(users) > 1 else ""
            raise UserError(f"environment {name} is in use by {users[0]}{more}: it can be removed when that has ended")
        await client.delete(ENVIRONMENTS, "", name)
        said = [f"environment/{name} deleted"]
        if _SEED in annotations_of(environment):
            said.append("it comes with Paddock, and will be there again when the cluster is started anew")
        return [*said, *_remove_files(home(), environment, others, files)]

    first, *rest = talk(work)
    stdout().print(first)
    for line in rest:
        stderr().print(line)


def find_users(
    name: str, environments: Sequence[Manifest], jobs: Sequence[tuple[Resource, Manifest]], pods: Sequence[Manifest]
) -> list[str]:
    """Whom its removal would harm: pods that have not ended, and unfinished jobs, whose pods are made again. Pure."""
    from paddock.app.programs import read_used
    from paddock.jobs.pods import build_pod

    users = []
    for resource, manifest in jobs:
        try:
            job = KINDS[resource].read_job(manifest)
        except InvalidJob:  # it will make no pods
            continue
        made = (build_pod(job, Rank(role.name, 0), 0, None, Settings()) for role in job.roles)
        finished = KINDS[resource].read_status(manifest).phase.terminal
        if not finished and any(name in read_used(pod, environments) for pod in made):
            users.append(f"{resource.kind} {job.key}")
    running = (pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"))
    return users + [f"pod {key_of(pod)}" for pod in running if name in read_used(pod, environments)]


def _remove_files(place: Home, environment: Manifest, others: Sequence[Manifest], files: bool) -> list[str]:
    from paddock.environments.definition import read_definition
    from paddock.environments.directories import forget_pythons, remove

    if files:
        forget_pythons(place.cache / "environments", read_definition(environment))
    status = environment.get("status") or {}
    key, path = str(status.get("key") or ""), str(status.get("path") or "")
    if not key:
        return []
    size = format_bytes(status.get("sizeBytes") or 0)
    sharing = [name_of(each) for each in others if (each.get("status") or {}).get("key") == key]
    if sharing:
        return [f"its files are kept: environment {sharing[0]} has the same"] if files else []
    if not files:
        return [f"its files are kept, {size} in {path}: with --files they are removed"]
    if not remove(place.cache / "environments", key):
        return [f"its files are kept: they are being built at this moment, in {path}"]
    return [f"its files are removed: {size} in {path}"]
