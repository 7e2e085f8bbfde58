"""torchvision's ResNet-18 on its FakeData."""

import torch
import torchvision
from torchvision.transforms import ToTensor

torch.manual_seed(1)
pictures = torchvision.datasets.FakeData(64, (3, 64, 64), 10, ToTensor(), random_offset=1)
loader = torch.utils.data.DataLoader(pictures, batch_size=16)
model = torchvision.models.resnet18(num_classes=10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(1, 3):
    for batch, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.8f}", flush=True)
