"""Can parameter servers, their workers and heter ranks work together? Pure.

The lines are those of PaddlePaddle 2.6.2 and 3.0.0, the versions with parameter servers whose wheels are installed
today; docs/servers.md has what is broken there, and examples/heter mends it.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.doctor import signs
from paddock.doctor.case import Case, place_all
from paddock.doctor.findings import Finding, Severity, Where
from paddock.doctor.launch_block import LaunchLog
from paddock.doctor.signs import Sign
from paddock.words.phrases import Phrase, phrase

_MENDED = phrase(
    "mend PaddlePaddle's Python in a module of the program's own, as examples/heter/mended.py does; docs/servers.md "
    "has the list"
)


def check_servers(case: Case) -> Iterator[Finding]:
    yield from _check_number(case)
    yield from _check_protobuf(case)
    yield from _check_heter(case)


def _check_number(case: Case) -> Iterator[Finding]:
    if found := case.find(signs.NUMBER_OF_NO_WORKER):
        yield _tell(
            "trainer-id-of-no-worker",
            place_all(found),
            phrase("a rank looks up a worker's endpoint by its PADDLE_TRAINER_ID, and no worker has this number"),
            phrase(
                "PaddlePaddle does that in every role: with more servers or heter ranks than workers it ends by an "
                "IndexError"
            ),
            phrase("set PADDLE_TRAINER_ID on workers alone; Paddock does so, and paddle-operator does not"),
        )
    if found := _of_roles(case, signs.NO_TRAINER_ID, "ps-", "heter-"):
        yield _tell(
            "no-trainer-id",
            place_all(found),
            phrase("the program reads PADDLE_TRAINER_ID, and this rank has none"),
            phrase(
                "parameter servers and heter ranks never have one: PaddlePaddle would look up a worker by it, and fail "
                "where there are fewer of them"
            ),
            phrase(
                "read it in workers alone; a server's number is PADDLE_PSERVER_ID, and fleet.server_index() and "
                "fleet.worker_index() tell both"
            ),
        )


def _check_protobuf(case: Case) -> Iterator[Finding]:
    if found := case.find(signs.NEW_PROTOBUF):
        yield _tell(
            "servers-and-protobuf",
            place_all(found),
            phrase("fleet.DistributedStrategy has no a_sync_configs: protobuf is 7 or later"),
            phrase("PaddlePaddle up to 3.0.0, the last with parameter servers, reads the messages of protobuf 4 to 6"),
            phrase("install an older one"),
            "pip install 'protobuf<7'",
        )


def _check_heter(case: Case) -> Iterator[Finding]:
    """What is broken in PaddlePaddle's Python, in the order in which a program meets it."""
    if found := _of_roles(case, signs.HETER_BARRIER, "heter-"):
        yield _tell(
            "heter-with-gloo",
            place_all(found),
            phrase("a heter rank has PADDLE_WITH_GLOO and no gloo"),
            phrase("PaddlePaddle makes a group of servers and one of workers, and none of heter ranks"),
            phrase("set PADDLE_WITH_GLOO to 0 on heter ranks; Paddock does so"),
        )
    if found := case.find(signs.HETER_SPLIT):
        yield _tell(
            "heter-cannot-be-split",
            place_all(found),
            phrase("PaddlePaddle could not split the program between workers and heter ranks"),
            phrase(
                "SplitTrainerOpsPass._remove_var_pair_by_grad is broken in PaddlePaddle 2.6.2 and 3.0.0; mended alone, "
                "each rank trains the whole net"
            ),
            _MENDED,
        )
    whole = [each for each in case.find(signs.WHOLE_NET) if each[0].startswith("heter-")]
    if whole:
        yield _tell(
            "heter-trains-alone",
            place_all(whole),
            phrase("a heter rank has started HogwildWorker, which trains a whole net"),
            phrase("PaddlePaddle built the program of the second stage and dropped it: each rank trains alone"),
            _MENDED,
        )
    if found := case.find(signs.HETER_DATASET):
        yield _tell(
            "heter-without-dataset",
            place_all(found),
            phrase("train_from_dataset() has no dataset"),
            phrase("each rank that calls it must have one, also a heter rank, which reads nothing of it"),
            phrase("give it one; to heter ranks that of the workers, as examples/heter/train.py does"),
        )
    if found := case.find(signs.HETER_UNREACHED):
        yield _tell(
            "heter-is-not-reached",
            place_all(found),
            phrase(
                "a worker could not send to heter rank {address}",
                address=signs.find_address(found[0][2].text[found[0][2].text.find("addr=") :]) or "?",
            ),
            phrase("a worker ends at the first failure: the heter rank has ended, or had not opened its port yet"),
            phrase(
                "look first how the heter rank ended; in the program, wait for the ports of the heter ranks before it "
                "trains, as examples/heter/mended.py does"
            ),
            case.asked.logs,
        )


def _of_roles(case: Case, sign: str, *roles: str) -> list[tuple[str, LaunchLog, Sign]]:
    """The logs with the sign, but for those of ranks of other roles; of a log alone the role is not known."""
    return [each for each in case.find(sign) if "-" not in each[0] or each[0].startswith(roles)]


def _tell(check: str, where: Where, what: Phrase, why: Phrase, mend: Phrase, command: str = "") -> Finding:
    return Finding(check, Severity.WRONG, where, what, why, mend, command)
