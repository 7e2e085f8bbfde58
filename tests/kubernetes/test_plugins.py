"""A credential plug-in at a real API server: a token, a certificate, a 401, and that kubectl tells it the same."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from client.plugins import V1BETA1, build_answer, count_runs, write_script
from paddock.client.client import Client
from paddock.client.kubeconfig import read_config
from paddock.kube.errors import Forbidden
from paddock.kube.meta import PODS, SECRETS
from support.deployed import Kubectl, write_kubeconfig
from support.worlds import ControlPlane, open_real

pytestmark = [pytest.mark.kubernetes]


def write_plugin(directory: Path, *answers: dict[str, Any]) -> Path:
    """Gives the answers in turn, the last one again and again, and keeps what it is told in `told`."""
    return write_script(
        directory / "plugin",
        f"os.chdir({str(directory)!r})",
        "open('runs', 'a').write('run\\n')",
        "open('told', 'w').write(os.environ['KUBERNETES_EXEC_INFO'])",
        f"answers = {list(map(json.dumps, answers))!r}",
        "print(answers[min(len(open('runs').readlines()), len(answers)) - 1])",
    )


def sign_in_by_plugin(kubeconfig: Path) -> None:
    """The plug-in beside it in the place of the user's own credential."""
    config = yaml.safe_load(kubeconfig.read_text())
    entry = {"apiVersion": V1BETA1, "command": "./plugin", "provideClusterInfo": True}
    config["users"] = [{"name": each["name"], "user": {"exec": entry}} for each in config["users"]]
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "test"}}
    for each in config["clusters"]:
        each["cluster"]["extensions"] = [extension]
    kubeconfig.write_text(yaml.safe_dump(config))


async def test_the_server_knows_the_user_of_its_token_also_after_a_401(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with open_real(control_plane) as world:
        namespace = world.namespace
        kubeconfig = await asyncio.to_thread(
            write_kubeconfig, control_plane, tmp_path / "kubeconfig", namespace, "default"
        )
        token = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]["token"]
        write_plugin(tmp_path, build_answer(V1BETA1, token="expired"), build_answer(V1BETA1, token=token))
        sign_in_by_plugin(kubeconfig)
        async with Client(read_config(str(kubeconfig))) as api:
            with pytest.raises(Forbidden, match=f'User "system:serviceaccount:{namespace}:default" cannot list'):
                await api.list(SECRETS, namespace)
            assert (await api.fetch("/version"))["major"] == "1"
    assert count_runs(tmp_path) == 2


async def test_a_certificate_lists_and_watches_and_kubectl_tells_the_plugin_the_same(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    certs = control_plane.home / "certs"
    status = {
        "clientCertificateData": (certs / "admin.crt").read_text(),
        "clientKeyData": (certs / "admin.key").read_text(),
        "expirationTimestamp": "2100-01-01T00:00:00Z",
    }
    write_plugin(tmp_path, build_answer(V1BETA1, **status))
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(control_plane.kubeconfig.read_text())
    sign_in_by_plugin(kubeconfig)
    async with Client(read_config(str(kubeconfig))) as api, asyncio.timeout(60):
        await api.list(SECRETS)
        events = api.follow(PODS)
        while (await anext(events)).type != "SYNCED":
            pass
        await events.aclose()  # type: ignore[attr-defined]
    assert count_runs(tmp_path) == 1
    ours = json.loads((tmp_path / "told").read_text())
    kubectl = Kubectl(control_plane)
    await asyncio.to_thread(kubectl, "--kubeconfig", str(kubeconfig), "get", "secrets", "-A")
    theirs = json.loads((tmp_path / "told").read_text())
    theirs["spec"].setdefault("interactive", False)  # kubectl 1.21 and older do not say it
    assert ours == theirs
