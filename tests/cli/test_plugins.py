"""`paddock --context C` where the kubeconfig names a credential plug-in, as a user types it: real processes, and the
embedded API over TLS as the cluster."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from client.plugins import V1, V1BETA1, build_answer, write_script
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.client.kubeconfig import read_config
from support import fork_server
from support.operator_seam import install_jobs


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


class User:
    """Somebody with a kubeconfig whose only user signs in by a plug-in."""

    def __init__(self, server: Server, directory: Path) -> None:
        self.directory, self.kubeconfig = directory, directory / "config"
        self._config: dict[str, Any] = yaml.safe_load(server.kubeconfig.read_text())
        self.token: str = self._config["users"][0]["user"]["token"]
        self.context: str = self._config["current-context"]
        self.asked = directory / "asked"

    def signs_in(self, *lines: str, **entry: Any) -> None:
        """By a script of these lines, whose variable `asked` is what it is told."""
        asked = f"asked = os.environ['KUBERNETES_EXEC_INFO']; open({str(self.asked)!r}, 'a').write(asked + '\\n')"
        write_script(self.directory / "plugin", asked, *lines)
        self.names(**{"apiVersion": V1, "interactiveMode": "IfAvailable", "command": "./plugin"} | entry)

    def names(self, **entry: Any) -> None:
        user = {"name": self._config["users"][0]["name"], "user": {"exec": entry}}
        self.kubeconfig.write_text(yaml.safe_dump(self._config | {"users": [user]}))

    def was_asked(self) -> list[Any]:
        return [json.loads(line)["spec"] for line in self.asked.read_text().splitlines()] if self.asked.exists() else []

    def environment(self, **variables: str) -> dict[str, str]:
        own = {"PADDOCK_HOME": str(self.directory / "home"), "KUBECONFIG": str(self.kubeconfig), "NO_COLOR": "1"}
        without = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PADDOCK_"))}
        return without | own | variables

    async def start(
        self,
        *words: str,
        stdin: int = asyncio.subprocess.DEVNULL,
        stderr: int = asyncio.subprocess.PIPE,
        **variables: str,
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "paddock.cli.main", *words, env=self.environment(**variables), cwd=self.directory,
            stdin=stdin, stdout=asyncio.subprocess.PIPE, stderr=stderr,
        )  # fmt: skip

    async def paddock(self, *words: str, **variables: str) -> Ended:
        environment = self.environment(**variables)
        assert fork_server.may_fork(environment)
        ended = await asyncio.to_thread(fork_server.run, words, environment, 120.0, str(self.directory))
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    async def get(self) -> Ended:
        return await self.paddock("--context", self.context, "get")


async def end(process: asyncio.subprocess.Process) -> Ended:
    try:
        async with asyncio.timeout(120):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return Ended(process.returncode or 0, (out or b"").decode(), (err or b"").decode())


@pytest.fixture
async def user(tmp_path: Path) -> AsyncIterator[User]:
    api = await LocalApi.open(tmp_path / "store")
    await install_jobs(api)
    server = Server(api, tmp_path / "server")
    (tmp_path / "server").mkdir(exist_ok=True)
    await server.start()
    try:
        yield User(server, tmp_path)
    finally:
        await server.stop()
        await api.close()


def give(token: str, version: str = V1) -> str:
    return f"print({json.dumps(build_answer(version, token=token))!r})"


async def test_a_plugin_that_works_is_not_seen(user: User) -> None:
    user.signs_in("sys.stderr.write('a warning')", give(user.token))
    assert await user.get() == Ended(0, "", "no jobs in namespace default\n")
    assert user.was_asked() == [{"interactive": False}]


async def test_v1beta1_and_the_cluster_that_is_told(user: User) -> None:
    user.signs_in(give(user.token, V1BETA1), apiVersion=V1BETA1, interactiveMode=None, provideClusterInfo=True)
    assert (await user.get()).code == 0
    (told,) = user.was_asked()
    assert sorted(told["cluster"]) == ["certificate-authority-data", "config", "server"]


async def test_a_plugin_that_is_not_installed_is_a_sentence(user: User) -> None:
    user.names(apiVersion=V1, interactiveMode="Never", command="no-such-plugin", installHint="See\nhttps://example.com")
    name = read_config(str(user.kubeconfig)).plugin
    assert name is not None
    assert await user.get() == Ended(
        2,
        "",
        f"the credential plug-in no-such-plugin (user {name.user!r} in {user.kubeconfig}) is not installed: no "
        "directory of PATH has it. The kubeconfig says: See\nhttps://example.com\n",
    )


async def test_a_plugin_that_fails_says_why_and_what_it_wrote(user: User) -> None:
    user.signs_in("sys.stderr.write('Your session has ended.\\nRun `aws sso login`\\n'); sys.exit(255)")
    ended = await user.get()
    assert (ended.code, ended.out) == (1, "")
    assert "failed with exit code 255. You may have to sign in again" in ended.err
    assert ended.err.endswith("It wrote:\nYour session has ended.\nRun `aws sso login`\n")


async def test_a_plugin_whose_token_is_not_accepted_is_named(user: User) -> None:
    user.signs_in(give("another-token-0123456789"))
    ended = await user.get()
    assert ended.code == 1 and "does not accept what the credential plug-in" in ended.err
    assert "another-token" not in ended.err and len(user.was_asked()) == 2


async def test_a_plugin_that_always_asks_needs_a_terminal(user: User) -> None:
    user.signs_in(give(user.token), interactiveMode="Always")
    ended = await user.get()
    assert ended.code == 1 and "asks on a terminal (interactiveMode: Always), and has none here" in ended.err
    assert user.was_asked() == []


@pytest.mark.parametrize("mode", ["IfAvailable", pytest.param("Always", marks=pytest.mark.slow)])
async def test_on_a_terminal_it_may_ask(user: User, mode: str) -> None:
    """What is typed is the token, and the question is seen."""
    ask = "sys.stderr.write('Password: '); sys.stderr.flush(); token = input()"
    answer = f"answer = json.loads({json.dumps(build_answer())!r}); answer['status']['token'] = token"
    user.signs_in(ask, answer, "print(json.dumps(answer))", interactiveMode=mode)
    ours, theirs = pty.openpty()
    try:
        process = await user.start("--context", user.context, "get", stdin=theirs, stderr=theirs)
        seen = b""
        async with asyncio.timeout(120):
            while b"Password: " not in seen:
                seen += await asyncio.to_thread(os.read, ours, 1024)
        os.write(ours, f"{user.token}\n".encode())
        ended = await end(process)
    finally:
        os.close(ours)
        os.close(theirs)
    assert (ended.code, ended.out) == (0, "")
    assert user.was_asked() == [{"interactive": True}]


@pytest.mark.slow
async def test_never_gets_no_terminal(user: User) -> None:
    user.signs_in("assert not sys.stdin.isatty() and sys.stdin.read() == ''", give(user.token), interactiveMode="Never")
    ours, theirs = pty.openpty()
    try:
        ended = await end(await user.start("--context", user.context, "get", stdin=theirs))
    finally:
        os.close(ours)
        os.close(theirs)
    assert ended.code == 0 and user.was_asked() == [{"interactive": False}]


@pytest.mark.parametrize("words", [("--help",), ("get", "--help"), ("version",), ("validate", "--help")])
async def test_what_needs_no_cluster_runs_no_plugin(user: User, words: tuple[str, ...]) -> None:
    user.signs_in("sys.exit(1)")
    await user.paddock("--context", user.context, *words)
    assert user.was_asked() == []


@pytest.mark.slow
async def test_completion_lends_no_terminal_and_says_nothing(user: User) -> None:
    user.signs_in("sys.stderr.write('signed out'); sys.exit(1)")
    typed = f"paddock --context {user.context} delete "
    ours, theirs = pty.openpty()
    try:
        variables = {"_PADDOCK_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": "4"}
        ended = await end(await user.start(stdin=theirs, **variables))
    finally:
        os.close(ours)
        os.close(theirs)
    assert (ended.code, ended.out.strip(), ended.err) == (0, "", "")
    assert all(spec == {"interactive": False} for spec in user.was_asked())


async def test_a_kubeconfig_of_the_embedded_cluster_names_no_plugin(user: User) -> None:
    assert read_config(str(user.directory / "server" / "kubeconfig")).plugin is None
