"""A base image with packages and code: everything is made here and the digest is known before a byte is sent. I/O.

Packages are one layer and the code another above it, so a changed line sends the code alone. Packages that were
installed once are kept by what they were made of (`~/.cache/paddock/images/packages`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from paddock.environments.progress import Progress
from paddock.environments.requirement_files import Requirements
from paddock.environments.uv import Uv
from paddock.images.base import Advance, Spool, fetch_contents, fetch_image, write_whole
from paddock.images.contents import Contents, find_packages, find_python
from paddock.images.credentials import Login, fetch_login
from paddock.images.errors import ImageError
from paddock.images.layers import GZIP_LEVEL, Entry, Stopped, Written, write_layer
from paddock.images.manifests import (
    Blob,
    Changes,
    Image,
    Layer,
    build_config,
    build_manifest,
    compute_digest,
    config_type,
)
from paddock.images.packages import PLACE, Wanted, describe, install
from paddock.images.platforms import Platform, Wheels, read_glibc
from paddock.images.references import Reference
from paddock.images.registry import Registry, build_scopes, open_registry
from paddock.kube.quantities import format_bytes
from paddock.words.phrases import Names, Phrase, counted, phrase

Notify = Callable[[Phrase], None]
Log = Callable[[str], Login | None]

DIRECTORY = "paddock/workdir"
"""Where the code lies in the image, without a slash at its begin."""
_KEPT = 20 * 2**30
"""Bytes of layers with packages that stay for later; the oldest go first."""
_CODE_LEVEL = 6
_TOLD = 4 * 2**20
"""Bytes between two tellings of what is packed."""
_LONGEST_WORK = 2 * 86400.0
"""Seconds. A folder of a build in which nothing was made for so long is of a command that was killed."""
_FORMAT = 1
"""Of a layer with packages. Increase it when its files change."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is asked for."""

    base: Reference
    target: Reference
    platform: Platform
    code: tuple[Entry, ...] = ()
    """The files below `DIRECTORY`; empty where none go."""
    requirements: Requirements | None = None
    file: str = ""
    """The name of the requirements file, for sentences."""
    python: str = ""
    """`3.11`, where the user says it."""
    program: str = "python"
    """The first word of the command, which may name another interpreter."""


@dataclass(frozen=True, slots=True)
class Built:
    """An image that is complete, but for what its registry lacks."""

    recipe: Recipe
    base: Image
    layers: tuple[Layer, ...]
    files: dict[str, Path]
    """Of the layers and the configuration, by digest."""
    config: Blob
    manifest: bytes
    spool: Path
    """Where layers of the base image lie that were downloaded on the way."""
    needed_user: bool = False
    """Whether the registry wanted to know who pushes."""

    @property
    def digest(self) -> str:
        return compute_digest(self.manifest)

    @property
    def tag(self) -> str:
        """Where none was asked for, one of the content: registries clear away what has no tag."""
        return self.recipe.target.tag or f"paddock-{self.digest.removeprefix('sha256:')[:12]}"

    @property
    def image(self) -> str:
        """What a manifest names: `registry.example.com/team/mnist@sha256:…`."""
        return f"{self.recipe.target.repository}@{self.digest}"


class Workplace:
    """Files of builds: what is kept, and a folder that goes with the end of the command."""

    def __init__(self, cache: Path) -> None:
        self.kept = cache / "images"
        self.kept.mkdir(parents=True, exist_ok=True)
        _clear_away(self.kept)
        self._folder = tempfile.TemporaryDirectory(prefix="work-", dir=self.kept)

    @property
    def folder(self) -> Path:
        return Path(self._folder.name)

    def make_folder(self) -> Path:
        """One more, of one image: a command may build several."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    def close(self) -> None:
        self._folder.cleanup()


def _clear_away(kept: Path) -> None:
    """Folders of commands that were killed."""
    for folder in kept.glob("work-*"):
        try:
            if time.time() - folder.stat().st_mtime > _LONGEST_WORK:
                shutil.rmtree(folder)
        except OSError:
            continue  # another command has just done it


def with_scheme(recipe: Recipe) -> Recipe:
    """The registry of the target is spoken to in one way, also for its base images. Pure."""
    base, target = recipe.base.repository, recipe.target.repository
    if base.host != target.host or not target.scheme:
        return recipe
    return replace(recipe, base=replace(recipe.base, repository=replace(base, scheme=target.scheme)))


async def open_both(recipe: Recipe, stack: AsyncExitStack) -> tuple[Registry, Registry]:
    """The repositories of the base image and of the target. Raises `ImageError`."""
    base, target = recipe.base.repository, recipe.target.repository
    source = await stack.enter_async_context(
        open_registry(base, await fetch_login(base.host), build_scopes(base, None, push=False))
    )
    sink = await stack.enter_async_context(
        open_registry(target, await fetch_login(target.host), build_scopes(target, base, push=True))
    )
    return source, sink


async def build(recipe: Recipe, place: Workplace, uv: Uv, notify: Notify, advance: Advance) -> Built:
    """Makes the layers and computes the manifest; sends nothing. Raises `ImageError`, OSError."""
    recipe = with_scheme(recipe)
    async with AsyncExitStack() as stack:
        source, sink = await open_both(recipe, stack)
        await sink.check_push()  # what is refused is refused before minutes of work
        base = await fetch_image(source, recipe.base, recipe.platform)
        made: list[tuple[Layer, Path]] = []
        if recipe.requirements is not None:
            spool = Spool(source, place.folder, keeps=lambda blob: source.host != sink.host)
            contents, unread = await fetch_contents(spool, base.layers, place.kept / "layers", advance)
            for said in unread:
                notify(said)
            made += await _build_packages(recipe, base, contents, place, uv, notify, advance)
        if recipe.code:
            written = await _write(place.make_folder() / "code.tar.gz", recipe.code, _CODE_LEVEL, advance)
            made.append((_layer(base, written, f"COPY {len(recipe.code)} files /{DIRECTORY}"), written.file))
        return _complete(recipe, base, made, place, needed_user=sink.had_to_say_who)


def _complete(
    recipe: Recipe, base: Image, made: Sequence[tuple[Layer, Path]], place: Workplace, *, needed_user: bool
) -> Built:
    layers = tuple(layer for layer, _ in made)
    has_packages = any(layer.what.startswith("RUN") for layer in layers)
    changes = Changes(
        layers,
        build_variables(base.variables) if has_packages else {},
        f"/{DIRECTORY}" if recipe.code else "",
        {"org.opencontainers.image.base.name": str(recipe.base), "org.opencontainers.image.base.digest": base.digest},
        recipe.platform,
    )
    content = build_config(base, changes)
    config = Blob(compute_digest(content), len(content), config_type(base))
    file = place.folder / f"config-{config.digest.removeprefix('sha256:')}.json"
    file.write_bytes(content)
    files = {layer.blob.digest: path for layer, path in made} | {config.digest: file}
    return Built(recipe, base, layers, files, config, build_manifest(base, config, layers), place.folder, needed_user)


def build_variables(base: dict[str, str]) -> dict[str, str]:
    """PYTHONPATH and PATH with the packages before what the base image has. Pure."""
    path = base.get("PATH") or "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    modules = base.get("PYTHONPATH", "")
    return {"PYTHONPATH": f"/{PLACE}:{modules}" if modules else f"/{PLACE}", "PATH": f"/{PLACE}/bin:{path}"}


def _layer(base: Image, written: Written, what: str) -> Layer:
    return Layer(Blob(written.digest, written.size, base.layer_type), written.diff_id, what)


async def _build_packages(
    recipe: Recipe, base: Image, contents: Contents, place: Workplace, uv: Uv, notify: Notify, advance: Advance
) -> list[tuple[Layer, Path]]:
    """The layer with the packages; none where the base image has them all."""
    assert recipe.requirements is not None
    wanted = choose_wanted(recipe, base, contents)
    kept, own = place.kept / "packages" / build_key(wanted), place.make_folder() / "packages.tar.gz"
    found = await asyncio.to_thread(_read_kept, kept, own)
    if found is None:

        def report(progress: Progress) -> None:
            advance(progress.explain(), 0, 0)

        installed = await install(wanted, place.make_folder(), uv, report)
        written = await _write(own, installed.entries, GZIP_LEVEL, advance) if installed.entries else None
        found = written, installed.names, installed.replaced
        await asyncio.to_thread(_keep, kept, found)
        await asyncio.to_thread(_forget_oldest, kept.parent)
    written, names, replaced = found
    for said in explain_packages_made(wanted, written, names, replaced):
        notify(said)
    if written is None:
        return []
    return [(_layer(base, written, f"RUN pip install {describe(names)}"), written.file)]


def choose_wanted(recipe: Recipe, base: Image, contents: Contents) -> Wanted:
    """For which Python and which machines. Raises `ImageError` where the base image does not tell its Python. Pure."""
    assert recipe.requirements is not None
    variables = base.variables
    told = ".".join(variables.get("PYTHON_VERSION", "").split(".")[:2])  # as Docker's official images have it
    python = recipe.python or (told if told.startswith("3.") else "")
    python = python or find_python(contents, variables, recipe.program)
    if not python:
        raise ImageError(
            phrase(
                "{image} does not tell which Python it has: neither PYTHON_VERSION nor a file python3.X on its PATH; "
                "name the version by --image-python, as in --image-python 3.11",
                image=str(recipe.base),
            ),
            is_mistake=True,
        )
    platform = base.platform if base.platform.architecture else recipe.platform
    glibc = read_glibc("\n".join(contents.releases.values()), contents.libraries)
    musl = any(each.startswith("ld-musl") for each in contents.libraries)
    return Wanted(recipe.requirements, recipe.file, python, Wheels(platform, musl, None if musl else glibc),
                  tuple(find_packages(contents, python)))  # fmt: skip


def build_key(wanted: Wanted) -> str:
    """Of what a layer with packages is made of. Pure."""
    requirements = wanted.requirements
    content = [
        _FORMAT, sorted(requirements.packages), requirements.index_url, requirements.extra_index_urls, wanted.python,
        wanted.wheels.uv, [(each.name, each.version) for each in wanted.there],
        *([requirements.options] if requirements.options else ()),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:20]


def explain_packages_made(
    wanted: Wanted, written: Written | None, names: Sequence[str], replaced: Sequence[str]
) -> list[Phrase]:
    """What is told of the packages. Pure."""
    if written is None:
        return [phrase("the base image has all packages of {file}", file=wanted.file)]
    said = [
        counted(
            "the image gets {count} package of {file}, for Python {version} on {platform}: {names} ({size})",
            "the image gets {count} packages of {file}, for Python {version} on {platform}: {names} ({size})",
            count=len(names), file=wanted.file, version=wanted.python, platform=str(wanted.wheels),
            names=Names(tuple(names)), size=format_bytes(written.size),
        )
    ]  # fmt: skip
    if replaced:
        said.append(
            phrase("{names} of the base image is hidden by another version, which {file} asks for",
                   names=Names(tuple(replaced)), file=wanted.file)
        )  # fmt: skip
    return said


async def _write(file: Path, entries: Sequence[Entry], level: int, advance: Advance) -> Written:
    """In a thread, which ends where the caller is cancelled. Raises `ImageError`, OSError."""
    stopped, loop = threading.Event(), asyncio.get_running_loop()
    whole = sum(each.source.stat().st_size for each in entries if each.source is not None)
    done = told = 0

    def count(size: int) -> None:
        nonlocal done, told
        if stopped.is_set():
            raise Stopped
        done += size
        if done - told >= _TOLD:
            told = done
            loop.call_soon_threadsafe(advance, "packing", min(done, whole), whole)

    try:
        return await asyncio.to_thread(write_layer, file, entries, level=level, count=count)
    except tarfile.TarError as error:
        raise ImageError(phrase("a file changed while it was read: try again")) from error
    finally:
        stopped.set()


Kept = tuple[Written | None, tuple[str, ...], tuple[str, ...]]


def _read_kept(place: Path, own: Path) -> Kept | None:
    """What was made before of the same. The layer is `own` then: another command may forget the one that is kept."""
    try:
        record = json.loads(place.with_suffix(".json").read_bytes())
        written = record["layer"]
        if written is not None:
            _share(place.with_suffix(".tar.gz"), own)
            written = Written(own, written["digest"], written["diff_id"], written["size"])
            if own.stat().st_size != written.size:
                own.unlink()  # what is written in its place must not go into the file that others share
                return None
        place.with_suffix(".json").touch()
        return written, tuple(record["names"]), tuple(record["replaced"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _keep(place: Path, made: Kept) -> None:
    written, names, replaced = made
    place.parent.mkdir(parents=True, exist_ok=True)
    if written is not None:
        new = written.file.with_suffix(".new")
        _share(written.file, new)
        new.replace(place.with_suffix(".tar.gz"))
    layer = {**asdict(written), "file": ""} if written is not None else None
    write_whole(place.with_suffix(".json"), json.dumps({"layer": layer, "names": names, "replaced": replaced}))


def _share(file: Path, own: Path) -> None:
    """The file under a second name: it is there for as long as one of them is."""
    own.unlink(missing_ok=True)
    try:
        own.hardlink_to(file)
    except OSError:  # a file system without such links
        shutil.copyfile(file, own)


def _forget_oldest(folder: Path) -> None:
    """Of the layers those that were not used for longest, beyond `_KEPT` bytes. The last one stays."""
    records = [(_stat(each), each.with_suffix("").with_suffix(".tar.gz"), each) for each in folder.glob("*.json")]
    total = 0
    for number, (_, layer, record) in enumerate(sorted(records, key=lambda each: each[0][0], reverse=True)):
        total += _stat(layer)[1]
        if number and total > _KEPT:
            layer.unlink(missing_ok=True)
            record.unlink(missing_ok=True)


def _stat(file: Path) -> tuple[float, int]:
    """When it was changed, and its bytes; zeros where it is none, or was forgotten by another command."""
    try:
        found = file.stat()
    except OSError:
        return 0.0, 0
    return found.st_mtime, found.st_size
