import argparse
import os
from pathlib import Path

import paddle
import paddle.distributed as dist

options = argparse.ArgumentParser()
options.add_argument("--epochs", type=int, default=3)
options.add_argument("--lr", type=float, default=0.01)
options.add_argument("--crash-after", type=int, help="an epoch, to see what happens")
options = options.parse_args()

dist.init_parallel_env()  # the workers find each other; one alone trains alone
rank = dist.get_rank()
paddle.seed(rank)  # each worker draws its own data
model = paddle.DataParallel(paddle.nn.Linear(1, 1))  # averages the gradients of all workers
optimizer = paddle.optimizer.SGD(options.lr, parameters=model.parameters())

checkpoint = Path(os.environ.get("PADDOCK_CHECKPOINT_DIR", ".")) / "latest.pdparams"
done = 0
if checkpoint.exists():
    state = paddle.load(str(checkpoint))
    model.set_state_dict(state["model"])
    done = state["epoch"]
    print(f"goes on after epoch {done}")

for epoch in range(done + 1, options.epochs + 1):
    for _ in range(100):
        x = paddle.randn([32, 1])
        loss = paddle.nn.functional.mse_loss(model(x), 3 * x + 2)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    print(f"Epoch {epoch}, Loss {loss.item():.6f}")
    if rank == 0:
        new = checkpoint.with_suffix(".new")
        paddle.save({"model": model.state_dict(), "epoch": epoch}, str(new))
        new.replace(checkpoint)  # whole, or not at all
    if epoch == options.crash_after and not done:
        raise RuntimeError("the disk with the data is gone")

if rank == 0:
    output = Path(os.environ.get("PADDOCK_OUTPUT_DIR", "."))
    paddle.save(model.state_dict(), str(output / "model.pdparams"))
