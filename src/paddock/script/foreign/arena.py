"""`arena submit pytorchjob --workers 2 … "python train.py"` -> the job that it means. Pure.

Options are those of arena 0.15 (pkg/argsbuilder). Its words behind the options are joined, and run by a shell in each
pod; --workers counts the master of a PyTorchJob too.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace

from paddock.launches.launch import Launch
from paddock.launches.reading import Reading
from paddock.launches.words import Word
from paddock.script.foreign.carried import read_number
from paddock.script.foreign.elsewhere import CODE, NO_OPTION, NODE_SELECTOR, REQUESTS, SHARED_MEMORY, say
from paddock.script.foreign.job import NOWHERE, Foreign, Left, Place
from paddock.script.foreign.kept_back import divide
from paddock.script.foreign.shell import choose, read_text
from paddock.words.phrases import phrase

_FLAGS = frozenset({
    "rdma", "gang", "queue", "hostNetwork", "hostIPC", "hostPID", "tensorboard", "chief", "evaluator", "help",
    "gpu-topology", "mounts-on-launcher",
})  # fmt: skip
_SHORT = {"e": "env", "d": "data", "a": "annotation", "l": "label", "p": "priority", "n": "namespace"}
_FRAMEWORKS = {"pytorchjob": "pytorch", "pytorch": "pytorch", "deepspeedjob": "pytorch", "deepspeed": "pytorch"}
_CARRIED = frozenset({"name", "image", "gpus", "workers", "retry", "env", "worker-image", "nproc-per-node"})
_SAID = {
    "data": phrase(
        "{option} is left out: `paddock dataset create NAME --from claim://CLAIM` names the claim, and "
        "--data NAME:/PATH mounts it"
    ),
    **dict.fromkeys(("sync-mode", "sync-source", "working-dir", "workingDir"), CODE),
    "namespace": phrase("{option} is left out: -n NAMESPACE says it"),
    "cpu": REQUESTS,
    "memory": REQUESTS,
    "share-memory": SHARED_MEMORY,
    "running-timeout": phrase("{option} is left out: runPolicy.activeDeadlineSeconds of the manifest says it"),
    "ttl-after-finished": phrase("{option} is left out: runPolicy.ttlSecondsAfterFinished of the manifest says it"),
    "clean-task-policy": phrase("{option} is left out: runPolicy.cleanPodPolicy of the manifest says it"),
    "selector": NODE_SELECTOR,
    "toleration": phrase("{option} is left out: tolerations of the manifest's pods say it"),
    "gang": phrase("{option} is left out: the workers of a job start together"),
}


def find_submit(reading: Reading) -> Launch | None:
    """The command that submits a job by arena."""
    for launch in reading.launches:
        words = launch.command.words
        is_arena = len(words) > 2 and posixpath.basename(words[0].text or "") == "arena"
        if is_arena and words[1].text == "submit":
            return launch
    return None


def read_submit(launch: Launch, place: Place = NOWHERE) -> Foreign:
    """The job of the command. Raises `NoProgram`."""
    words = launch.command.words[2:]
    kind = (words[0].text or "").lower()
    options, taken = _read_options(words[1:])
    rest = words[1 + taken :]
    line = rest[0].line if rest else launch.line
    plain, secret = divide(_read_variables(options))
    text = " ".join(word.typed for word in rest)
    made = choose(read_text(text, replace(place, name=""), variables=plain, line=max(line, 1)))
    values = {name: value for _, name, value in options}
    left = [Left(at, say(_SAID.get(name, NO_OPTION), _show(name, value)))
             for at, name, value in options if name not in _CARRIED]  # fmt: skip
    if kind in ("tfjob", "tf", "tensorflow"):
        left.append(Left(launch.line, phrase("a TFJob of TensorFlow becomes the job of what the program imports")))
    per_node = read_number(values.get("nproc-per-node"))
    return replace(
        made,
        workers=made.workers or read_number(values.get("workers")),
        gpus=made.gpus or read_number(values.get("gpus")),
        processes=made.processes or (per_node if per_node > 1 else 0),
        image=made.image or values.get("image") or values.get("worker-image", ""),
        name=values.get("name", ""),
        framework=made.framework or _FRAMEWORKS.get(kind, ""),
        restarts=made.restarts or read_number(values.get("retry")),
        variables=(*secret.items(), *made.variables),
        left=(*left, *made.left),
    )


def _read_options(words: tuple[Word, ...]) -> tuple[list[tuple[int, str, str]], int]:
    """Line, name and value of each option, and how many words they are."""
    found: list[tuple[int, str, str]] = []
    place = 0
    while place < len(words) and words[place].beginning.startswith("-"):
        word = words[place]
        place += 1
        if word.text == "--":
            break
        name, equals, value = (word.usual or word.typed).partition("=")
        long = name[2:] if name.startswith("--") else _SHORT.get(name[1:], name[1:])
        if not equals and long not in _FLAGS and place < len(words):
            value = words[place].usual or words[place].typed
            place += 1
        found.append((word.line, long, value))
    return found, place


def _read_variables(options: list[tuple[int, str, str]]) -> dict[str, str]:
    pairs = (value.partition("=") for _, name, value in options if name == "env")
    return {name: text for name, _, text in pairs}


def _show(name: str, value: str) -> str:
    return f"--{name}={value}" if value else f"--{name}"
