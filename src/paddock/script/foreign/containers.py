"""`docker run`, `singularity exec` before a program, and srun's `--container-image` -> the image, the variables and the
GPUs of a job. Pure.

Options are those of docker-run(1) of Docker 28 and of `apptainer exec` of Apptainer 1.4. `--container-image` is of
pyxis 0.20, whose images are those of enroot 3.5: `[docker://][USER@][REGISTRY#]IMAGE[:TAG]`, else the path of a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from paddock.launches.launch import Wrapper
from paddock.launches.words import Word, show_words
from paddock.launches.wrappers import WrapperSpec
from paddock.script.foreign.carried import count_listed, read_number
from paddock.script.foreign.draft import Draft
from paddock.script.foreign.elsewhere import UNKNOWN, say
from paddock.words.phrases import Phrase, phrase

_OF_FILES = frozenset({"singularity", "apptainer"})
"""Programs whose image is mostly a file of the machine."""
_REGISTRY = "docker://"
"""Before an image of a registry, for them."""
_SILENT = re.compile(r"-[itdP]+|--(rm|init|interactive|tty|detach|name|hostname|restart|pull|gpus|env|workdir)")
_SILENT_OF_FILES = re.compile(r"-[ceC]+|--(compat|contain|containall|cleanenv|no-home|writable-tmpfs)")
"""Of apptainer `-e` says that no variable comes from outside."""
_FILE = re.compile(r"\.(sqsh|squashfs|sif|simg|img)$")
"""How images that are files end."""
ENROOT = "enroot"
_ALL_GPUS = frozenset({"--nv", "--nvccli", "--rocm"})


def take_container(draft: Draft, wrapper: Wrapper, line: int) -> bool:
    """What of a container a job has too; other options are listed. False for what makes none, such as `docker exec`."""
    verb = next((each.text or "" for each in wrapper.words if each.text in wrapper.spec.verbs), "")
    command = f"{wrapper.words[0].typed} {verb}"
    if wrapper.spec.name in _OF_FILES:
        _take_file(draft, wrapper.words[-1], command, line)
    elif wrapper.spec.image:
        draft.image = _take(draft, wrapper.words[-1], "", line) or ""
    else:
        return False
    left: list[str] = []
    for option, value in pair_options(wrapper.words[1:-1], wrapper.spec):
        if not _take_option(draft, wrapper, option, value, line):
            left.append(option if value is None else f"{option} {value.typed}")
    if left:
        said = phrase(
            "of `{command}`, {options} is left out: fields of a manifest say it",
            command=command, options=" ".join(left),
        )  # fmt: skip
        draft.ledger.note(line, said)
    return True


def _take_file(draft: Draft, image: Word, command: str, line: int) -> None:
    """The image of a registry; a file of the machine is left out."""
    if image.beginning.startswith(_REGISTRY):
        draft.image = (_take(draft, image, "", line) or "").removeprefix(_REGISTRY)
    elif image.usual is None and not _FILE.search(image.typed):
        draft.ledger.note(line, say(UNKNOWN, f"{command} {image.typed}"))
    else:
        draft.ledger.note(line, explain_file(show_words([image]), command.partition(" ")[0]))


def take_image_of_enroot(draft: Draft, image: Word, line: int) -> None:
    """The value of srun's `--container-image`."""
    file = image.typed if image.usual is None else image.usual
    if _FILE.search(file) or (image.usual and not read_image_of_enroot(file)):
        draft.ledger.note(line, explain_file(file, ENROOT))
    elif text := _take(draft, image, "--container-image ", line):
        draft.image = read_image_of_enroot(text)


def read_image_of_enroot(text: str) -> str:
    """`nvcr.io#nvidia/pytorch:24.01` -> `nvcr.io/nvidia/pytorch:24.01`; empty for a file."""
    if text.startswith(("/", ".", "~")) or _FILE.search(text):
        return ""
    own = re.sub(r"^(docker|dockerd|podman)://", "", text)
    return re.sub(r"^[^/@:#]+@(?!sha\d+:)", "", own).replace("#", "/", 1)


def explain_file(image: str, program: str) -> Phrase:
    """For an image that only `program` knows: a file of a machine, or of its own library."""
    if re.match(r"(library|shub|oras|https?)://", image):
        return phrase(
            "{image} is an image of {program} alone; --image IMAGE names one of a registry", image=image,
            program=program,
        )  # fmt: skip
    return phrase("{image} is a file of {program}; --image IMAGE names one of a registry", image=image, program=program)


def _take_option(draft: Draft, wrapper: Wrapper, option: str, value: Word | None, line: int) -> bool:
    """Whether a job has it too, or has no use for it."""
    of_files = wrapper.spec.name in _OF_FILES
    if of_files and option in _ALL_GPUS:
        draft.ledger.note(line, phrase("{option}: --gpus N says how many", option=option))
        return True
    if value is None:
        return (_SILENT_OF_FILES if of_files else _SILENT).fullmatch(option) is not None and option != "--gpus"
    if option == "--env" or (option == "-e" and not of_files):
        name, equals, word = value.partition("=")
        if equals and (text := _take(draft, word, f"{option} {name.typed}=", line)) is not None:
            draft.variables[name.typed] = text
        return bool(equals)
    if option == "--gpus" and not of_files:
        _count_gpus(draft, value.typed, line)
        return True
    return _SILENT.fullmatch(option) is not None and option != "--workdir" and not of_files


def _count_gpus(draft: Draft, text: str, line: int) -> None:
    if text != "all":
        draft.gpus = read_number(text) or count_listed(text.strip("'\"").removeprefix("device="))
    if not draft.gpus:
        draft.ledger.note(line, phrase("{option}: --gpus N says how many", option=f"--gpus {text}"))


def _take(draft: Draft, word: Word, before: str, line: int) -> str | None:
    """The text of a word; one that is not known is said. `before`: what stands before it."""
    text = draft.ledger.take(word)
    if text is None:
        draft.ledger.note(line, say(UNKNOWN, f"{before}{word.typed}"))
    return text


def pair_options(typed: Sequence[Word], spec: WrapperSpec) -> list[tuple[str, Word | None]]:
    """The options of a wrapper, each with its value; `-n2` is `-n` and `2`."""
    found: list[tuple[str, Word | None]] = []
    words = iter(typed)
    for word in words:
        name, equals, joined = word.partition("=")
        if not word.beginning.startswith("-"):
            continue
        if equals:
            found.append((name.typed, joined))
        elif not word.beginning.startswith("--") and len(word.typed) > 2 and word.beginning[:2] in spec.values:
            found.append((word.beginning[:2], word.without(word.beginning[:2])))
        else:
            found.append((word.typed, next(words, None) if word.typed in spec.values else None))
    return found
