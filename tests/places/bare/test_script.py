"""The text of a script: goldens, shellcheck, and words that reach the program byte for byte."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from paddock.places.bare import place
from paddock.places.bare.machine import ADDRESSES
from paddock.places.rendering import MARK
from paddock.version import __version__
from places.bare.rendered import OWN, build_manifest, build_request, build_torch_manifest
from support.programs import need

TWO = "10.0.0.1,10.0.0.2"
LAUNCH = ("python", "-m", "paddle.distributed.launch", "train.py", "--epochs=10")
SCRIPTS = {
    "collective": (build_manifest(command=LAUNCH, name="resnet"), TWO),
    "servers": (build_manifest("worker", "ps", command=("python", "train.py"), name="wide-and-deep"), "gpu-a,gpu-b"),
    "torch": (build_torch_manifest(("python", "train.py"), name="ddp"), TWO),
    "prefix": (build_manifest(command=LAUNCH), "10.0.0.1,10.0.0.11"),
    "one": (build_manifest(command=("python", "train.py")), "10.0.0.1"),
    "odd": (
        build_manifest(
            command=("python", "train.py", "a b", "$HOME", "`id`", "it's", '"', "!", "two\nlines", "a,b", "深度"),
            env=[
                {"name": "a.b", "value": "c d"},
                {"name": "HUB_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
            ],
        ),
        TWO,
    ),
}


GOLDENS = ("collective", "servers", "torch", "odd")


def build_texts(name: str) -> list[str]:
    manifest, hosts = SCRIPTS[name]
    return [file.text for file in place.render(build_request(manifest, hosts)).files]


@pytest.mark.parametrize("name", GOLDENS)
def test_a_script_is_the_one_that_somebody_has_read(name: str, match_golden: Callable[[str, str], None]) -> None:
    text = build_texts(name)[0].replace(__version__, "VERSION", 1)
    match_golden(f"{name}.txt", text if name == "collective" else text.partition(ADDRESSES)[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDENS)
def test_shellcheck_finds_nothing_in_a_script(name: str, tmp_path: Path) -> None:
    shellcheck = need("shellcheck", path=str(Path(sys.executable).parent))
    script = tmp_path / "script.sh"
    script.write_text(build_texts(name)[-1], encoding="utf-8")
    answer = subprocess.run([shellcheck, str(script)], capture_output=True, text=True, env={**OWN, "LC_ALL": "C.UTF-8"})
    assert (answer.returncode, answer.stdout) == (0, "")


def test_the_scripts_of_a_job_differ_in_what_they_say_of_their_machine_alone() -> None:
    first, second = (text.splitlines() for text in build_texts("servers"))
    assert len(first) == len(second)
    differing = [line for line, other in zip(first, second, strict=True) if line != other]
    assert [line for line in differing if not line.startswith("#")] == [
        "index=0 # of this machine in hosts",
        "ranks=(ps-0 worker-0) # of this machine",
    ]


def test_each_script_says_in_its_first_lines_that_paddock_made_it() -> None:
    assert all(MARK in text.splitlines()[1] for name in SCRIPTS for text in build_texts(name))


WORD = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))


@given(words=st.lists(WORD, min_size=1, max_size=5), value=WORD, name=st.sampled_from(("PLAIN", "with.dot", "a-b")))
def test_words_and_values_reach_the_program_byte_for_byte(words: list[str], value: str, name: str) -> None:
    """Both by the script and by the line that it prints to be typed elsewhere. `$(` and `$$` are Kubernetes' own."""
    words, value = [word.replace("$", "") + "$HOME" for word in words], value.replace("$", "")
    manifest = build_manifest(
        command=("printf", r"%s\0", *words), env=[{"name": name, "value": value}], name="probe", replicas=1
    )
    text = place.render(build_request(manifest, "10.0.0.1")).files[0].text.removesuffix('\nmain "$@"\nexit\n')
    seen = r"""
        ip() { echo "2: eth0 inet 10.0.0.1/24"; } # a machine may have none
        addresses=(10.0.0.1) interface=eth0
        read_rank worker-0
        (become "${program[@]}")
        (become env -0) | grep -z -F "$1="
        eval "$(print_command)"
    """
    command = [need("bash"), "-c", f"{text}\n{seen}", "script", name]
    answer = subprocess.run(command, capture_output=True, env={**OWN, "LC_ALL": "C.UTF-8"}, timeout=90)
    sent = "".join(f"{word}\0" for word in words).encode()
    assert (answer.stderr, answer.returncode) == (b"", 0)
    assert answer.stdout == sent + f"{name}={value}\0".encode() + sent


def test_a_program_of_no_framework_is_asked_for_no_module() -> None:
    manifest = build_manifest(command=("python", "train.py"))
    (script,) = place.render(build_request(manifest, "10.0.0.1")).files
    annotated = yaml.safe_load(manifest)
    annotated["metadata"]["annotations"] = {"paddock.dev/framework": "none"}
    (plain,) = place.render(build_request(yaml.safe_dump(annotated), "10.0.0.1")).files
    assert "module=paddle #" in script.text and "module='' #" in plain.text and "packages=('')" in plain.text
