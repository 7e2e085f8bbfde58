"""Two layers in JAX, with `jit` and `value_and_grad`."""

import jax
import jax.numpy as jnp


def forward(weights, x):
    first, second = weights
    return jnp.tanh(x @ first) @ second


@jax.jit
def step(weights, x, y):
    loss, slopes = jax.value_and_grad(lambda w: jnp.mean((forward(w, x) - y) ** 2))(weights)
    return [w - 0.05 * slope for w, slope in zip(weights, slopes, strict=True)], loss


key = jax.random.PRNGKey(1)
of_first, of_second, of_x = jax.random.split(key, 3)
weights = [jax.random.normal(of_first, (16, 64)) * 0.2, jax.random.normal(of_second, (64, 1)) * 0.2]
x = jax.random.normal(of_x, (512, 16))
y = jnp.sin(x.sum(axis=1, keepdims=True))
for number in range(1, 301):
    weights, loss = step(weights, x, y)
    if number % 50 == 0:
        print(f"step {number} loss {float(loss):.8f}", flush=True)
