"""A program of Hydra: its settings come from the command line, and it works in a folder of its own."""

import hydra
import torch
from omegaconf import DictConfig


@hydra.main(version_base=None, config_path=None)
def train(settings: DictConfig) -> None:
    torch.manual_seed(1)
    x = torch.randn(256, 4)
    y = torch.sin(x.sum(dim=1, keepdim=True))
    model = torch.nn.Sequential(torch.nn.Linear(4, settings.net.width), torch.nn.Tanh(), torch.nn.LazyLinear(1))
    model(x)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.lr)
    for step in range(1, 201):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss={loss.item():.8f}", flush=True)


if __name__ == "__main__":
    train()
