"""Scores saved parameters on held-out clicks: `python evaluate.py MODEL_DIRECTORY`.

A separate program, without Paddle: it reads only the files that the servers wrote, so a run whose servers did not
update their parameters scores like chance. The result also goes into the pod's termination message.
"""

import json
import os
import sys
from pathlib import Path

import clicks
import tables

SEED, SAMPLES = 99_991, 20_000
"""`SEED` is not used in training, whose seeds are (epoch, worker, step)."""


def predict(model, ids):
    """The network's log-odds, as train.py builds it."""
    deep = tables.read_sparse(model / "000", clicks.IDS, 8)
    wide = tables.read_sparse(model / "001", clicks.IDS, 1)
    dense = tables.read_dense(model / "002")
    hidden = deep[ids].reshape(len(ids), -1) @ dense["hidden.w"] + dense["hidden.b"]
    return hidden.clip(min=0) @ dense["score.w"] + dense["score.b"] + wide[ids].sum(axis=1)


def main():
    model = Path(sys.argv[1])
    ids, labels, probability = clicks.draw(SEED, SAMPLES)
    reached, best = clicks.auc(predict(model, ids), labels), clicks.auc(probability, labels)
    line = f"Held-out AUC {reached:.2f} (chance 0.50, best possible {best:.2f})"
    print(line, flush=True)
    (model / "evaluation.json").write_text(json.dumps({"auc": reached, "chance": 0.5, "best": best}) + "\n")
    last_words = os.environ.get("PADDOCK_TERMINATION_LOG")
    if last_words:
        Path(last_words).write_text(line)


if __name__ == "__main__":
    main()
