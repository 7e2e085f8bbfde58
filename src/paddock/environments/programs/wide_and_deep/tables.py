"""Reads the parameter servers' files without Paddle: `<directory>/<table>/part-*.gz`, one text row for each value.

Tables are numbered in the order of the parameters' names: 000 deep, 001 wide (sparse), 002 all dense parameters one
after the other. Seen in the files of paddlepaddle 3.0.0: a sparse row is `id slot unseen delta show click`, the first
weight, four numbers of Adam, then the other weights; a dense row begins with the weight.
"""

import gzip
from pathlib import Path

import numpy as np

DENSE = {"hidden.b": (32,), "hidden.w": (64, 32), "score.b": (1,), "score.w": (32, 1)}
_SPARSE_HEAD, _ADAM = 6, 4


def _rows(directory):
    parts = sorted(Path(directory).glob("part-*.gz"))
    if not parts:
        raise FileNotFoundError(f"{directory} holds no part-*.gz: the servers saved nothing there")
    for part in parts:
        with gzip.open(part, "rt") as lines:
            yield from (line.split() for line in lines)


def read_sparse(directory, ids, width):
    """The weights, shape (ids, width); rows of ids that the servers never saw stay 0."""
    weights = np.zeros((ids, width))
    rest = _SPARSE_HEAD + 1 + _ADAM
    for row in _rows(directory):
        weights[int(row[0])] = [float(row[_SPARSE_HEAD]), *map(float, row[rest : rest + width - 1])]
    return weights


def read_dense(directory):
    """The dense parameters by name, each in its shape."""
    flat = np.array([float(row[0]) for row in _rows(directory)])
    sizes = [int(np.prod(shape)) for shape in DENSE.values()]
    if flat.size != sum(sizes):
        raise ValueError(f"{directory} holds {flat.size} dense values, the network has {sum(sizes)}")
    pieces = np.split(flat, np.cumsum(sizes)[:-1])
    return {name: piece.reshape(shape) for (name, shape), piece in zip(DENSE.items(), pieces, strict=True)}
