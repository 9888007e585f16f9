"""Word language models (RNN, LSTM, GRU, Transformer), attention, and the documented loop models."""
import math
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RecurrentLm(nn.Module):
    """Embedding, RNN_TANH, RNN_RELU or GRU, decoder: tokens [length, batch] and one hidden state."""

    def __init__(self, kind: str, tokens: int, width: int, layers: int = 2):
        super().__init__()
        self.tokens = tokens
        self.drop = nn.Dropout(0.5)
        self.encoder = nn.Embedding(tokens, width)
        if kind == "GRU":
            self.rnn = nn.GRU(width, width, layers, dropout=0.5)
        else:
            self.rnn = nn.RNN(width, width, layers, nonlinearity=kind[4:].lower(), dropout=0.5)
        self.decoder = nn.Linear(width, tokens)

    def forward(self, input: Tensor, hidden: Tensor) -> Tuple[Tensor, Tensor]:
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.tokens)
        return F.log_softmax(decoded, dim=1), hidden


class LstmLm(nn.Module):
    """The same with LSTM, whose state is a pair."""

    def __init__(self, tokens: int, width: int, layers: int = 2):
        super().__init__()
        self.tokens = tokens
        self.drop = nn.Dropout(0.5)
        self.encoder = nn.Embedding(tokens, width)
        self.rnn = nn.LSTM(width, width, layers, dropout=0.5)
        self.decoder = nn.Linear(width, tokens)

    def forward(self, input: Tensor,
                hidden: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.tokens)
        return F.log_softmax(decoded, dim=1), hidden


class PositionalEncoding(nn.Module):
    def __init__(self, width: int, longest: int = 500):
        super().__init__()
        position = torch.arange(longest, dtype=torch.float).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2).float() * (-math.log(10000.0) / width))
        table = torch.zeros(longest, 1, width)
        table[:, 0, 0::2] = torch.sin(position * rate)
        table[:, 0, 1::2] = torch.cos(position * rate)
        self.register_buffer("table", table)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[:x.size(0)]


class TransformerLm(nn.Module):
    """Causal encoder; the mask is kept and made anew when the length changes."""

    mask: Optional[Tensor]

    def __init__(self, tokens: int, width: int, heads: int = 2, layers: int = 2):
        super().__init__()
        self.width = width
        self.mask = None
        self.encoder = nn.Embedding(tokens, width)
        self.position = PositionalEncoding(width)
        layer = nn.TransformerEncoderLayer(width, heads, width, dropout=0.2)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.decoder = nn.Linear(width, tokens)

    def forward(self, input: Tensor) -> Tensor:
        mask = self.mask
        if mask is None or mask.size(0) != input.size(0):
            mask = torch.log(torch.tril(torch.ones(input.size(0), input.size(0))))
            self.mask = mask
        x = self.position(self.encoder(input) * math.sqrt(self.width))
        return F.log_softmax(self.decoder(self.layers(x, mask)), dim=-1)


class Encoder(nn.Module):
    """nn.TransformerEncoder: made without gradients, its file holds the fused layer operator."""

    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2, feedforward: int = 64):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, heads, feedforward, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class SelfAttention(nn.Module):
    """nn.MultiheadAttention: made without gradients, its file holds the fused attention operator."""

    def __init__(self, width: int = 32, heads: int = 4):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x: Tensor) -> Tuple[Tensor, Optional[Tensor]]:
        return self.attention(x, x, x, need_weights=True)


class SelfAttentionTraced(SelfAttention):
    """Without the weights' Optional, which tracing has no type for."""

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x, x, need_weights=True)[0]


class LoopModel(nn.Module):
    """torch.onnx's first example: tracing unrolls the loop at the traced count."""

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        for i in range(int(count)):
            x = x + i
        return x


@torch.jit.script
def add_up(x: Tensor, count: Tensor) -> Tensor:
    for i in range(int(count)):
        x = x + i
    return x


class LoopModel2(nn.Module):
    """torch.onnx's second example: a traced module that calls a scripted loop."""

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        return add_up(x, count)
