"""Whether a Wide & Deep job has learned, from nothing but the files that its servers wrote."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import paddock.environments
from e2e.commands import Cluster

EVALUATE = Path(paddock.environments.__file__).parent / "programs" / "wide_and_deep" / "evaluate.py"
NEAR = 0.05


def find_python(cluster: Cluster, environment: str) -> Path:
    """The interpreter of a built environment."""
    found = cluster.paddock("get", "environments", environment, "-o", "json")
    return Path(json.loads(found.out)["status"]["path"]) / "bin" / "python"


def assert_trained(python: Path, output: Path, near: float = NEAR) -> None:
    """The saved parameters score within `near` of the best possible AUC on clicks that nobody has trained on. What the
    job itself said of its score is not looked at."""
    (output / "model" / "evaluation.json").unlink(missing_ok=True)
    subprocess.run([python, EVALUATE, output / "model"], check=True, capture_output=True, timeout=180)
    score = json.loads((output / "model" / "evaluation.json").read_text())
    assert score["best"] > 0.8, "the best possible is far above chance, or the test means nothing"
    assert score["auc"] >= score["best"] - near, score
