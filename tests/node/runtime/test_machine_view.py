"""What of this machine a pod in bubblewrap sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.node.runtime.machine_view import View, explain_detour, find_keys, find_unseen, plan_masks, read_view

HOME = "/home/anna/.local/state/paddock"
KUBE = "/home/anna/.kube"


@pytest.mark.parametrize(
    ("mounts", "masks"),
    [
        pytest.param({}, {HOME, KUBE}, id="the machine as it is"),
        pytest.param({"/data": "/srv/data"}, {HOME, KUBE}, id="a volume elsewhere"),
        pytest.param({f"{HOME}/outputs/j": f"{HOME}/outputs/j"}, {HOME, KUBE}, id="a volume in a hidden directory"),
        pytest.param({"/home/anna": "/home/anna"}, {HOME, KUBE}, id="the user's home as the working directory"),
        pytest.param({"/w": "/home/anna"}, {HOME, KUBE, "/w/.local/state/paddock", "/w/.kube"}, id="at another path"),
        pytest.param({"/host": "/"}, {HOME, KUBE, f"/host{HOME}", f"/host{KUBE}"}, id="the whole machine"),
        pytest.param({"/k": KUBE}, {HOME, KUBE}, id="a volume that names a hidden directory shows it"),
        pytest.param({KUBE: KUBE}, {HOME}, id="also at its own path"),
        pytest.param({"/k": f"{KUBE}/cache"}, {HOME, KUBE}, id="or a part of it"),
        pytest.param({"/home/anna": "/srv/empty"}, set(), id="a volume that covers the hidden directories"),
        pytest.param({"/home/anna/.local": "/srv/empty"}, {KUBE}, id="a volume that covers one of them"),
        pytest.param(
            {"/h": "/home/anna", "/h/.kube": "/srv/kube"}, {HOME, KUBE, "/h/.local/state/paddock"}, id="covered"
        ),
        pytest.param({"/tmp": "/tmp/pod"}, {HOME, KUBE}, id="a /tmp of its own"),
    ],
)
def test_a_hidden_path_is_masked_wherever_it_would_appear(mounts: dict[str, str], masks: set[str]) -> None:
    found = plan_masks([(target, Path(source)) for target, source in mounts.items()], [Path(HOME), Path(KUBE)])
    assert set(found) == masks
    assert {Path(place).name for place in found} == {secret.name for secret in found.values()}


def test_a_hidden_path_in_another_needs_no_mask() -> None:
    assert plan_masks([], map(Path, [f"{HOME}/api/kubeconfig", HOME])) == {HOME: Path(HOME)}


HIDDEN = {Path(HOME): Path("/disk/anna/.local/state/paddock"), Path(KUBE): Path(KUBE)}


@pytest.mark.parametrize(
    ("source", "real", "refused"),
    [
        ("/data", "/data", False),
        ("/data/link", "/srv/data", False),
        (KUBE, KUBE, False),
        (f"{HOME}/outputs/j", "/disk/anna/.local/state/paddock/outputs/j", False),
        ("/disk/anna/.local/state/paddock/outputs/j", "/disk/anna/.local/state/paddock/outputs/j", False),
        (f"{HOME}/outputs/../outputs/j", "/disk/anna/.local/state/paddock/outputs/j", False),
        ("/data/link", KUBE, True),
        ("/data/link", f"{KUBE}/config", True),
        (f"{HOME}/outputs/j/link", "/disk/anna/.local/state/paddock/api", True),
    ],
)
def test_a_link_shows_nothing_hidden(source: str, real: str, refused: bool) -> None:
    told = explain_detour(Path(source), Path(real), HIDDEN)
    assert told == (
        f"{source} leads by a link to {real}, which pods do not see; name that path itself" if refused else ""
    )


VIEW = View(kept=(Path("/tmp/clone/.venv"),))


@pytest.mark.parametrize(
    ("command", "unseen"),
    [
        (["python", "/tmp/train.py"], ("/tmp/train.py",)),
        (["python", "train.py", "--data=/tmp/data/", "--out", "/data/out"], ("/tmp/data",)),
        (["sh", "-c", "cat '/tmp/a b' /tmp/c; ls /tmp x/tmp/d /var/tmp/e"], ("/tmp/a", "/tmp/c")),
        (["/tmp/clone/.venv/bin/python", "/tmp/mounted/x", "/tmp/mounted"], ()),
    ],
)
def test_files_of_the_machines_tmp_are_found_in_a_command(command: list[str], unseen: tuple[str, ...]) -> None:
    container = {"command": command[:1], "args": command[1:], "volumeMounts": [{"mountPath": "/tmp/mounted/"}]}
    assert find_unseen(container, VIEW) == unseen


def test_the_keys_of_a_user() -> None:
    environment = {"HOME": "/home/anna", "KUBECONFIG": "/etc/k3s.yaml:relative:/x/y", "XDG_RUNTIME_DIR": "/run/user/7"}
    found = set(map(str, find_keys(environment, 7)))
    assert {"/home/anna/.kube", "/etc/k3s.yaml", "/x/y", "/run/user/7", "/run/docker.sock"} <= found
    assert "relative" not in found
    assert "/var/run/secrets/kubernetes.io/serviceaccount" in found, "of the pod that the cluster itself runs in"


def test_programs_in_tmp_that_path_names_stay_visible() -> None:
    """As when this very clone lies in /tmp."""
    found = read_view({"HOME": "/home/anna", "PATH": "/tmp/clone/.venv/bin:/usr/bin:/tmp:relative/bin:"}, 7)
    assert Path("/tmp/clone/.venv") in found.kept
    assert Path("/tmp") not in found.kept
    assert all(Path("/tmp") in path.parents for path in found.kept)
