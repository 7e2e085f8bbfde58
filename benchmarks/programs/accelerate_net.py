"""Hugging Face's Accelerator around a plain loop, started by `accelerate launch`."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator()
set_seed(1)
x = torch.randn(512, 8)
data = DataLoader(TensorDataset(x, torch.sin(x.sum(dim=1, keepdim=True))), batch_size=32, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
model, optimizer, data = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.01), data)
for epoch in range(1, 11):
    for rows, wanted in data:
        loss = torch.nn.functional.mse_loss(model(rows), wanted)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
    mean = accelerator.reduce(loss.detach(), reduction="mean")
    if epoch % 5 == 0:
        accelerator.print(f"ranks {accelerator.num_processes} epoch {epoch} loss {mean.item():.8f}", flush=True)
