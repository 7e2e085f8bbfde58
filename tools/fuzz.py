#!/usr/bin/env python3
"""Bad input for the embedded API, for as long as you like (`tests/apiserver/fuzz`): every reader by itself, timed and
weighed, and for as long again whole requests to a server.

    tools/fuzz.py                           five minutes, from a seed that is printed
    tools/fuzz.py 60 --seed 7               so many seconds, from seed 7
    tools/fuzz.py --only YAML --only JSON   these readers alone
    tools/fuzz.py --replay build/fuzz/x     the input that a run has kept

Ends with 1 if an input fails; it is kept in build/fuzz, and of whole requests what was said, with the command that
tries the same again.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from apiserver.fuzz import campaign
from apiserver.fuzz.targets import TARGETS

_ROOT = Path(__file__).resolve().parents[1]
_KEPT = _ROOT / "build" / "fuzz"
_WHOLE = ("tests/apiserver/fuzz/test_whole_requests.py", "--hypothesis-profile=many")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000), help="the first seed")
    parser.add_argument("--only", action="append", choices=list(TARGETS), help="once for each")
    parser.add_argument("--replay", type=Path, metavar="FILE")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if asked.replay is not None:
        campaign.replay(asked.replay)
        print("it does not fail")
        return 0
    print(f"from seed {asked.seed}", flush=True)
    share = asked.seconds if asked.only else asked.seconds / 2
    failed = bool(campaign.run(share, asked.seed, asked.only or TARGETS, _KEPT))
    if not asked.only:
        failed = try_whole_requests(share, asked.seed) or failed
    return int(failed)


def try_whole_requests(seconds: float, seed: int) -> bool:
    """Whether one has failed. Each round has a server and a seed of its own."""
    begun, rounds = time.monotonic(), 0
    while time.monotonic() - begun < seconds:
        command = [sys.executable, "-m", "pytest", "-q", *_WHOLE, f"--randomly-seed={seed + rounds}"]
        ended = subprocess.run(
            command,
            cwd=_ROOT,
            env={**os.environ, "FUZZ_STALL_SECONDS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            kept = _KEPT / f"whole-requests.{seed + rounds}.txt"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(ended.stdout + ended.stderr)
            print(f"whole requests, seed {seed + rounds}: {kept}\n    again: {' '.join(command[1:])}", flush=True)
            return True
        rounds += 1
    print(f"whole requests: {rounds} servers, {time.monotonic() - begun:.0f} s: none fails", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main())
