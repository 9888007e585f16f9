"""A word language model with its LSTM state as a tuple; batch and length are free."""
from typing import Tuple

import torch
from torch import Tensor, nn


class WordModel(nn.Module):
    def __init__(self, words: int = 100, width: int = 16):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, num_layers=2)
        self.out = nn.Linear(width, words)

    def forward(self, tokens: Tensor, state: Tuple[Tensor, Tensor]):
        hidden, state = self.lstm(self.embed(tokens), state)
        return self.out(hidden).log_softmax(-1), state


torch.manual_seed(0)
torch.jit.script(WordModel().eval()).save("words.pt")
