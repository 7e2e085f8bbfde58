"""What a pod needs and a cluster lacks, for people, from a scheduler's message. Pure.

kube-scheduler counts nodes (`0/3 nodes are available: 3 Insufficient cpu`); the local scheduler adds numbers, and who
holds them, which are the values of `words.shortage`. A person asks three things: how much it needs, how much is free,
and whether it can ever start here or waits for a neighbour. What the message does not say is not said; a message with a
reason that is not known here is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from paddock.kube.quantities import read_quantity
from paddock.words.amounts import say_amount, sort_resources
from paddock.words.phrases import Names, Phrase, counted, phrase
from paddock.words.shortage import Holder, Lacking, Shortage, explain_need, explain_shortage, name_holder

_FACT = re.compile(
    r"(?P<at>\d{1,9}) (?:Insufficient (?P<resource>[^\s,(]*[^\s,(.])|Too many (?P<pods>pods))"
    r"(?: \((?P<where>on [^:()]+: )?needs (?:(?P<count>\d{1,6}) x )?(?P<asked>[^,()]+), "
    r"(?P<free>[^,()]+?) of (?P<total>[^,()]+?) free\))?"
)
_GANG = re.compile(r'waiting for the gang "[^"]+": (?P<together>\d{1,9}) pods are needed at once, \d+ fit: ')
_HEAD = re.compile(r"0/(?P<nodes>\d{1,9}) nodes are available: ")
_HELD = re.compile(r" Held by (?P<holders>.+?)\.?$")
_HOLDER = re.compile(r"(?:(?P<namespace>[^\s/()]+)/)?(?P<name>[^\s/()]+)(?: \((?P<amount>[^()]*)\))?")
_MORE = re.compile(r" and (?P<count>\d{1,9}) more$")
_SMALL = re.compile(r"\d{1,18}(?:\.\d{1,9})?[A-Za-z]{0,2}")
_SHARE = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})")
"""Of GPUs that pods share."""
_UNITS = {"B": 0, "KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4, "PiB": 5, "EiB": 6}


def explain_room(message: str) -> Phrase | None:
    """What a scheduler's message says of room, or of nodes that do not take the pod, as a person reads it; None for
    another message, which stands as it is."""
    if (shortage := read_shortage(message)) is not None:
        return explain_shortage(shortage)
    return _explain_names(message) or _explain_nodes(message) or explain_turn(message) or explain_gang(message)


def read_shortage(message: str) -> Shortage | None:
    """None for a message that has another reason, one beside, or no numbers."""
    together, nodes, facts, after = _split(message)
    if not facts or not re.match(r"\.?(?: Held by|$)", after):
        return None
    lacking = [found for fact in facts if (found := _read_lacking(fact, together)) is not None]
    if len(lacking) < len(facts):
        return None
    held = _HELD.search(after)
    holders, others = _read_holders(held["holders"] if held else "")
    lacking[0] = replace(lacking[0], holders=holders, others=others)
    is_all = together > 1 and any(each.total is not None and each.total < each.asked for each in lacking)
    return Shortage(tuple(lacking), together, nodes=nodes, is_all=is_all)


def _split(message: str) -> tuple[int, int, list[re.Match[str]], str]:
    """How many pods start at once, how many nodes there are, what is said of each resource, and what follows."""
    rest, together = message, 1
    if found := _GANG.match(rest):
        rest, together = rest[found.end() :], int(found["together"])
    if not (head := _HEAD.match(rest)):
        return together, 0, [], rest
    place, facts = head.end(), list[re.Match[str]]()
    while fact := _FACT.match(rest, place):
        facts.append(fact)
        place = fact.end()
        if not rest.startswith(", ", place):
            break
        place += 2
    return together, int(head["nodes"]), facts, rest[place:]


def _read_lacking(fact: re.Match[str], together: int) -> Lacking | None:
    """None without numbers. Of nodes that differ the message has the numbers of one, and another may have more."""
    asked, free, total = (read_amount(fact[name] or "") for name in ("asked", "free", "total"))
    if asked is None or free is None:
        return None
    resource, known = fact["resource"] or "pods", None if fact["where"] else total
    if together == 1:
        return Lacking(resource, asked, asked, known, known, free)
    if count := int(fact["count"] or 0):
        return Lacking(resource, asked * count, asked, known, None, free, alike=count)
    return Lacking(resource, asked, None, known, None, free)


def _read_holders(text: str) -> tuple[tuple[Holder, ...], int]:
    """`team/big (2), small (500m) and 2 more`: who is named, and how many are not."""
    more = _MORE.search(text)
    named = (_HOLDER.fullmatch(each) for each in _MORE.sub("", text).split(", "))
    holders = [
        Holder(each["name"], read_amount(each["amount"] or ""), each["namespace"] or "") for each in named if each
    ]
    return tuple(holders), int(more["count"]) if more else 0


def read_amount(text: str) -> Fraction | None:
    """`500m`, `2`, `1.5 GiB`, `1/4`; None for what is no amount."""
    number, _, unit = text.partition(" ")
    if share := _SHARE.fullmatch(text):
        return Fraction(int(share[1]), int(share[2]))
    if not _SMALL.fullmatch(number):  # the text is another program's, and a number in it may be of any size
        return None
    try:
        return Fraction(number) * 1024 ** _UNITS[unit] if unit else read_quantity(number)
    except (ValueError, KeyError, ZeroDivisionError):
        return None


_AFTER = re.compile(r"\.?(?: (?:preemption|no new claims)|$)")


def _explain_names(message: str) -> Phrase | None:
    """`no node has enough CPUs and memory free`, where a scheduler says no more."""
    _, _, facts, after = _split(message)
    if not facts or not _AFTER.match(after):
        return None
    names = sort_resources({fact["resource"] or "pods": None for fact in facts})
    return phrase("no node has enough {resource} free", resource=Names(tuple(map(_name, names)), most=0))


def _explain_nodes(message: str) -> Phrase | None:
    """`none of the 3 nodes takes it: 2 are cordoned and 1 has not enough CPUs free`, where all reasons are known.
    A node may have several of them."""
    if message.removesuffix(".") == "no nodes available to schedule pods":
        return phrase("this cluster has no node that takes pods")
    rest, together = message, 1
    if found := _GANG.match(message):
        rest, together = message[found.end() :], int(found["together"])
    if not (head := _HEAD.match(rest)) or len(rest) > _LONGEST:
        return None
    place, reasons = head.end(), list[Phrase]()
    while reason := _match_reason(rest, place, together):
        end, said = reason
        reasons.append(said)
        if not rest.startswith(", ", end):
            return _join_reasons(reasons, int(head["nodes"])) if _AFTER.match(_HELD.sub("", rest[end:])) else None
        place = end + 2
    return None


def _match_reason(text: str, place: int, together: int) -> tuple[int, Phrase] | None:
    if fact := _FACT.match(text, place):
        name = _name(fact["resource"] or "pods")
        said = counted("{count} has not enough {resource} free", "{count} have not enough {resource} free",
                       count=int(fact["at"]), resource=name)  # fmt: skip
        lacking = _read_lacking(fact, together)
        return fact.end(), said if lacking is None else phrase("{said} ({why})", said=said, why=explain_need(lacking))
    for form, said in _REASONS:
        if found := form.match(text, place):
            facts = {**found.groupdict(), "count": int(found["count"])}
            return found.end(), replace(said, args=tuple(facts.items()))
    return None


def _join_reasons(reasons: Sequence[Phrase], nodes: int) -> Phrase:
    return counted(
        "the one node does not take it: {reasons}", "none of the {count} nodes takes it: {reasons}",
        count=nodes, reasons=Names(tuple(reasons), most=0),
    )  # fmt: skip


_WHERE = r"(?:on [^:()]+: )?"
_REASONS = (
    (re.compile(rf"(?P<count>\d{{1,9}}) node\(s\) didn't match Pod's node affinity/selector "
                rf"\({_WHERE}(?P<label>[^;()]+); node has [^()]+\)"),
     counted("{count} has not the label {label}", "{count} have not the label {label}")),
    (re.compile(r"(?P<count>\d{1,9}) node\(s\) didn't match Pod's node affinity/selector"),
     counted("{count} has not the labels that it asks for", "{count} have not the labels that it asks for")),
    (re.compile(r"(?P<count>\d{1,9}) node\(s\) had untolerated taint \{(?P<taint>[^{}]*?):? ?\}"),
     counted("{count} keeps it away by the taint {taint}", "{count} keep it away by the taint {taint}")),
    (re.compile(r"(?P<count>\d{1,9}) node\(s\) were unschedulable(?: \([^()]*\))?"),
     counted("{count} is cordoned", "{count} are cordoned")),
    (re.compile(r"(?P<count>\d{1,9}) node\(s\) were not ready"),
     counted("{count} is not ready", "{count} are not ready")),
    (re.compile(rf"(?P<count>\d{{1,9}}) node\(s\) didn't have free ports for the requested pod ports "
                rf"\({_WHERE}port (?P<port>\d+) is held by (?P<other>[^()]+)\)"),
     counted("on {count} port {port} is held by {other}", "on {count} port {port} is held by {other}")),
)  # fmt: skip
"""What keeps a pod from nodes, beside room: kube-scheduler's texts, with what the local scheduler adds in brackets."""


_MIN_COUNT = re.compile(r"minCount \((?P<count>\d+)\) cannot be satisfied: (?P<fit>\d+) scheduled")
_NOT_READY = re.compile(r"pod group is not ready, \d+ Pending, (?P<count>\d+) minAvailable")
_GAP = re.compile(r"resource gap: map\[(?P<gaps>[^\]]*)\]")
_ONE_GAP = re.compile(r"(?P<resource>[\w./-]+):\{\{(?P<value>\d{1,18}) (?P<scale>-?\d{1,2})\}")


_TURN = re.compile(
    r'(?P<how>held back for|comes after) the (?:gang|pod) "(?:(?P<namespace>[^"/]{1,63})/)?(?P<name>[^"/]{1,253})", '
    r"which (?:has waited longer and )?lacks (?P<lacked>[^\s,]{1,317}(?:, [^\s,]{1,317}){0,19})"
    r"(?: \((?P<free>[\d.]{1,20}[A-Za-z]{0,2}(?: [KMGTPE]?i?B)?) (?P<resource>\S{1,317}) is free and kept\))?"
)


def explain_turn(message: str) -> Phrase | None:
    """Whom the local scheduler serves first: `waits behind hog, which has waited longer and lacks CPUs`, and what of it
    is free and would do: `0.3 CPUs free, kept for hog`. None for another text."""
    if not (found := _TURN.fullmatch(message)):
        return None
    namespace = "" if found["namespace"] in (None, "default") else found["namespace"]
    ahead = name_holder(Holder(found["name"], namespace=namespace))
    names = sort_resources(dict.fromkeys(found["lacked"].split(", ")))
    lacked = Names(tuple(map(_name, names)), most=0)
    if found["how"] == "comes after":
        return phrase("waits behind {ahead}, which lacks {resource}", ahead=ahead, resource=lacked)
    turn = phrase("waits behind {ahead}, which has waited longer and lacks {resource}", ahead=ahead, resource=lacked)
    if (free := read_amount(found["free"] or "")) is None:
        return turn
    return phrase("{turn}; {amount} free, kept for {ahead}",
                  turn=turn, amount=say_amount(found["resource"], free), ahead=ahead)  # fmt: skip


def explain_gang(message: str) -> Phrase | None:
    """What Volcano and Kubernetes' own gang scheduler say of a gang that has no room (measured with Volcano 1.12 and
    Kubernetes 1.37); None for another text. A gap is Go's form of a quantity: a number and the power of ten."""
    if found := _GAP.search(message):
        gaps = {each["resource"]: _read_gap(each) for each in _ONE_GAP.finditer(found["gaps"])}
        if gaps:
            said = tuple(say_amount(name, gaps[name]) for name in sort_resources(gaps))
            return phrase("{amounts} more would have to be free", amounts=Names(said))
    if found := _MIN_COUNT.search(message):
        return phrase("{count} pods start together, and there is room for {fit}",
                      count=int(found["count"][:9]), fit=int(found["fit"][:9]))  # fmt: skip
    if found := _NOT_READY.search(message):
        return phrase("{count} pods start together, and not all of them have room yet", count=int(found["count"][:9]))
    return None


_NAMED = re.compile(r"\d+ Insufficient ([^\s,(]*[^\s,(.])|\d+ (Too many pods)")
_LONGEST = 10_000
"""Characters of a message in which resources are looked for: it is another program's."""


def find_named(message: str) -> frozenset[str] | None:
    """The resources that a scheduler's message calls insufficient; empty where it speaks of room and names none, or
    says nothing. None for a message that has another reason alone."""
    found = {name or "pods" for name, _ in _NAMED.findall(message[:_LONGEST])}
    if found:
        return frozenset(found)
    return frozenset() if not message or explain_gang(message) is not None else None


def _read_gap(found: re.Match[str]) -> Fraction:
    return int(found["value"]) * Fraction(10) ** int(found["scale"])


def _name(resource: str) -> Phrase | str:
    return _NAMES.get(resource, resource)


_NAMES = {
    "cpu": phrase("CPUs"),
    "nvidia.com/gpu": phrase("GPUs"),
    "memory": phrase("memory"),
    "pods": phrase("places for pods"),
}
