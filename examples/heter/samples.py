"""The samples, made by the program: four categorical ids, and whether their hidden scores add up to more than 0."""

import numpy as np

FIELDS, PER_FIELD = 4, 50
IDS = FIELDS * PER_FIELD
_SCORES = np.random.default_rng(2021).normal(size=IDS)
_NOISE = 0.5
"""Of the label, so that no model can be right about all samples."""


def draw(seed, count):
    """`count` samples: ids of shape (count, FIELDS), labels of shape (count, 1). Equal seeds give equal samples."""
    random = np.random.default_rng(seed)
    ids = random.integers(0, PER_FIELD, (count, FIELDS)) + np.arange(FIELDS) * PER_FIELD
    total = _SCORES[ids].sum(axis=1) + _NOISE * random.normal(size=count)
    return ids, (total > 0).astype("float32")[:, None]


def write(path, ids, labels):
    """Writes the text that PaddlePaddle's datasets read: for each input its number of values, then the values."""
    with path.open("w") as lines:
        for row, label in zip(ids, labels[:, 0], strict=True):
            lines.write(f"{FIELDS} {' '.join(map(str, row))} 1 {label}\n")
