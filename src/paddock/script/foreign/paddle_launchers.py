"""Commands behind PaddlePaddle's launcher, also of an older one -> the job that they mean. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paddock.launches.launch import Launch, Option
from paddock.launches.launchers import GONE_PADDLE, OLD_DEVICES, OLD_PLACES, PADDLE, Means, find_by_module
from paddock.launches.programs import read_program
from paddock.launches.reading import read_words
from paddock.launches.words import Word, build_word
from paddock.script.foreign.carried import Ledger, count_hosts
from paddock.script.foreign.draft import Draft, name_python
from paddock.script.foreign.elsewhere import LOGS
from paddock.script.foreign.launcher_options import (
    count_devices,
    find_hosts,
    keep,
    keep_processes,
    leave,
    read_count,
    take_usual,
)
from paddock.words.phrases import phrase

_OLD_PLACES = OLD_PLACES | {"use_paddlecloud"}


def renew_launcher(launch: Launch, ledger: Ledger) -> Launch:
    """Today's launcher in place of one that PaddlePaddle has no more, which knew the same options."""
    modules = (word for word in launch.command.words if find_by_module(word.text or "") is GONE_PADDLE)
    if launch.launcher is not GONE_PADDLE or (gone := next(modules, None)) is None:
        return launch
    said = phrase("{typed} becomes {name}: PaddlePaddle 2.3 has left it out", typed=gone.typed, name=PADDLE.name)
    ledger.note(launch.line, said)
    renewed = build_word(PADDLE.name, gone.line)
    return _read_again(launch, [renewed if word is gone else word for word in launch.command.words])


def join_old_options(launch: Launch) -> Launch:
    """`--cluster_node_ips "a, b"` as one word: as two, today's launcher takes the value for the program."""
    if launch.stray is None:
        return launch
    joined: list[Word] = []
    rest = iter(launch.command.words)
    for word in rest:
        value = next(rest, None) if (word.text or "").lstrip("-") in OLD_DEVICES | _OLD_PLACES else None
        joined.append(word if value is None else replace(word, pieces=(f"{word.text}=", *value.pieces)))
    return _read_again(launch, joined)


def _read_again(launch: Launch, words: Sequence[Word]) -> Launch:
    """The same command with other words; what stands before the text in which it is, stays."""
    again = read_words([replace(each, splits=False) for each in words], launch.environment).launches[:1]
    command = replace(launch.command, words=tuple(words))
    return replace(again[0], command=command, wrappers=launch.wrappers) if again else launch


def take_paddle(draft: Draft) -> None:
    launch, draft.framework = draft.launch, "paddle"
    draft.servers = max(_count_hosts(draft, Means.SERVERS), _count(draft, Means.SERVER_COUNT))
    trainers = max(_count_hosts(draft, Means.TRAINERS), _count(draft, Means.TRAINER_COUNT))
    hosts = _count_hosts(draft, Means.HOSTS)
    kept: list[Option] = []
    for option in launch.options:
        means = option.spec.means if option.spec is not None else None
        if option.name == "cluster_node_ips":
            hosts = max(hosts, count_hosts((option.value or build_word("")).usual or ""))
        elif option.name in OLD_DEVICES or means is Means.DEVICES:
            draft.gpus = count_devices(draft, option) or draft.gpus
        elif option.name in _OLD_PLACES:
            draft.places.append(option.typed)
        elif means is Means.LOGS:
            leave(draft, option, LOGS)
        elif means in (Means.HETER, Means.ELASTIC) or option.spec is None:
            leave(draft, option)
        elif means in (Means.OTHER, Means.PROCESSES) or (means is Means.MODE and option.text != "collective"):
            kept.append(option)
        else:
            take_usual(draft, option)
    if draft.servers or any(launch.find(means) is not None for means in (Means.SERVERS, Means.SERVER_COUNT)):
        draft.workers, draft.before = max(trainers, 1), _find_python(draft)
        for option in kept:  # no launcher stays that would read them
            if option.spec is None or option.spec.means is not Means.MODE:
                leave(draft, option)
        return
    draft.workers = max(hosts, draft.workers)
    words = [word for option in kept for word in _keep(draft, option)]
    draft.before = (*_find_python(draft), "-m", PADDLE.name, *words)


def _keep(draft: Draft, option: Option) -> Sequence[str]:
    is_count = option.spec is not None and option.spec.means is Means.PROCESSES
    return keep_processes(draft, option) if is_count else keep(draft, option)


def _find_python(draft: Draft) -> tuple[str, ...]:
    """The Python before PaddlePaddle's launcher, with its options; `python` of fleetrun."""
    typed = read_program(draft.launch.before)
    return (name_python(draft, typed.python), *typed.flags) if typed.python else ("python",)


def _count(draft: Draft, means: Means) -> int:
    option = draft.launch.find(means)
    return read_count(draft, option) if option is not None else 0


def _count_hosts(draft: Draft, means: Means) -> int:
    option = draft.launch.find(means)
    return find_hosts(draft, option).count if option is not None else 0
