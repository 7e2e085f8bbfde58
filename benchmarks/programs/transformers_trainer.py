"""transformers' Trainer on a GPT-2 of two small layers, with random weights."""

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class Counting(Dataset):
    """Rows of tokens that count on from a random first one."""

    def __init__(self, count, seed):
        first = torch.randint(0, 50, (count, 1), generator=torch.Generator().manual_seed(seed))
        self.tokens = (first + torch.arange(32)) % 50

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}

    def __len__(self):
        return len(self.tokens)


set_seed(1)
model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=2))
arguments = TrainingArguments("trained", max_steps=40, logging_steps=10, learning_rate=0.01, report_to=[], seed=1)
trainer = Trainer(model, arguments, train_dataset=Counting(256, 1), eval_dataset=Counting(64, 2))
trainer.train()
print("test_loss:", trainer.evaluate()["eval_loss"])
