"""A control policy that keeps its GRU's memory in a buffer, and forgets it on reset_memory()."""
import torch
from torch import Tensor, nn


class Policy(nn.Module):
    def __init__(self, observations: int = 12, width: int = 32, actions: int = 4):
        super().__init__()
        self.rnn = nn.GRU(observations, width)
        self.head = nn.Linear(width, actions)
        self.register_buffer("hidden", torch.zeros(1, 1, width))

    def forward(self, observation: Tensor):
        out, hidden = self.rnn(observation.unsqueeze(0), self.hidden)
        self.hidden[:] = hidden
        return self.head(out.squeeze(0))

    @torch.jit.export
    def reset_memory(self):
        self.hidden[:] = 0.0


torch.manual_seed(0)
torch.jit.script(Policy().eval()).save("policy.pt")
