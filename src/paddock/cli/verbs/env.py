"""paddock env

Environments are cluster-scoped API objects (paddock.dev/v1alpha1), so kubectl can do the same. The cluster builds them
(`environments.library`); `build` requests that by an annotation and follows the status.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.app.home import Home
from paddock.cli.cluster.complete import complete_environments
from paddock.cli.cluster.context_flags import is_chosen
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import explain_near, fetch_all
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import home, run, run_with_client
from paddock.cli.output.freed import explain_freed
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.rows import (
    CLAIM_LIST_HEADER,
    ENVIRONMENT_LIST_HEADER,
    build_claim_cells,
    build_environment_list_cells,
)
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import print_table, stderr, stdout
from paddock.cli.submit.file_environments import read_files_of, refresh_environments, replace_environment
from paddock.cli.submit.script.options import Command
from paddock.cli.verb import VerbGroup
from paddock.environments.changes import (
    Changes,
    change_environment,
    choose_source,
    find_change_problems,
    find_differences,
    is_built_anew,
)
from paddock.environments.definition import BUILD_REQUESTED
from paddock.environments.from_files import has_changed, with_files
from paddock.environments.manifests import Settings, build_manifest, build_request, find_problems, with_request
from paddock.environments.requirement_files import Requirements, read_requirements, read_text
from paddock.environments.requirements import requirement_name
from paddock.environments.seeding import SEED, is_as_seeded, seed
from paddock.environments.sources import Source, read_source
from paddock.jobs.apis.registry import KINDS
from paddock.kube.environments import ENVIRONMENT_ANNOTATION
from paddock.kube.errors import AlreadyExists, NotFound
from paddock.kube.meta import ENVIRONMENTS, PODS, Key, Manifest, annotations_of, name_of
from paddock.kube.nearness import nearest
from paddock.kube.times import format_time
from paddock.views.environment_users import name_users, read_plan, read_users
from paddock.views.environments import read_environment_row
from paddock.words.phrases import Foreign, Names, Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.kube.api import Api


@click.group(name="env", cls=VerbGroup)
@click.pass_context
def command(context: click.Context) -> None:
    """Environments: which Python and which packages an image stands for on this machine.

    \b
    paddock env list
    paddock env create mine -r requirements.txt --image 'registry.example/team/*'
    paddock env update mine --add opencv-python
    paddock env build mine

    A job runs in the one whose image pattern matches, or in the one that its annotation paddock.dev/environment names.

    With --context, list and rm are about the claims of a cluster in which packages of -r and directories are kept.
    """
    if is_chosen(context) and context.invoked_subcommand not in ("list", "rm"):
        context.fail(
            localized(
                phrase(
                    "`{verb}` is about the local cluster: on a cluster the image itself is run, and packages of -r "
                    "are kept beside it; leave --context out",
                    verb=f"env {context.invoked_subcommand}",
                )
            )
        )


@command.command(name="list")
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", help="How to print it.")
@namespace_option
@click.pass_context
def list_(context: click.Context, output: str, namespace: str) -> None:
    """List the environments: what is built, how large it is, which images it stands for.

    \b
    paddock env list
    paddock env list --context prod    the claims with packages and code, and which jobs mount them
    """
    if is_chosen(context):
        _list_claims(output, namespace)
        return

    async def work(client: Client, place: ClusterChoice) -> list[Manifest]:
        return sorted((await client.list(ENVIRONMENTS)).items, key=name_of)

    found = run_with_client(work)
    changed = {name_of(each) for each in found if _has_changed(each)}
    if output == "json":
        listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": found}
        print_line(write_json(listed))
    else:
        language = readers_language()
        unbuilt = [name_of(each) for each in found if is_unbuilt(each)]
        rows = [
            replace(read_environment_row(each), changed=name_of(each) in changed)
            for each in found
            if name_of(each) not in unbuilt
        ]
        rows.sort(key=lambda row: row.phase != "Ready")
        cells = [build_environment_list_cells(each, language) for each in rows]
        if cells:
            print_table(stdout(), ENVIRONMENT_LIST_HEADER, cells, cut=True)
        if unbuilt:
            said = phrase("not built, as no job has needed them: {names} (they come with Paddock; -o json has all)",
                          names=Names(tuple(unbuilt), most=0))  # fmt: skip
            stderr().print(localized(said))


def is_unbuilt(environment: Manifest) -> bool:
    """Whether it comes with Paddock, nobody changed it and no job has needed it."""
    return is_as_seeded(environment) and read_environment_row(environment).phase == "Pending"


def _list_claims(output: str, namespace: str) -> None:
    from paddock.cli.cluster.filled_claims import Claim, fetch_claims

    async def work(client: Client, place: ClusterChoice) -> list[Claim]:
        return await fetch_claims(client, namespace)

    found = run_with_client(work)
    if output == "json":
        items = [each.manifest for each in found]
        print_line(
            write_json({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})
        )
        return
    if not found:
        stderr().print(
            localized(phrase("there is no claim with packages or code in namespace {namespace}", namespace=namespace))
        )
        return
    now = time.time()
    print_table(
        stdout(), CLAIM_LIST_HEADER, [build_claim_cells(each.held, each.users, now) for each in found], cut=True
    )


def _has_changed(environment: Manifest) -> bool:
    """Whether its requirements files can be read and say something else than before."""
    read = read_files_of(environment)
    return not any(each.problems for each in read) and has_changed(environment, read)


def _settings_options(*, image: str, index: str) -> Callable[[Command], Command]:
    """The options whose values are the fields of `Settings`, after those of the command's own. `image`, `index`: the
    help of two of them, which says what becomes of the Environment's own."""
    options = (
        click.option("--image", "images", multiple=True, metavar="PATTERN", help=image),
        click.option("--index-url", default="", metavar="URL", help=index),
        click.option("--extra-index-url", "extra", multiple=True, metavar="URL", help="A further package index."),
        click.option("--env", "variables", multiple=True, metavar="K=V", help="An environment variable of the image."),
        click.option("--python", default="", metavar="SPEC", help="Which Python, as in >=3.9,<3.13."),
        click.option(
            "--torch-backend",
            default="",
            metavar="BUILD",
            help="Which build of PyTorch: cpu, cu128, auto, or default (what the package index has).",
        ),
    )

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


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
@_settings_options(
    image="An image it stands for; * is any text.", index="The package index, in place of pip's and uv's setting."
)
def create(name: str, files: tuple[str, ...], **typed: Any) -> None:
    """Describe a new environment. It is built when a pod needs it, or by `paddock env build`.

    \b
    paddock env create mine -r requirements.txt
    paddock env create mine -r requirements.txt --image 'registry.example/team/*' --env FLAGS_use_mkldnn=1
    """
    read = [read_requirements(file, _read_text) for file in files]
    settings = Settings(**typed)
    manifest = build_environment(name, read, settings)
    if source := _build_source(files):
        manifest = with_files(manifest, read, replace(source, own_index=settings.names_index), _now())

    async def work(client: Client, place: ClusterChoice) -> None:
        try:
            await client.create(ENVIRONMENTS, manifest, strict=True)
        except AlreadyExists:
            said = phrase("Environment {name} exists already: `paddock env update {name}` changes it", name=name)
            raise UserError(said) from None

    run_with_client(work)
    stdout().print(localized(phrase("{object} created", object=f"environment/{name}")))
    if not settings.images:
        said = phrase("a job runs in it by its annotation {annotation}", annotation=f"{ENVIRONMENT_ANNOTATION}: {name}")
        stderr().print(localized(said))


def build_environment(name: str, read: Sequence[Requirements], settings: Settings) -> Manifest:
    """The Environment. Options override the files. Raises `UserError` with every problem at once."""
    if problems := find_problems(read, settings):
        raise UserError(*problems, phrase("nothing was created"))
    return build_manifest(name, read, settings)


def _read_text(file: str) -> str:
    return sys.stdin.read() if file == "-" else read_text(file)


def _build_source(files: Sequence[str]) -> Source | None:
    """None for standard input, which cannot be read again."""
    return Source(tuple(str(Path(file).resolve()) for file in files)) if files and "-" not in files else None


def _now() -> str:
    return format_time(time.time())


@command.command(name="update")
@click.argument("name", metavar="NAME", shell_complete=complete_environments)
@click.option(
    "-r", "--requirement", "files", multiple=True, metavar="FILE", help="A requirements.txt in place of its own."
)
@click.option("--add", "added", multiple=True, metavar="PACKAGE", help="A further package, as in opencv-python>=4.")
@click.option("--remove", "removed", multiple=True, metavar="PACKAGE", help="A package that --add has added.")
@_settings_options(
    image="An image it stands for, in place of its own.", index="The package index, in place of its own."
)
def update(name: str, files: tuple[str, ...], added: tuple[str, ...], removed: tuple[str, ...], **typed: Any) -> None:
    """Change an environment and build it anew. Without options its requirements files are read again.

    \b
    paddock env update mine
    paddock env update mine --add opencv-python
    paddock env update mine -r requirements.txt --python '>=3.11' --env FLAGS_use_mkldnn=1

    Jobs that run keep the packages that they have; those that start afterwards take the new ones.
    """
    changes = Changes(**typed, added=added, removed=removed)

    texts = [read_requirements(file, _read_text) for file in files]  # once, as one may be standard input

    def change(before: Manifest) -> Manifest:
        after = _change(before, files, texts, changes)
        return with_request(after, time.time()) if is_built_anew(before["spec"], after["spec"]) else after

    async def work(client: Client, place: ClusterChoice) -> str:
        before, after = await replace_environment(client, partial(fetch_environment, client, name), change)
        said = find_differences(before.get("spec") or {}, after["spec"])
        stdout().print(f"environment/{name} {'updated' if said else 'unchanged'}")
        for each in (*said, *_explain_seed(before, after)):
            stderr().print(localized(each))
        return annotations_of(after)[BUILD_REQUESTED] if is_built_anew(before["spec"], after["spec"]) else ""

    if not (request := run_with_client(work)):
        return
    try:
        _build(name, request)
    except Failed as failed:
        undo = shlex.join(["paddock", "env", "update", name, *(f"--remove={requirement_name(each)}" for each in added)])
        raise Failed(*failed.said, *([phrase("undo: {command}", command=undo)] if added else [])) from None


def _change(before: Manifest, files: tuple[str, ...], texts: Sequence[Requirements], changes: Changes) -> Manifest:
    """`texts`: what is in `files`. Raises `UserError` with every problem."""
    recorded, given = read_source(before), _build_source(files)
    if not files and recorded is None and not changes.any:
        raise UserError(
            phrase(
                "environment {name} was made of no file that can be read again: say what is to change, with -r FILE, "
                "--add PACKAGE, --python, --image, --env, --torch-backend or --index-url",
                name=name_of(before),
            )
        )
    read = texts if files else read_files_of(before)
    source = choose_source(recorded, given, names_files=bool(files))
    check_changes(changes, read, source, before)
    return change_environment(before, read, source, changes, _now())


def check_changes(
    changes: Changes, read: Sequence[Requirements], source: Source | None, before: Mapping[str, Any]
) -> None:
    """Raises `UserError` with every problem of the options and of the files at once. `before`: the Environment."""
    if problems := find_change_problems(changes, read, source, before):
        raise UserError(*problems, phrase("nothing was changed"))


def _explain_seed(before: Manifest, after: Manifest) -> list[Phrase]:
    if not is_as_seeded(before) or is_as_seeded(after):
        return []
    return [
        phrase(
            "{name} comes with Paddock: from now on it stays as you have changed it, also when a newer Paddock brings "
            "another. `paddock env rm {name}` takes the change back",
            name=name_of(before),
        )
    ]


@command.command(name="build")
@click.argument("name", metavar="NAME", shell_complete=complete_environments)
def build(name: str) -> None:
    """Build an environment now, so that no job has to wait for it. One that failed is tried again.

    \b
    paddock env build mine

    Its requirements files are read again, as before each run.
    """
    _build(name)


def _build(name: str, request: str = "") -> None:
    """Follows a build to its end. `request`: one that has been made."""
    from paddock.cli.follow.building import Builds
    from paddock.cli.output.screen import Screen

    async def work(client: Client, place: ClusterChoice) -> None:
        environment = await fetch_environment(client, name)
        asked = request
        if not request:
            await refresh_environments(client, [environment], _tell, phrase("nothing was built"))
            patch = build_request(time.time())
            asked = annotations_of(patch)[BUILD_REQUESTED]
            await client.patch(ENVIRONMENTS, "", name, patch)
        with Screen(language=readers_language()) as screen:
            status = await _follow_build(client, place, name, asked, Builds(screen), screen)
            message = str(status.get("message") or "")
            what = Foreign(message) if message else phrase("built")
            screen.answer(phrase("environment {name}: ready ({what})", name=name, what=what))

    try:
        run_with_client(work)
    except KeyboardInterrupt:
        stderr().print(localized(phrase("the build goes on; `{command}` shows it", command="paddock env list")))
        raise


def _tell(said: Phrase) -> None:
    stderr().print(localized(said))


def _explain_failed(environment: Manifest, place: ClusterChoice) -> list[Phrase]:
    """The builder's message, the lines that it is about, and next steps if the cluster's settings differ from this
    shell's."""
    from paddock.cli.follow.failed_environment import explain_lines
    from paddock.views.flags import build_next
    from paddock.views.steps import build_mending_steps, build_restart_steps

    name, status = name_of(environment), environment.get("status") or {}
    settings = place.find_other_settings() if status.get("fault") != "definition" else []
    mending = build_mending_steps(str(status.get("message") or ""))
    steps = build_next([*build_restart_steps(settings), *mending], place.flags)
    said = phrase("environment {name}: {what}", name=name, what=Foreign(str(status.get("message"))))
    return [said, *explain_lines(environment), *steps]


async def _follow_build(
    client: Client, place: ClusterChoice, name: str, request: str, builds: Any, screen: Any
) -> Manifest:
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
            raise Failed(*_explain_failed(event.object, place))
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
@click.option("--files", is_flag=True, hidden=True)  # what was built goes anyway; scripts have it
@namespace_option
@click.pass_context
def rm(context: click.Context, name: str, files: bool, namespace: str) -> int:
    """Remove an environment that no unfinished job needs, and what was built from it. A job that needs it again, as of
    `paddock history`, has it built anew.

    \b
    paddock env rm mine
    paddock env rm env-3f2a9c01de77 --context prod    a claim that no job mounts

    The cluster may be up or down, and is not started. `paddock clean` removes the files of all that nobody uses.
    """
    if is_chosen(context):
        _remove_claim(name, namespace)
        return 0
    return run(_remove_environment(home(), name))


async def _remove_environment(place: Home, name: str) -> int:
    """Removes the object, then its files. Returns the exit code: 1 if files stay that could not be removed."""
    from paddock.app.cleaning.removal import remove
    from paddock.app.cleaning.things import Remainder, find_environment
    from paddock.cli.cluster.uses import fetch_all_needs, reach
    from paddock.environments.definition import read_definition
    from paddock.environments.directories import forget_pythons

    async with reach(place) as api:
        if api is None:
            raise UserError(
                phrase("there is no environment {name}: the cluster has never been started", name=repr(name))
            )
        environment = await fetch_environment(api, name)
        await _refuse_used(api, environment)
        await api.delete(ENVIRONMENTS, "", name)
        if SEED in annotations_of(environment):  # images of manifests stand for it
            await seed(api)
    needs = await fetch_all_needs(place)
    forget_pythons(place.cache / "environments", read_definition(environment))
    key = str((environment.get("status") or {}).get("key") or "")
    files = find_environment(place, name, key, needs) if key else None
    problem = remove(place, files, lambda: needs) if files is not None and not isinstance(files, Remainder) else None
    deleted = phrase("{object} deleted", object=f"environment/{name}")
    notes = [phrase("it comes with Paddock: it is there as it came, and is built when a job needs it")]
    notes = notes if SEED in annotations_of(environment) else []
    if isinstance(files, Remainder):
        deleted = phrase("{deleted}; its files are kept: {why}", deleted=deleted, why=files.why)
    elif files is not None and files.paths and problem is None:
        freed, *more = explain_freed(files.weight)
        deleted, notes = phrase("{deleted}; {freed}", deleted=deleted, freed=freed), [*more, *notes]
    stdout().print(localized(deleted))
    for line in [*([problem] if problem else []), *notes]:
        stderr().print(localized(line))
    return 1 if problem else 0


async def _refuse_used(api: Api, environment: Manifest) -> None:
    """Raises `UserError` if an unfinished job or pod runs in it, or will."""
    name = name_of(environment)
    jobs, pods = await fetch_all(api, KINDS, ""), (await api.list(PODS)).items
    if users := read_users((await api.list(ENVIRONMENTS)).items, starmap(read_plan, jobs), pods, time.time()).get(name):
        raise UserError(
            phrase(
                "environment {name} is in use by {user}: it can be removed when that has ended",
                name=name,
                user=name_users(users),
            )
        )


def _remove_claim(name: str, namespace: str) -> None:
    from paddock.cli.cluster.filled_claims import remove_claim

    async def work(client: Client, place: ClusterChoice) -> None:
        await remove_claim(client, Key(namespace, name))

    run_with_client(work)
    stdout().print(localized(phrase("{object} deleted", object=f"persistentvolumeclaim/{name}")))
