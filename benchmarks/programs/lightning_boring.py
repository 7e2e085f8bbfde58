"""Lightning's own BoringModel, with its logger, its progress bar and a checkpoint."""

import lightning
import torch
from lightning.pytorch.demos.boring_classes import BoringModel


class Model(BoringModel):
    """It also logs its loss for the progress bar."""

    def training_step(self, batch, batch_idx):
        step = super().training_step(batch, batch_idx)
        self.log("train_loss", step["loss"], prog_bar=True)
        return step


lightning.seed_everything(1)
model = Model()
trainer = lightning.Trainer(accelerator="cpu", devices=1, max_epochs=3, log_every_n_steps=8)
trainer.fit(model)
print(f"last_loss: {trainer.callback_metrics['train_loss'].item():.8f}")
print(f"weights score {sum(float(p.detach().abs().sum()) for p in model.parameters()):.8f}", torch.__version__)
