"""Words of a command that do not come to what they are meant for: of a manifest's list, and of a typed command. Pure.

No shell reads these words, unless the first one is a shell. What a later word is, where it is not known, is no mistake.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from paddock.launches.launch import Launch, read_command
from paddock.launches.programs import Kind
from paddock.launches.reading import Reading, read_words
from paddock.launches.shell import Command
from paddock.launches.words import Word, build_word, show_words
from paddock.preflight.pod_devices import explain_devices
from paddock.words.phrases import Phrase, phrase


def explain_typed(words: Sequence[str], gpus: int = 0) -> Iterator[Phrase]:
    """What is wrong with the words of `paddock run -- …`. `gpus`: of each worker; 0 where that is not known."""
    read = [build_word(word) for word in words]
    reading = read_words(read)
    yield from explain_words(read, reading)
    for launch in reading.launches:
        yield from explain_devices(launch, gpus)


def explain_words(words: Sequence[Word], reading: Reading) -> Iterator[Phrase]:
    """What is wrong with the words of a command. `reading`: of the same words."""
    if not words:
        return
    launch = read_command(Command(tuple(words), words[0].line))
    if launch.program.kind is Kind.SHELL and not launch.elsewhere:
        yield from _explain_text(launch)
    if reading.background:
        yield explain_background()


def explain_background() -> Phrase:
    return phrase(
        "the last command runs in the background, and the shell ends without it: a pod ends with its shell; leave & "
        "out, or write `wait` behind it"
    )


def _explain_text(launch: Launch) -> Iterator[Phrase]:
    """`bash -c python train.py`: only one word is the text, those behind it are `$0`, `$1` and so on."""
    text, behind = launch.program.word, launch.arguments
    if not text.text or "$" in text.text or not behind:
        return
    shell = launch.program.shell_name
    if len(text.text.split()) == 1:
        whole = f"{text.text} {show_words(behind)}"
        yield phrase(
            "{shell} -c runs {text} alone, as only the word behind -c is its text: write one text, {whole}",
            shell=shell, text=text.text, whole=json.dumps(whole, ensure_ascii=False),
        )  # fmt: skip
    elif len(behind) > 1 or behind[0].beginning.startswith("-"):
        yield phrase(
            "{words} behind the text of {shell} -c is for its $0, $1 and so on, and the text has none of them: write "
            "it into the text, or \"$@\" where it belongs",
            words=show_words(behind), shell=shell,
        )  # fmt: skip
