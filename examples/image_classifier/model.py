"""A small image classifier, scripted; height and width are free."""
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(32, 10)

    def forward(self, image):
        return torch.softmax(self.head(self.features(image).flatten(1)), 1)


torch.manual_seed(0)
torch.jit.script(Classifier().eval()).save("classifier.pt")
