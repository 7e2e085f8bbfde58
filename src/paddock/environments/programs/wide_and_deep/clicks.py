"""Generated clicks whose best possible AUC is known, as the probability behind each click is known.

A sample has `FIELDS` categorical fields; a hidden weight for each value and a hidden pairing of two fields make the
click's log-odds. All seeds are fixed: every worker, every attempt and the evaluation use the same weights.
"""

import numpy as np

FIELDS = 8
VALUES = 50
"""Values of a field; the id of value v of field f is f * VALUES + v."""
IDS = FIELDS * VALUES
BIAS = -0.4

_world = np.random.default_rng(20210208)
_weights = _world.normal(0.0, 0.57, size=(FIELDS, VALUES))
_taste = _world.normal(0.0, 1.0, size=(VALUES, 2))
_style = _world.normal(0.0, 1.0, size=(VALUES, 2))


def draw(seed, count):
    """`count` samples: ids (count, FIELDS) int64, clicks (count, 1) float32, probabilities (count,) of a click."""
    random = np.random.default_rng(seed)
    values = random.integers(0, VALUES, size=(count, FIELDS))
    wide = _weights[np.arange(FIELDS), values].sum(axis=1)
    paired = 0.45 * (_taste[values[:, 0]] * _style[values[:, 1]]).sum(axis=1)
    probability = 1.0 / (1.0 + np.exp(-(BIAS + wide + paired)))
    clicks = (random.random(count) < probability).astype("float32").reshape(-1, 1)
    ids = (values + np.arange(FIELDS) * VALUES).astype("int64")
    return ids, clicks, probability


def auc(scores, clicks):
    """The probability that a clicked sample scores above an unclicked one; ties count half."""
    scores, clicks = np.asarray(scores).ravel(), np.asarray(clicks).ravel() > 0.5
    _, place, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2.0)[place]
    clicked = int(clicks.sum())
    others = clicks.size - clicked
    return float((ranks[clicks].sum() - clicked * (clicked + 1) / 2.0) / (clicked * others))
