"""paddock dataset

Datasets are API objects (paddock.dev/v1alpha1, namespaced), so kubectl can do the same. The cluster fetches them
(`datasets.library`); `rerun` adds one to `spec.round`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len

from paddock.cli.cluster.complete import complete_datasets
from paddock.cli.cluster.datasets import advise, explain_no_datasets, fetch_dataset, fetch_holding
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.options import namespace_option
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import choose_place, run_with_client
from paddock.cli.output.dataset_rows import HEADER, build_cells, build_lines
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.local_times import localize_times
from paddock.cli.output.rows import with_namespace
from paddock.cli.output.streams import print_line, write_json
from paddock.cli.output.terminal import print_table, stderr, stdout
from paddock.cli.verb import VerbGroup
from paddock.datasets.changes import asks_for_another_claim, build_replacement, build_rerun, is_same_spec
from paddock.datasets.manifests import Asked, build_manifest, find_problems, find_unreachable
from paddock.datasets.options import OPTIONS
from paddock.datasets.sources import show_source
from paddock.datasets.users import User
from paddock.kube.errors import AlreadyExists, NotFound
from paddock.kube.meta import DATASETS, Manifest, is_deleting, key_of, metadata, name_of, version_of
from paddock.views.environment_users import name_users
from paddock.words.phrases import Foreign, Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client

Command = Callable[..., Any]


@click.group(name="dataset", cls=VerbGroup)
def command() -> None:
    """Datasets: data that is fetched once, verified, and mounted read-only by jobs.

    \b
    paddock dataset create words --from https://example.com/words.txt --sha256 9f86d0…
    paddock dataset create imagenet --from s3://bucket/imagenet/ --endpoint https://oss-cn-beijing.aliyuncs.com
    paddock dataset create glue --from hf://datasets/nyu-mll/glue
    paddock dataset list
    paddock run job.yaml --data words:/data

    A job that mounts one waits until it is there. `paddock dataset rerun` fetches it again.
    """


def _source_options(command: Command) -> Command:
    for name, each in reversed(tuple(OPTIONS.items())):
        default = None if each.is_list else ""
        command = click.option(
            each.flag, name, multiple=each.is_list, default=default, metavar=each.metavar, help=each.help
        )(command)
    return command


@command.command(name="create")
@click.argument("name", metavar="NAME")
@click.option(
    "--from",
    "uri",
    required=True,
    metavar="URL",
    help="https://, s3://, git+https://, git+ssh://, hf://, modelscope://, claim://, file:///; or a directory.",
)
@_source_options
@click.option("--replace", is_flag=True, help="Where it exists: fetch it from here now, if nothing uses it.")
@click.option("--wait", "waits", is_flag=True, help="Follow it until it is there.")
@namespace_option
def create(name: str, replace: bool, waits: bool, namespace: str, **typed: Any) -> None:
    """Name data; it is fetched at once, in the background.

    \b
    paddock dataset create words --from https://example.com/words.txt
    paddock dataset create code --from git+https://example.com/team/data.git --revision v2 --wait
    paddock dataset create mine --from ./data
    """
    asked = Asked(name, _read_directory(typed.pop("uri")), **typed)
    if problems := find_problems(asked):
        raise UserError(*(said for _, said in problems))
    manifest = build_manifest(asked, namespace)

    async def work(client: Client, place: ClusterChoice) -> None:
        if place.home is None and (unreachable := find_unreachable(asked.uri)):
            raise UserError(unreachable)
        said = phrase("{object} created", object=f"dataset/{name}")
        try:
            made = await client.create(DATASETS, manifest, strict=True)
        except AlreadyExists:
            if not replace:
                raise UserError(await _explain_existing(client, place, namespace, name)) from None
            made, said = await _replace(client, place, manifest)
        except NotFound:
            raise UserError(explain_no_datasets(place)) from None
        stdout().print(localized(said))
        await _follow_or_tell(client, place, made, waits)

    _run(work, namespace, name)


async def _explain_existing(client: Client, place: ClusterChoice, namespace: str, name: str) -> Phrase:
    again = advise(place, namespace, "rerun", name)
    if users := await fetch_holding(client, await fetch_dataset(client, place, namespace, name)):
        return phrase(
            "dataset {name} exists already, and {user} uses it: `{command}` fetches it again; it can be removed or "
            "replaced when that has ended",
            name=name, user=name_users(users), command=again,
        )  # fmt: skip
    return phrase(
        "dataset {name} exists already: `{command}` fetches it again, `{other}` removes it, and --replace fetches it "
        "from here",
        name=name, command=again, other=advise(place, namespace, "rm", name),
    )  # fmt: skip


async def _replace(client: Client, place: ClusterChoice, manifest: Manifest) -> tuple[Manifest, Phrase]:
    """Another source for a dataset that exists. Raises `UserError` while somebody uses it, as a training would read
    other files than it began with; and for another claim, which cannot be had in place of one that has files."""
    name = name_of(manifest)
    before = await fetch_dataset(client, place, key_of(manifest).namespace, name)
    if is_deleting(before):
        raise UserError(phrase("dataset {name} is being deleted", name=name))
    if is_same_spec(manifest, before):
        return before, phrase("{object} is as it was", object=f"dataset/{name}")
    if users := await fetch_holding(client, before):
        said = phrase(
            "dataset {name} is in use by {user}: it can be replaced when that has ended",
            name=name, user=name_users(users),
        )  # fmt: skip
        raise UserError(said)
    if asks_for_another_claim(manifest, before):
        said = phrase(
            "dataset {name} keeps its claim: `{command}` removes both, and another claim can then be asked for",
            name=name, command=advise(place, key_of(manifest).namespace, "rm", name),
        )  # fmt: skip
        raise UserError(said)
    made = await client.patch(DATASETS, *key_of(before), build_replacement(manifest, before))
    return made, phrase("{object} replaced", object=f"dataset/{name}")


def _read_directory(text: str) -> str:
    """A directory as people type it, as an address. Raises `UserError` for a path that is none."""
    if "://" in text:
        return text
    if not text:
        raise UserError(phrase("--from is empty: write the address of the data, or a directory"))
    place = Path(text)
    if place.is_dir():
        return place.resolve().as_uri()
    if place.exists():
        raise UserError(
            phrase("--from {path} is a file, and a dataset is a directory: name the directory of it", path=text)
        )
    if text.startswith(("/", "./", "../", "~")) and not text.startswith("//"):  # which may have a password in it
        raise UserError(phrase("--from {path}: there is no such directory on this machine", path=text))
    return text


@command.command(name="list")
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", help="How to print it.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Of every namespace.")
@namespace_option
def list_(output: str, namespace: str, all_namespaces: bool) -> None:
    """List the datasets, how large they are and how far each is."""

    async def work(client: Client, place: ClusterChoice) -> tuple[list[Manifest], str]:
        try:
            found = (await client.list(DATASETS, "" if all_namespaces else namespace)).items
        except NotFound:
            raise UserError(explain_no_datasets(place)) from None
        return sorted(found, key=key_of), place.flags.of(namespace)

    found, flags = run_with_client(work)
    if output == "json":
        listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": found}
        print_line(write_json(listed))
        return
    if not found:
        stderr().print(localized(_explain_none(namespace, all_namespaces, flags)))
        return
    language, now = readers_language(), time.time()
    header: Sequence[str] = HEADER
    rows = [build_cells(each, now, language) for each in found]
    if all_namespaces:
        header, rows = with_namespace(found, header, rows)
    print_table(stdout(), header, rows, cut=True)


def _explain_none(namespace: str, all_namespaces: bool, flags: str) -> Phrase:
    how = phrase("`{command}` makes one", command=f"paddock dataset create NAME --from URL{flags}")
    if all_namespaces:
        return phrase("no datasets; {how}", how=how)
    return phrase("no datasets in namespace {namespace}; {how}", namespace=namespace, how=how)


@command.command(name="describe")
@click.argument("name", metavar="NAME", shell_complete=complete_datasets)
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@namespace_option
def describe(name: str, output: str, namespace: str) -> None:
    """Everything about one dataset, and who uses it.

    \b
    paddock dataset describe imagenet
    """

    async def work(client: Client, place: ClusterChoice) -> tuple[Manifest, list[User]]:
        dataset = await fetch_dataset(client, place, namespace, name)
        return dataset, await fetch_holding(client, dataset)

    dataset, users = run_with_client(work)
    if output == "json":
        print_line(write_json(dataset))
        return
    language = readers_language()
    facts = [(render(label, language), localize_times(fact)) for label, fact in build_lines(dataset, users, language)]
    width = max(cell_len(label) for label, _ in facts) + 2
    for label, fact in facts:
        stdout().print(label + " " * (width - cell_len(label)) + fact, soft_wrap=True)


@command.command(name="rerun")
@click.argument("name", metavar="NAME", shell_complete=complete_datasets)
@click.option("--wait", "waits", is_flag=True, help="Follow it until it is there.")
@namespace_option
def rerun(name: str, waits: bool, namespace: str) -> None:
    """Fetch a dataset again: what has changed at its source is fetched.

    \b
    paddock dataset rerun imagenet --wait

    On a laptop pods that run keep the files that they have. On a cluster the files in the claim are replaced.
    """

    async def work(client: Client, place: ClusterChoice) -> None:
        dataset = await fetch_dataset(client, place, namespace, name)
        if is_deleting(dataset):
            raise UserError(phrase("dataset {name} is being deleted", name=name))
        patch = build_rerun(int(dataset["spec"].get("round") or 0))
        patch["metadata"] = {"resourceVersion": version_of(dataset)}
        made = await client.patch(DATASETS, namespace, name, patch)
        stdout().print(localized(phrase("{object} is fetched again", object=f"dataset/{name}")))
        await _follow_or_tell(client, place, made, waits)

    _run(work, namespace, name)


@command.command(name="rm")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_datasets)
@namespace_option
def rm(names: tuple[str, ...], namespace: str) -> None:
    """Remove datasets that no unfinished job uses, and their files. A directory or claim of your own stays.

    \b
    paddock dataset rm imagenet
    """

    async def work(client: Client, place: ClusterChoice) -> None:
        found = [await fetch_dataset(client, place, namespace, name) for name in dict.fromkeys(names)]
        for dataset in found:
            if users := await fetch_holding(client, dataset):
                said = phrase(
                    "dataset {name} is in use by {user}: it can be removed when that has ended",
                    name=name_of(dataset), user=name_users(users),
                )  # fmt: skip
                raise UserError(said)
        for dataset in found:
            uid = str(metadata(dataset).get("uid") or "")
            await client.delete(DATASETS, namespace, name_of(dataset), uid=uid)
            stdout().print(localized(phrase("{object} deleted", object=f"dataset/{name_of(dataset)}")))

    run_with_client(work)


def _run(work: Callable[[Client, ClusterChoice], Any], namespace: str, name: str) -> None:
    try:
        run_with_client(work)
    except KeyboardInterrupt:
        command = advise(choose_place(), namespace, "describe", name)
        stderr().print(localized(phrase("it goes on; `{command}` shows how far it is", command=command)))
        raise


async def _follow_or_tell(client: Client, place: ClusterChoice, dataset: Manifest, waits: bool) -> None:
    from paddock.cli.follow.datasets import follow_dataset
    from paddock.cli.output.screen import Screen

    name = name_of(dataset)
    if not waits and not show_source(str(dataset["spec"]["source"]["uri"])).copied:
        return  # there is nothing to wait for
    if not waits:
        command = advise(place, key_of(dataset).namespace, "describe", name)
        stderr().print(localized(phrase("it is fetched now; `{command}` shows how far it is", command=command)))
        return
    with Screen(language=readers_language()) as screen:
        status = await follow_dataset(client, dataset, screen)
        what = Foreign(str(status.get("message") or ""))
        screen.answer(phrase("dataset {name}: ready ({what})", name=name, what=what))
