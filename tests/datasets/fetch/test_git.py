"""Repositories by the real git, from a directory and by http."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from aiohttp import web

from datasets.fetch.calls import must_fail, must_fetch, read_tree
from datasets.fetch.repositories import Repository
from datasets.fetch.web import Server, serve
from paddock.datasets.fetch.repositories import open_repository
from paddock.datasets.fetching import Fault, Progress, Report, Request
from support.loopback import need_ipv6
from support.programs import need

FILES: dict[str, bytes | str | None] = {
    "README.md": b"words",
    "deep/er/a": b"a" * 5000,
    "link": "deep/er/a",
    "back": "deep/../README.md",
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    need("git")
    return Repository(tmp_path / "repository")


def build(repository: Repository, tmp_path: Path, **options: object) -> Request:
    return Request(**{"uri": repository.uri, "target": str(tmp_path / "t"), **options})


def build_wanted(files: dict) -> dict[str, bytes]:
    """The files as a reader sees them, who follows links."""
    return {name: b"a" * 5000 if name == "link" else b"words" if name == "back" else it for name, it in files.items()}


async def test_the_default_branch_comes_without_its_history(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"gone": b"old"})
    commit = repository.commit({**FILES, "gone": None})
    said: list[Report] = []
    end = await must_fetch(build(repository, tmp_path), said)
    assert (end.revision, end.files, end.size) == (commit, 4, 5005)
    assert read_tree(tmp_path / "t") == build_wanted(FILES)
    assert not (tmp_path / "t/.git").exists() and not (tmp_path / "t/.paddock/git").exists()
    assert (tmp_path / "t/link").is_symlink()
    assert [each.phase for each in said if isinstance(each, Progress)][-1] == "verifying"


@pytest.mark.parametrize(
    "name",
    [
        "feature/one",
        "v1",
        pytest.param("v1-light", marks=pytest.mark.slow),
        pytest.param("commit", marks=pytest.mark.slow),
        pytest.param("short", marks=pytest.mark.slow),
        pytest.param("old", marks=pytest.mark.slow),
    ],
)
async def test_a_revision_is_a_branch_a_tag_or_a_commit(repository: Repository, tmp_path: Path, name: str) -> None:
    old = repository.commit({"a": b"old"})
    repository.git("checkout", "--quiet", "-b", "feature/one")
    one = repository.commit({"a": b"one"})
    repository.git("tag", "-a", "-m", "v1", "v1")
    repository.git("tag", "v1-light")
    repository.git("checkout", "--quiet", "main")
    revision = {"commit": one, "short": one[:10], "old": old}.get(name, name)
    end = await must_fetch(build(repository, tmp_path, revision=revision))
    assert end.revision == (old if name == "old" else one)
    assert read_tree(tmp_path / "t") == {"a": b"old" if name == "old" else b"one"}


@pytest.mark.slow
async def test_a_later_round_has_the_files_of_its_own_commit_alone(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"a": b"1", "b/c": b"2", "d": b"3"})
    await must_fetch(build(repository, tmp_path))
    (tmp_path / "t/stranger").write_bytes(b"x")
    repository.commit({"a": b"new", "b/c": None, "d": None, "d/e": b"4"})
    await must_fetch(build(repository, tmp_path, round=1))
    assert read_tree(tmp_path / "t") == {"a": b"new", "d/e": b"4"}


@pytest.mark.slow
async def test_what_a_killed_process_left_is_no_hindrance(repository: Repository, tmp_path: Path) -> None:
    repository.commit(FILES)
    for number, spoil in enumerate(("index.lock", "shallow.lock", "HEAD")):
        place = tmp_path / f"t{number}" / ".paddock/git"
        place.mkdir(parents=True)
        repository.git("--git-dir", str(place), "init", "--quiet")
        (place / spoil).write_bytes(b"")
        await must_fetch(build(repository, tmp_path, target=str(tmp_path / f"t{number}")))
        assert read_tree(tmp_path / f"t{number}") == build_wanted(FILES)


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("out", "../outside"),
        ("whole", "/etc/passwd"),
        pytest.param("in", ".paddock/files", marks=pytest.mark.slow),
        pytest.param("x/y", "../../o", marks=pytest.mark.slow),
        pytest.param("back", "../t/README.md", marks=pytest.mark.slow),
        pytest.param("x/back", "../../t/x/y", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
async def test_links_that_lead_out_are_refused(repository: Repository, tmp_path: Path, name: str, to: str) -> None:
    repository.commit({name: to})
    end = await must_fail(build(repository, tmp_path))
    assert end.fault == Fault.SOURCE
    assert f'a link "{name}"' in end.message
    assert not os.path.lexists(tmp_path / "t" / name)


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        ("100644", "../x"),
        pytest.param("100644", "..", marks=pytest.mark.slow),
        pytest.param("100644", ".paddock", marks=pytest.mark.slow),
        pytest.param("100644", "a\nb", marks=pytest.mark.slow),
    ],
)
async def test_names_that_lead_out_are_refused(repository: Repository, tmp_path: Path, mode: str, name: str) -> None:
    repository.commit_tree(mode, name)
    end = await must_fail(build(repository, tmp_path))
    assert end.fault == Fault.SOURCE
    assert read_tree(tmp_path / "t") == {}
    assert "the source has a file" in end.message


@pytest.mark.slow
async def test_a_tree_of_git_is_never_written(repository: Repository, tmp_path: Path) -> None:
    """`.git` in a tree would be a repository with hooks of its own: git itself refuses it."""
    repository.commit_tree("100644", ".git")
    end = await must_fail(build(repository, tmp_path))
    assert end.fault == Fault.SOURCE
    assert read_tree(tmp_path / "t") == {}


@pytest.mark.slow
async def test_links_in_the_target_are_not_followed(repository: Repository, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "t").mkdir()
    (tmp_path / "t/deep").symlink_to(outside)
    (tmp_path / "t/README.md").symlink_to(outside / "new")
    repository.commit(FILES)
    await must_fetch(build(repository, tmp_path))
    assert read_tree(tmp_path / "t") == build_wanted(FILES)
    assert os.listdir(outside) == []


@pytest.mark.slow
async def test_files_of_lfs_are_no_files_where_git_lfs_is_missing(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").symlink_to(need("git"))
    monkeypatch.setenv("PATH", str(programs))
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"
    repository.commit({"large.bin": pointer})
    end = await must_fail(build(repository, tmp_path))
    assert end.fault == Fault.MACHINE
    assert 'the file "large.bin" is kept in Git LFS, and git-lfs is not installed' in end.message


async def test_without_git_it_is_told(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    end = await must_fail(build(repository, tmp_path))
    assert end.fault == Fault.MACHINE
    assert end.message.startswith("git is not installed on this machine: install it")


@pytest.mark.parametrize(
    ("revision", "words"),
    [
        ("mian", 'has no branch, tag or commit "mian"; it has main: correct spec.source.revision'),
        pytest.param("f" * 40, "it has main", marks=pytest.mark.slow),
        pytest.param(
            "--upload-pack=touch x", "which is no name of a branch, a tag or a commit", marks=pytest.mark.slow
        ),
        pytest.param("a:b", "which is no name", marks=pytest.mark.slow),
        pytest.param("a..b", "which is no name", marks=pytest.mark.slow),
    ],
)
async def test_a_revision_that_is_not_there_is_told(
    repository: Repository, tmp_path: Path, revision: str, words: str
) -> None:
    repository.commit({"a": b"a"})
    end = await must_fail(build(repository, tmp_path, revision=revision))
    assert end.fault == Fault.SOURCE
    assert words in end.message


@pytest.mark.parametrize(
    ("uri", "fault", "words"),
    [
        ("git+file:///nowhere/at/all", Fault.SOURCE, "there is no repository file:///nowhere/at/all"),
        pytest.param(
            "git+http://127.0.0.1:9/x.git",
            Fault.NETWORK,
            "git cannot fetch http://127.0.0.1:9/x.git",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "git+ssh://git@127.0.0.1:9/x.git",
            Fault.NETWORK,
            "git cannot fetch ssh://127.0.0.1:9/x.git",
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_what_cannot_be_reached_is_told(tmp_path: Path, uri: str, fault: Fault, words: str) -> None:
    need("git")
    if "ssh" in uri:
        need("ssh")
    end = await must_fail(Request(uri=uri, target=str(tmp_path / "t")))
    assert (end.fault, words in end.message) == (fault, True), end


class TestByHttp:
    @pytest.fixture
    def server(self, repository: Repository) -> Server:
        """The files of a repository as any web server gives them, to whom the right name and password have."""
        repository.commit(FILES)
        repository.git("update-server-info")

        def give(request: web.Request) -> web.StreamResponse:
            if request.headers.get("Authorization") != "Basic YW5uOmh1c2g=":
                return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'})
            path = repository.path / ".git" / request.path.removeprefix("/words.git/")
            return web.Response(body=path.read_bytes()) if path.is_file() else web.Response(status=404)

        return Server(check=give)

    async def test_a_private_repository_comes_by_its_secret(self, server: Server, tmp_path: Path) -> None:
        async with serve(server):
            request = Request(
                uri=f"git+{server.url('words.git')}",
                target=str(tmp_path / "t"),
                secret={"username": "ann", "password": "hush"},
            )
            await must_fetch(request)
        assert read_tree(tmp_path / "t") == build_wanted(FILES)

    @pytest.mark.slow
    async def test_a_password_in_the_address_is_used_and_is_in_no_argument(
        self, server: Server, tmp_path: Path
    ) -> None:
        async with serve(server):
            url = server.url("words.git").replace("://", "://ann:hush@")
            await must_fetch(Request(uri=f"git+{url}", target=str(tmp_path / "t")))
        assert read_tree(tmp_path / "t") == build_wanted(FILES)
        with open_repository(url, {}, str(tmp_path)) as opened:
            assert "hush" not in " ".join((opened.url, *opened.options))

    @pytest.mark.slow
    async def test_passwords_of_the_home_directory_are_not_sent(
        self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / ".netrc").write_text("machine 127.0.0.1 login ann password hush\n")
        monkeypatch.setenv("HOME", str(tmp_path))
        async with serve(server):
            end = await must_fail(Request(uri=f"git+{server.url('words.git')}", target=str(tmp_path / "t")))
        assert "refuses" in end.message
        # Git 2.47 answers a 401 by an empty name and an empty password.
        assert {each.get("Authorization", "") for each in server.requests} <= {"", "Basic Og=="}

    @pytest.mark.slow
    @pytest.mark.parametrize("uri", ["git+http://[::1]:PORT/words.git", "git+http://ann:hush@[::1]:PORT/words.git"])
    async def test_a_host_by_its_address_of_ipv6_gets_its_password(
        self, server: Server, tmp_path: Path, uri: str
    ) -> None:
        need_ipv6()
        server.host = "::1"
        secret = {} if "@" in uri else {"username": "ann", "password": "hush"}
        async with serve(server):
            uri = uri.replace("PORT", str(server.port))
            await must_fetch(Request(uri=uri, target=str(tmp_path / "t"), secret=secret))
        assert read_tree(tmp_path / "t") == build_wanted(FILES)

    @pytest.mark.parametrize("secret", [{}, pytest.param({"token": "hush-wrong"}, marks=pytest.mark.slow)])
    async def test_without_it_nobody_is_asked(self, server: Server, tmp_path: Path, secret: dict) -> None:
        async with serve(server):
            uri = f"git+{server.url('words.git')}"
            end = await must_fail(Request(uri=uri, target=str(tmp_path / "t"), secret=secret))
        assert end.fault == Fault.SOURCE
        assert "refuses" in end.message and "spec.source.secretName" in end.message
        assert "hush" not in end.message


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git that writes its arguments and what it is given into a file, repeats the password, and fails."""
    log, programs = tmp_path / "told", tmp_path / "bin"
    programs.mkdir()
    (programs / "git").write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >> {log}\necho "fatal: $PADDOCK_GIT_PASSWORD is of no use" >&2\ncase "$*" in\n'
        "*fetch*) exit 1 ;;\nesac\n"
    )
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return log


@pytest.mark.parametrize(
    ("password", "secret"),
    [
        ("hush-hush", {}),
        pytest.param("hu%2Fsh%40hush", {}, marks=pytest.mark.slow),
        pytest.param("hu%C3%A9sh%20hush", {}, marks=pytest.mark.slow),
        pytest.param("hush:hush", {}, marks=pytest.mark.slow),
        pytest.param("hush'\"$(x)", {}, marks=pytest.mark.slow),
        pytest.param("", {"username": "ann", "password": "hush/@hush"}, marks=pytest.mark.slow),
        pytest.param("", {"token": "hush+/=hush"}, marks=pytest.mark.slow),
    ],
)
async def test_no_password_is_in_an_argument_or_in_what_is_said(
    tmp_path: Path, told: Path, password: str, secret: dict[str, str]
) -> None:
    login = f"ann:{password}@" if password else ""
    end = await must_fail(
        Request(uri=f"git+https://{login}host.example/x.git", target=str(tmp_path / "t"), secret=secret)
    )
    assert "https://host.example/x.git" in told.read_text()
    for text in (told.read_text(), end.message):
        assert "hush" not in text
    assert "git cannot fetch https://host.example/x.git: *** is of no use" in end.message


@pytest.mark.slow
async def test_a_short_password_does_not_spoil_a_message(tmp_path: Path, told: Path) -> None:
    end = await must_fail(Request(uri="git+https://ann:p@host.example/x.git", target=str(tmp_path / "t")))
    assert end.message.startswith("git cannot fetch https://host.example/x.git: ")
