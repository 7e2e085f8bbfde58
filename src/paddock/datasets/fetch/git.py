"""The files of one revision of a repository, without its history, by the program git.

Git writes into the dataset itself; what it knows is in `.paddock/git`, and is gone at the end. Before it writes, every
name of the tree is checked. A fetch that is cut is begun anew, as git cannot go on within a pack; a checkout goes on.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.links import find_end
from paddock.datasets.fetch.meter import FETCHING, VERIFYING, Meter
from paddock.datasets.fetch.names import check_name, show
from paddock.datasets.fetch.processes import Ended, run_program
from paddock.datasets.fetch.repositories import Repository, open_repository
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetch.tries import Patience, Tries, TryAgain
from paddock.datasets.fetching import STATE_DIRECTORY, Fault, Fetched, Request
from paddock.datasets.sources import Source, hide
from paddock.kube.nearness import nearest
from paddock.words.phrases import Phrase, phrase

_LINK, _MODULE = "120000", "160000"
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_BAD_REVISION = re.compile(r"^[-+/]|[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")
_NOT_SHALLOW = re.compile(r"dumb http|does not support shallow|unadvertised object|not our ref", re.IGNORECASE)
_NO_REVISION = re.compile(r"couldn't find remote ref|invalid refspec|no such remote ref|unadvertised|not our ref", re.I)
_RECEIVED = re.compile(r"Receiving objects: +\d+% \((\d+)/(\d+)\)(?:, ([\d.]+) (bytes|[KMGT]iB))?")
_WRITTEN = re.compile(r"Updating files: +\d+% \((\d+)/(\d+)\)")
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_POINTER = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A file of a tree, a link (`mode` 120000), or another repository (160000)."""

    mode: str
    size: int
    name: str


async def fetch(request: Request, source: Source, target: Target, meter: Meter, patience: Patience) -> Fetched:
    """The files of `spec.source.revision`. Raises `FetchError` and OSError."""
    if _BAD_REVISION.search(request.revision):
        raise FetchError(
            phrase(
                "spec.source.revision is {found}, which is no name of a branch, a tag or a commit",
                found=show(request.revision),
            )
        )
    with open_repository(source.place, request.secret, target.state_path) as repository:
        clone = Clone(repository, target, meter, request.revision)
        return await clone.fetch(patience)


class Clone:
    """A repository that is being written into a target."""

    def __init__(self, repository: Repository, target: Target, meter: Meter, revision: str) -> None:
        self._repository, self._target, self._meter, self._revision = repository, target, meter, revision
        self._directory = Path(target.state_path) / "git"
        self._received = 0

    async def fetch(self, patience: Patience) -> Fetched:
        await self._prepare()
        commit = await self._receive(Tries(self._meter, patience))
        leaves = await self._read_tree(commit)
        self._check(leaves)
        await self._write(commit, leaves)
        size = self._verify(leaves)
        shutil.rmtree(self._directory)
        files = sum(leaf.mode != _MODULE for leaf in leaves)
        return Fetched(size=size, files=files, fetched=self._received, revision=commit)

    async def _git(self, *words: str, read: Callable[[str], bool] = lambda line: False) -> Ended:
        place = f"--git-dir={self._directory}", f"--work-tree={self._target.path}"
        command = ["git", *place, *self._repository.options, *words]
        return await run_program(command, self._repository.environ, read=read)

    async def _must(self, *words: str, read: Callable[[str], bool] = lambda line: False) -> Ended:
        ended = await self._git(*words, read=read)
        if ended.code != 0:
            raise self._repository.explain(ended.said, self._revision)
        return ended

    async def _prepare(self) -> None:
        """An empty repository, or that of an earlier process, without the locks that it left."""
        for each in self._directory.rglob("*.lock"):
            each.unlink()
        if self._directory.exists() and (await self._git("rev-parse", "--git-dir")).code != 0:
            shutil.rmtree(self._directory)
        await self._must("init", "--quiet", "--template=")

    async def _receive(self, tries: Tries) -> str:
        """The commit. Raises `FetchError`."""
        while True:
            self._meter.enter(FETCHING)
            try:
                return await self._receive_once()
            except TryAgain as problem:
                await tries.wait(problem)

    async def _receive_once(self) -> str:
        wanted = self._revision or "HEAD"
        ended = await self._fetch_by("--depth=1", "--", self._repository.url, wanted)
        if ended.code == 0:
            return await self._read_commit("FETCH_HEAD")
        # A server may give commits only by a branch, and one without the protocol no part of the history.
        if _NOT_SHALLOW.search(ended.said) or (_COMMIT.fullmatch(wanted) and _NO_REVISION.search(ended.said)):
            every = "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+HEAD:refs/paddock/HEAD"
            ended = await self._fetch_by("--update-head-ok", "--", self._repository.url, *every)
            if ended.code == 0:
                return await self._find_commit(wanted if self._revision else "refs/paddock/HEAD")
        elif _NO_REVISION.search(ended.said):
            raise await self._explain_no_revision()
        raise self._repository.explain(ended.said, self._revision)

    async def _fetch_by(self, *words: str) -> Ended:
        options = "--progress", "--no-tags", "--no-recurse-submodules", "--force", "--no-write-commit-graph"
        return await self._git("fetch", *options, *words, read=self._read_progress)

    async def _find_commit(self, wanted: str) -> str:
        for each in (wanted, f"refs/heads/{wanted}", f"refs/tags/{wanted}"):
            if (await self._git("rev-parse", "--quiet", "--verify", f"{each}^{{commit}}")).code == 0:
                return await self._read_commit(each)
        raise await self._explain_no_revision()

    async def _read_commit(self, name: str) -> str:
        return (await self._must("rev-parse", "--verify", f"{name}^{{commit}}")).output.decode().strip()

    async def _explain_no_revision(self) -> FetchError:
        ended = await self._git("ls-remote", "--heads", "--tags", "--", self._repository.url)
        lines = ended.output.decode(errors="replace").splitlines()
        names = [line.partition("\t")[2].split("/", 2)[-1] for line in lines if not line.endswith("^{}")]
        near = nearest(self._revision, names) or ", ".join(names[:3])
        uri, wanted = hide(self._repository.url), show(self._revision)
        if not near:
            said = phrase(
                "{uri} has no branch, tag or commit {name}: correct spec.source.revision; a commit has 40 characters",
                uri=uri, name=wanted,
            )  # fmt: skip
        else:
            said = phrase(
                "{uri} has no branch, tag or commit {name}; it has {names}: correct spec.source.revision; a commit has "
                "40 characters",
                uri=uri, name=wanted, names=near,
            )  # fmt: skip
        return FetchError(said)

    def _read_progress(self, line: str) -> bool:
        """Objects stand for files until the files are known."""
        if found := _RECEIVED.search(line):
            count = round(float(found[3]) * _UNITS[found[4]]) if found[3] else 0
            self._received = max(self._received, count)
            self._meter.files, self._meter.all_files = int(found[1]), int(found[2])
            self._meter.done = self._meter.fetched = self._received
            self._meter.tick()
            return True
        if found := _WRITTEN.search(line):
            self._meter.files = int(found[1])
            self._meter.tick()
            return True
        return "% (" in line or line.startswith("remote: ") or "Total" in line

    async def _read_tree(self, commit: str) -> list[Leaf]:
        output = (await self._must("ls-tree", "-r", "-l", "-z", "--full-tree", commit)).output
        return list(_read_leaves(output))

    def _check(self, leaves: list[Leaf]) -> None:
        """Names, before the first is written, and room on the disk."""
        for leaf in leaves:
            check_name(leaf.name)
        self._meter.done = 0
        self._meter.files = 0
        self._meter.expect(0, len(leaves))
        self._target.check_space(sum(leaf.size for leaf in leaves))

    async def _write(self, commit: str, leaves: list[Leaf]) -> None:
        self._meter.enter(FETCHING)
        await self._must("checkout", "--force", "--detach", "--progress", commit, read=self._read_progress)
        await self._must("clean", "-ffdxq", "-e", f"/{STATE_DIRECTORY}")

    def _verify(self, leaves: list[Leaf]) -> int:
        """Bytes of all files. Raises `FetchError` for links that lead out, and for files of LFS that are not there."""
        self._meter.enter(VERIFYING)
        root = Path(self._target.path)
        links = {leaf.name: str((root / leaf.name).readlink()) for leaf in leaves if leaf.mode == _LINK}
        size = 0
        for leaf in leaves:
            path = root / leaf.name
            if leaf.mode == _LINK:
                _check_link(path, leaf.name, links)
            elif leaf.mode != _MODULE:
                size += path.lstat().st_size
                if 100 < leaf.size < 1024 and _is_pointer(path):
                    raise FetchError(_explain_pointer(leaf.name), Fault.MACHINE)
        self._meter.expect(size, len(leaves))
        self._meter.done, self._meter.files = size, len(leaves)
        return size


def _read_leaves(output: bytes) -> Iterator[Leaf]:
    """The leaves in the output of `git ls-tree -r -l -z`: mode, type, object, size (none for another repository), then
    the name."""
    for line in output.split(b"\0"):
        if line:
            facts, _, name = line.partition(b"\t")
            mode, _, _, size = facts.decode().split()
            yield Leaf(mode, int(size) if size.isdigit() else 0, name.decode(errors="surrogateescape"))


def _check_link(path: Path, name: str, links: Mapping[str, str]) -> None:
    end = find_end(name, links)
    if end is None:
        path.unlink()
        said = phrase(
            "the source has a link {file} to {found}, which leads out of the dataset: remove it there",
            file=show(name), found=show(links[name]),
        )  # fmt: skip
        raise FetchError(said)
    if end.startswith(STATE_DIRECTORY):
        path.unlink()
        said = phrase("the source has a link {file} into Paddock's own directory: remove it there", file=show(name))
        raise FetchError(said)


def _is_pointer(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return file.read(len(_POINTER)) == _POINTER
    return False


def _explain_pointer(name: str) -> Phrase:
    return phrase(
        "the file {file} is kept in Git LFS, and git-lfs is not installed on this machine: install it (apt-get install "
        "git-lfs)",
        file=show(name),
    )
