"""A real Kubernetes whose pods run, with an operator and a console of one user: what `e2e.commands.Cluster` is for the
embedded one, so that a check has one text for both."""

from __future__ import annotations

import http.cookiejar
import json
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.commands import PADDOCK, Cluster, Running, until
from paddock.install.crd import build_crds
from paddock.jobs.apis.registry import KINDS
from support.deployed import Kubectl, operator
from support.real_node import BUSYBOX, need_node, open_node
from support.worlds import ControlPlane


class RealCluster(Cluster):
    """`plane`: its pods can run. Jobs are in the namespace `default`, as on the embedded one."""

    def __init__(self, directory: Path, plane: ControlPlane) -> None:
        super().__init__(directory, "none")
        self.plane = plane
        (self.home / "api").mkdir(parents=True)
        shutil.copy(plane.kubeconfig, self.home / "api" / "kubeconfig")
        self.options = ("--kubeconfig", str(self.home / "api" / "kubeconfig"), "--context", "test")
        self._console = Running((*PADDOCK, "console", "--url", *self.options), self.environment, directory / "console")
        try:
            self._entered = _enter(_read_link(self._console))
        except BaseException:
            self._console.stop()
            raise

    def link(self) -> str:
        """Of a console of its own."""
        return self.start_console(*self.options)

    def start_console(self, *options: str) -> str:
        """The link of a console that serves until `stop_commands`. `options`: whose, and where it listens."""
        return _read_link(self.start("console", "--url", *options))

    def sign_in(self) -> tuple[str, list[dict[str, str]]]:
        """One console for all pages: it is as if one person came again each time, in the same browser."""
        return self._entered

    def adapt(self, text: str) -> str:
        """Nothing can be pulled."""
        return text.replace("image: busybox", f"image: {BUSYBOX}").replace('"busybox"', f'"{BUSYBOX}"')

    def let_go(self, name: str) -> None:
        """There is no output directory, so the file is /go of each container."""
        for rank in self.pods(name):
            done = self.kubectl("exec", f"{name}-{rank}", "--", "touch", "/go")
            assert done.code == 0, str(done)

    def close(self) -> None:
        self.stop_commands()
        self._console.stop()


def _read_link(console: Running) -> str:
    console.until_it_prints("\n")
    return console.out.strip()


def _enter(link: str) -> tuple[str, list[dict[str, str]]]:
    """What `sign_in` answers of a console, by its link."""
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with opener.open(link, timeout=90) as answer:
        address = answer.url.rstrip("/")
    return address, [
        {"name": each.name, "value": each.value or "", "domain": each.domain, "path": each.path} for each in jar
    ]


@contextmanager
def open_real_cluster() -> Iterator[RealCluster]:
    """With an operator of all namespaces and kinds as a process; gone afterwards whatever happened."""
    need_node()
    directory = Path(tempfile.mkdtemp(prefix="real-"))
    try:
        with open_node(operator_image=False) as plane:
            _install(Kubectl(plane))
            kinds = ",".join(each.qualified for each in KINDS)
            with operator(plane.kubeconfig, [f"--kinds={kinds}"]):
                cluster = RealCluster(directory, plane)
                try:
                    yield cluster
                finally:
                    cluster.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _install(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": build_crds()}))
    for each in KINDS:
        until(f"{each.kind} is served", lambda each=each: kubectl.run("get", each.qualified).returncode == 0)
