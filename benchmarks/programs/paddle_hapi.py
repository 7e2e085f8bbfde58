"""PaddlePaddle's high-level API: `paddle.Model` with `prepare`, `fit` and `evaluate`."""

import numpy as np
import paddle
from paddle.io import Dataset


class Stripes(Dataset):
    """Pictures of noise; those of class 1 have a bright row."""

    def __init__(self, count, seed):
        random = np.random.default_rng(seed)
        self.labels = random.integers(0, 2, size=(count, 1))
        self.pictures = random.normal(size=(count, 1, 16, 16)).astype("float32")
        self.pictures[:, 0, 8, :] += self.labels * 1.0

    def __getitem__(self, index):
        return self.pictures[index], self.labels[index]

    def __len__(self):
        return len(self.labels)


paddle.seed(1)
net = paddle.nn.Sequential(
    paddle.nn.Conv2D(1, 8, 3), paddle.nn.ReLU(), paddle.nn.Flatten(), paddle.nn.Linear(8 * 14 * 14, 2)
)
model = paddle.Model(net)
model.prepare(
    paddle.optimizer.Adam(0.001, parameters=model.parameters()), paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy()
)
model.fit(Stripes(512, 1), epochs=2, batch_size=32, verbose=2, shuffle=False)
print(model.evaluate(Stripes(128, 2), batch_size=32, verbose=0))
