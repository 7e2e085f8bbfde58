"""paddock env

Environments are cluster-scoped API objects (paddock.dev/v1alpha1), so kubectl can do the same. The cluster builds them
(`environments.library`); `build` requests that by an annotation and follows the status.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.app.home import Home
from paddock.cli.cluster.complete import complete_environments
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import explain_near, fetch_all
from paddock.cli.cluster.places import Place
from paddock.cli.cluster.session import home, run_with_client
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.rows import ENVIRONMENT_LIST_HEADER, build_environment_list_cells
from paddock.cli.output.terminal import print_table, stderr, stdout
from paddock.cli.submit.environments import build_environment
from paddock.cli.submit.requirements import read_requirements
from paddock.cli.verb import VerbGroup
from paddock.environments.definition import BUILD_REQUESTED
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import ENVIRONMENT_ANNOTATION
from paddock.jobs.model import Rank, Settings
from paddock.jobs.text.phrases import Foreign, Phrase, phrase
from paddock.jobs.text.sentences import nearest
from paddock.jobs.views.environments import read_environment_row
from paddock.kube.errors import AlreadyExists, NotFound
from paddock.kube.meta import ENVIRONMENTS, PODS, Manifest, Resource, annotations_of, key_of, name_of
from paddock.kube.quantities import format_bytes

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.kube.api import Api

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

    found = run_with_client(work)
    if output == "json":
        listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": found}
        print(json.dumps(listed, indent=4, ensure_ascii=False))
    else:
        language = readers_language()
        cells = [build_environment_list_cells(read_environment_row(each), language) for each in found]
        print_table(stdout(), ENVIRONMENT_LIST_HEADER, cells, cut=True)


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
            said = phrase("Environment {name} exists already: `paddock env rm {name}` removes it", name=name)
            raise UserError(said) from None

    run_with_client(work)
    stdout().print(localized(phrase("{object} created", object=f"environment/{name}")))
    if not images:
        said = phrase("a job runs in it by its annotation {annotation}", annotation=f"{ENVIRONMENT_ANNOTATION}: {name}")
        stderr().print(localized(said))


def _read_text(file: str) -> str:
    return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")


@command.command(name="build")
@click.argument("name", metavar="NAME", shell_complete=complete_environments)
def build(name: str) -> None:
    """Build an environment now, so that no job has to wait for it. One that failed is tried again.

    \b
    paddock env build mine
    """
    from paddock.cli.follow.building import Builds
    from paddock.cli.output.screen import Screen

    async def work(client: Client, place: Place) -> None:
        await fetch_environment(client, name)
        request = f"{time.time():.6f}"
        await client.patch(ENVIRONMENTS, "", name, {"metadata": {"annotations": {BUILD_REQUESTED: request}}})
        with Screen(language=readers_language()) as screen:
            status = await _follow_build(client, place, name, request, Builds(screen), screen)
            what = str(status.get("message") or "") or phrase("built")
            screen.line(phrase("environment {name}: ready ({what})", name=name, what=what))

    try:
        run_with_client(work)
    except KeyboardInterrupt:
        stderr().print(localized(phrase("the build goes on; `{command}` shows it", command="paddock env list")))
        raise


def _explain_failed(name: str, status: Manifest, place: Place) -> list[Phrase]:
    """The builder's message, and next steps if the cluster's settings differ from this shell's."""
    from paddock.cli.cluster.flags import build_next
    from paddock.jobs.views.steps import build_restart_steps

    settings = place.find_other_settings() if status.get("fault") != "definition" else []
    steps = build_next(build_restart_steps(settings), place.flags)
    return [phrase("environment {name}: {what}", name=name, what=Foreign(str(status.get("message")))), *steps]


async def _follow_build(client: Client, place: Place, name: str, request: str, builds: Any, screen: Any) -> Manifest:
    """Returns the status when the environment is ready. Raises `Failed` with the builder's message."""
    async for event in client.follow(ENVIRONMENTS, fields=f"metadata.name={name}"):
        if event.type == "SYNCED" or name_of(event.object) != name:
            continue
        status: Manifest = event.object.get("status") or {}
        if event.type == "DELETED":
            raise Failed(phrase("environment {name} was removed while it was built", name=name))
        if status.get("requested") != request:
            continue
        if status.get("phase") == "Ready":
            return status
        if status.get("phase") == "Failed":
            raise Failed(*_explain_failed(name, status, place))
        builds.show(name, status)
        screen.status(builds.live)
    raise Failed(phrase("environment {name}: the cluster has gone", name=name))


async def fetch_environment(api: Api, name: str) -> Manifest:
    """Raises `UserError` with the nearest name if it does not exist."""
    try:
        return await api.get(ENVIRONMENTS, "", name)
    except NotFound:
        near = nearest(name, [name_of(each) for each in (await api.list(ENVIRONMENTS)).items])
        hint = explain_near(near) if near else phrase("; `{command}` lists them", command="paddock env list")
        raise UserError(phrase("there is no environment {name}{hint}", name=repr(name), hint=hint)) from None


@command.command(name="rm")
@click.argument("name", metavar="NAME", shell_complete=complete_environments)
@click.option("--files", is_flag=True, help="What was built from it as well.")
def rm(name: str, files: bool) -> None:
    """Remove an environment that no unfinished job needs. What was built is kept for the next one of equal content.

    \b
    paddock env rm mine
    paddock env rm mine --files
    """

    async def work(client: Client, place: Place) -> list[Phrase]:
        environment = await fetch_environment(client, name)
        others = [each for each in (await client.list(ENVIRONMENTS)).items if name_of(each) != name]
        jobs, pods = await fetch_all(client, KINDS, ""), (await client.list(PODS)).items
        if users := find_users(name, [environment, *others], jobs, pods):
            user: Phrase | str = users[0]
            if len(users) > 1:
                user = phrase("{names} and {count} more", names=user, count=len(users) - 1)
            raise UserError(
                phrase(
                    "environment {name} is in use by {user}: it can be removed when that has ended",
                    name=name,
                    user=user,
                )
            )
        await client.delete(ENVIRONMENTS, "", name)
        removed = _remove_files(home(), environment, others, files)
        if _SEED in annotations_of(environment):
            return [phrase("it comes with Paddock, and will be there again when the cluster is started anew"), *removed]
        return removed

    said = run_with_client(work)
    stdout().print(localized(phrase("{object} deleted", object=f"environment/{name}")))
    for line in said:
        stderr().print(localized(line))


def find_users(
    name: str, environments: Sequence[Manifest], jobs: Sequence[tuple[Resource, Manifest]], pods: Sequence[Manifest]
) -> list[str]:
    """The users of an environment: running pods, and unfinished jobs, whose pods may be recreated. Pure."""
    from paddock.app.programs import read_used
    from paddock.jobs.objects.pods import build_pod
    from paddock.jobs.views.stored import read_stored

    users = []
    for resource, manifest in jobs:
        stored = read_stored(resource, manifest)
        if (job := stored.job) is None or stored.status.phase.terminal:  # it will create no pods
            continue
        made = (build_pod(job, Rank(role.name, 0), 0, None, Settings()) for role in job.roles)
        if any(name in read_used(pod, environments) for pod in made):
            users.append(f"{resource.kind} {job.key}")
    running = (pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"))
    return users + [f"pod {key_of(pod)}" for pod in running if name in read_used(pod, environments)]


def _remove_files(place: Home, environment: Manifest, others: Sequence[Manifest], files: bool) -> list[Phrase]:
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
        return [phrase("its files are kept: environment {name} has the same", name=sharing[0])] if files else []
    if not files:
        return [phrase("its files are kept, {size} in {path}: with --files they are removed", size=size, path=path)]
    if not remove(place.cache / "environments", key):
        return [phrase("its files are kept: they are being built at this moment, in {path}", path=path)]
    return [phrase("its files are removed: {size} in {path}", size=size, path=path)]
