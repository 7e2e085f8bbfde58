"""Keras 3 on PyTorch: `compile`, `fit`, `evaluate`."""

import os

os.environ["KERAS_BACKEND"] = "torch"  # Keras reads it when it is imported

import keras
import numpy as np

keras.utils.set_random_seed(1)
x = np.random.default_rng(1).normal(size=(1024, 20)).astype("float32")
y = (x[:, :10].sum(axis=1) > x[:, 10:].sum(axis=1)).astype("int64")
model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(2)])
model.compile(
    optimizer=keras.optimizers.Adam(0.01),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(x[:768], y[:768], epochs=3, batch_size=64, verbose=2, validation_data=(x[768:], y[768:]))
loss, accuracy = model.evaluate(x[768:], y[768:], verbose=0)
print("test_loss:", loss, "test_accuracy:", accuracy)
