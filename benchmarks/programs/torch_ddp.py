"""DistributedDataParallel with gloo and a DistributedSampler."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(1)
x = torch.randn(512, 8)
data = TensorDataset(x, torch.sin(x.sum(dim=1, keepdim=True)))
sampler = DistributedSampler(data, seed=1)
loader = DataLoader(data, batch_size=32, sampler=sampler)
net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
model = DistributedDataParallel(net)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(1, 11):
    sampler.set_epoch(epoch)
    for rows, wanted in loader:
        loss = torch.nn.functional.mse_loss(model(rows), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if dist.get_rank() == 0 and epoch % 5 == 0:
        print(f"ranks {dist.get_world_size()} epoch {epoch} loss {mean.item() / dist.get_world_size():.8f}", flush=True)
dist.destroy_process_group()
