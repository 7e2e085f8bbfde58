"""What was looked at, in numbers: so that "nothing found" says how much that is worth."""

from __future__ import annotations

from paddock.doctor.host.values import Asked, Host
from paddock.kube.quantities import format_bytes
from paddock.words.phrases import Phrase, counted, phrase


def explain_looked_at(host: Host, asked: Asked) -> Phrase:
    """`gpu-a (64 cores, 512 GiB, 2 GPUs, 2 interfaces) and 3 peers`: what follows the words "looked at"."""
    machine = phrase(
        "{name} ({cores} cores, {memory}, {gpus}, {interfaces})",
        name=host.name.name,
        cores=f"{host.cores:g}",
        memory=format_bytes(host.memory),
        gpus=counted("{count} GPU", "{count} GPUs", count=len(host.gpus.cards)),
        interfaces=counted("{count} interface", "{count} interfaces", count=len(host.interfaces)),
    )
    if not host.others and asked.peers:
        return phrase(
            "{machine}; all that was named (--peer) is this machine itself, so names and networks were not judged",
            machine=machine,
        )
    if not host.others:
        return phrase(
            "{machine}; no other machine was named (--peer), so names and networks were not judged",
            machine=machine,
        )
    return phrase(
        "{machine} and {peers}",
        machine=machine,
        peers=counted("{count} peer", "{count} peers", count=len(host.others)),
    )
