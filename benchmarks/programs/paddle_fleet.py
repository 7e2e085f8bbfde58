"""fleet in collective mode: each rank has its share of the rows, gradients are averaged."""

import numpy as np
import paddle
import paddle.distributed as dist
from paddle.distributed import fleet

fleet.init(is_collective=True)
paddle.seed(1)
net = paddle.nn.Sequential(paddle.nn.Linear(8, 32), paddle.nn.Tanh(), paddle.nn.Linear(32, 1))
# On one rank PaddlePaddle 3.3.1 takes pipelines alone here (`assert isinstance(layers, PipelineLayer)`).
model = fleet.distributed_model(net) if dist.get_world_size() > 1 else net
optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(0.01, parameters=model.parameters()))

random = np.random.default_rng(1)
rows = random.normal(size=(512, 8)).astype("float32")
x = paddle.to_tensor(rows[dist.get_rank() :: dist.get_world_size()])
y = paddle.sin(x.sum(axis=1, keepdim=True))
for step in range(1, 101):
    loss = paddle.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    mean = loss.detach().reshape([1])
    if dist.get_world_size() > 1:
        dist.all_reduce(mean)
    if step % 25 == 0 and dist.get_rank() == 0:
        value = mean.item() / dist.get_world_size()
        print(f"ranks {dist.get_world_size()} step {step} loss: {value:.8f}", flush=True)
