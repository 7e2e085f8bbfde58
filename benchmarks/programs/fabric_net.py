"""Lightning Fabric: `setup`, `backward` and `all_reduce`, started by `fabric run`."""

import torch
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, TensorDataset

fabric = Fabric()
fabric.seed_everything(1)
x = torch.randn(512, 8)
data = DataLoader(TensorDataset(x, torch.sin(x.sum(dim=1, keepdim=True))), batch_size=32)
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=0.01))
data = fabric.setup_dataloaders(data)
for epoch in range(1, 11):
    for rows, wanted in data:
        loss = torch.nn.functional.mse_loss(model(rows), wanted)
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
    mean = fabric.all_reduce(loss.detach(), reduce_op="mean")
    if epoch % 5 == 0:
        fabric.print(f"ranks {fabric.world_size} epoch {epoch} loss {mean.item():.8f}", flush=True)
