"""A plain PyTorch loop, its rows loaded by two processes."""

import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(1)
    x = torch.randn(1024, 1, 16, 16)
    y = (x[:, 0, :8].sum(dim=(1, 2)) > 0).long()
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 14 * 14, 2)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True, num_workers=2)
    for epoch in range(1, 4):
        right = 0
        for pictures, labels in loader:
            scores = model(pictures)
            loss = torch.nn.functional.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += int((scores.argmax(dim=1) == labels).sum())
        print(f"epoch {epoch} loss {loss.item():.8f} accuracy {right / len(x):.6f}", flush=True)
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
