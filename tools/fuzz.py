#!/usr/bin/env python3
"""Bad input for the embedded API, for as long as you like (`tests/apiserver/fuzz`): every reader, timed and weighed.

    tools/fuzz.py                           five minutes, from a seed that is printed
    tools/fuzz.py 60 --seed 7               so many seconds, from seed 7
    tools/fuzz.py --only YAML --only JSON   these readers alone
    tools/fuzz.py --replay build/fuzz/x     the input that a run has kept

Ends with 1 if an input fails; it is kept in build/fuzz.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from apiserver.fuzz import campaign
from apiserver.fuzz.targets import TARGETS

_KEPT = Path(__file__).resolve().parents[1] / "build" / "fuzz"


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
    return 1 if campaign.run(asked.seconds, asked.seed, asked.only or TARGETS, _KEPT) else 0


if __name__ == "__main__":
    sys.exit(main())
