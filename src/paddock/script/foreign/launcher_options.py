"""What an option of a launcher says in a job: a number, a place that is left out, or what stays as it is. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace

from paddock.launches.launch import Launch, Option
from paddock.launches.launchers import Means
from paddock.launches.words import build_word, join_pieces
from paddock.script.foreign.carried import count_hosts, count_listed, read_number
from paddock.script.foreign.draft import Draft
from paddock.script.foreign.elsewhere import LEAST, NO_OPTION, UNKNOWN, say
from paddock.script.foreign.hostfiles import Hosts
from paddock.words.phrases import Phrase, phrase

_PLACES = frozenset({
    Means.MASTER, Means.MASTER_ADDRESS, Means.MASTER_PORT, Means.NODE_RANK, Means.HOSTS, Means.OWN_ADDRESS, Means.RUN,
    Means.BACKEND, Means.STANDALONE,
})  # fmt: skip
"""What an option says that Paddock tells each rank itself."""
_FLAG_OF = {
    Means.RESTARTS: "--restarts N", Means.SERVERS: "--ps N", Means.SERVER_COUNT: "--ps N", Means.DEVICES: "--gpus N",
}  # fmt: skip
"""The option of `paddock run` that says the same number; --workers for any other."""


def with_variables(draft: Draft, launch: Launch) -> Launch:
    """The launcher's options with the variables that say the same: PaddlePaddle's launcher lets them win, torchrun the
    options."""
    launcher = launch.launcher
    if launcher is None:
        return launch
    options = list(launch.options)
    for spec in launcher.options.values():
        value = launch.environment.get(spec.variable) if spec.variable else None
        typed = launch.named(spec.name)
        if value is None or (typed is not None and not launcher.variable_wins):
            continue
        shown = f"{spec.variable}={value.typed}"
        if typed is not None:
            options = [each for each in options if each is not typed]
            if typed.value is None or typed.value.typed != value.typed:
                said = phrase(
                    "{variable} counts more for the launcher than {option}", variable=shown, option=typed.typed
                )
                draft.ledger.note(launch.line, said)
        typed_as = replace(value, pieces=join_pieces((f"--{spec.name}=", *value.pieces)))
        words = (typed_as if spec.means is Means.OTHER else build_word(shown, value.line),)
        options.append(Option(spec.name, value, words, spec))
    return replace(launch, options=tuple(options))


def take_usual(draft: Draft, option: Option) -> None:
    """Numbers of machines and of restarts, and what tells a rank its place."""
    means = option.spec.means if option.spec is not None else None
    if is_file(option):
        hosts = find_hosts(draft, option)
        draft.workers, draft.slots = max(draft.workers, hosts.count), hosts.slots
    if means in _PLACES:
        draft.places.append(option.typed)
    elif means is Means.NODES:
        draft.workers = max(draft.workers, read_count(draft, option))
        if re.search(r"\d:\d", option.text or ""):
            draft.ledger.note(line_of(draft, option), say(LEAST, option.typed))
    elif means is Means.RESTARTS:
        draft.restarts = read_count(draft, option)


def read_count(draft: Draft, option: Option) -> int:
    means = option.spec.means if option.spec is not None else Means.OTHER
    text = draft.ledger.take(option.value) if option.value is not None else None
    found = read_number(text)
    if not found and text != "0" and not (means is Means.NODES and draft.workers):
        draft.ledger.note(line_of(draft, option), explain_number(option.typed, _FLAG_OF.get(means, "--workers N")))
    return found


def explain_number(typed: str, flag: str) -> Phrase:
    return phrase("{option}: the number is not known here: {flag} says it", option=typed, flag=flag)


def find_hosts(draft: Draft, option: Option) -> Hosts:
    """The hosts of a list, and of a file that the script writes."""
    text = option.value.usual if option.value is not None else ""
    if text is not None and is_file(option):
        found = draft.files.get(posixpath.normpath(text), Hosts(0))
    else:
        found = Hosts(count_hosts(text or ""))
    if not found.count and not draft.workers and draft.launch.find(Means.NODES) is None:
        means = option.spec.means if option.spec is not None else Means.HOSTS
        draft.ledger.note(line_of(draft, option), explain_number(option.typed, _FLAG_OF.get(means, "--workers N")))
    return found


def is_file(option: Option) -> bool:
    return option.name.endswith("hostfile")


def count_devices(draft: Draft, option: Option) -> int:
    text = draft.ledger.take(option.value) if option.value is not None else None
    found = count_listed(text or "")
    if not found and text not in ("", "-1", "cpu"):
        draft.ledger.note(
            line_of(draft, option),
            phrase("{option}: the devices are not known here: --gpus N says how many", option=option.typed),
        )
    return found


def keep_processes(draft: Draft, option: Option) -> Sequence[str]:
    """`--nproc_per_node`, which stays where it is known."""
    text = draft.ledger.take(option.value) if option.value is not None else None
    if text is not None:
        return (f"--{option.name}={text}",)
    if draft.gpus:
        said = phrase(
            "{option}: as many as the GPUs of a worker are taken, {count}", option=option.typed, count=draft.gpus
        )
        draft.ledger.note(line_of(draft, option), said)
        return (f"--{option.name}={draft.gpus}",)
    leave(draft, option, UNKNOWN)
    return ()


def keep(draft: Draft, option: Option) -> Sequence[str]:
    """An option as it was typed; one that is not known is left out."""
    if any(draft.ledger.take(word) is None for word in option.words):
        leave(draft, option, UNKNOWN)
        return ()
    return tuple(word.usual or "" for word in option.words)


def keep_all(draft: Draft, options: Sequence[Option]) -> tuple[str, ...]:
    return tuple(word for option in options for word in keep(draft, option))


def leave(draft: Draft, option: Option, sentence: Phrase = NO_OPTION) -> None:
    draft.ledger.note(line_of(draft, option), say(sentence, option.typed))


def line_of(draft: Draft, option: Option) -> int:
    return option.words[0].line or draft.launch.line
