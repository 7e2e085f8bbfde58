"""What is said of a field that has no effect on a laptop. Pure; `kube.unhonoured` finds them."""

from __future__ import annotations

from paddock.kube.unhonoured import Unhonoured, Why
from paddock.words.phrases import NOTHING, Phrase, phrase


def explain_unhonoured(found: Unhonoured, uid: int) -> Phrase:
    """One line. `uid`: of the user as whom programs run."""
    return phrase("{path} {problem}", path=found.path, problem=explain_effect(found, uid))


def explain_effect(found: Unhonoured, uid: int) -> Phrase:
    """The same without the field, for who prints its place."""
    why = _explain_why(found.why, uid)
    if not why.text:
        return phrase("is not honoured on this machine")
    return phrase("is not honoured on this machine: {why}", why=why)


def _explain_why(why: Why, uid: int) -> Phrase:
    match why:
        case Why.USER:
            return phrase("programs run as you (uid {uid})", uid=uid)
        case Why.RIGHTS:
            return phrase("programs have your rights, in the sandbox of this cluster")
        case Why.AMOUNT:
            return phrase("nothing limits what a program writes but the disk or the memory")
        case Why.PROCESSES:
            return phrase("what a container sees of other processes is the sandbox's choice")
        case Why.NAMES:
            return phrase("names are looked up as on the machine")
        case Why.QUEUE:
            return phrase("it has no Kueue, so the job waits for no queue")
        case Why.TERMINAL:
            return phrase("its program has no terminal; one that `kubectl exec -it` starts has")
        case Why.UNKNOWN:
            return NOTHING
