"""Convolutional networks in their published architectures; `width` scales the channels.

AlexNet, VGG-11, SqueezeNet 1.1, ResNet-18 and 50, DenseNet-121, DCGAN, SuperResolution. Inception v3
is in inception.py.
"""
import torch
from torch import Tensor, nn


class AlexNet(nn.Module):
    """Krizhevsky's "one weird trick" variant: 5 convolutions, 3 fully connected layers."""

    def __init__(self, width: float = 1.0, classes: int = 1000):
        super().__init__()
        c = [int(n * width) for n in (64, 192, 384, 256, 256)]
        hidden = int(4096 * width)
        self.features = nn.Sequential(
            nn.Conv2d(3, c[0], 11, stride=4, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(c[0], c[1], 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(c[1], c[2], 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(c[2], c[3], 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(c[3], c[4], 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2))
        self.pool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(), nn.Linear(c[4] * 36, hidden), nn.ReLU(inplace=True),
            nn.Dropout(), nn.Linear(hidden, hidden), nn.ReLU(inplace=True),
            nn.Linear(hidden, classes))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.pool(self.features(x)), 1))


class Vgg11(nn.Module):
    """Configuration A of Simonyan and Zisserman."""

    def __init__(self, width: float = 1.0, classes: int = 1000):
        super().__init__()
        layers, channels = [], 3
        for step in (64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool", 512, 512, "pool"):
            if step == "pool":
                layers.append(nn.MaxPool2d(2, 2))
            else:
                out = int(step * width)
                layers += [nn.Conv2d(channels, out, 3, padding=1), nn.ReLU(inplace=True)]
                channels = out
        hidden = int(4096 * width)
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(channels * 49, hidden), nn.ReLU(inplace=True), nn.Dropout(),
            nn.Linear(hidden, hidden), nn.ReLU(inplace=True), nn.Dropout(),
            nn.Linear(hidden, classes))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.pool(self.features(x)), 1))


class Fire(nn.Module):
    """SqueezeNet's module: squeeze to few channels, expand with 1x1 and 3x3 side by side."""

    def __init__(self, channels: int, squeeze: int, expand: int):
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeeze, 1)
        self.one = nn.Conv2d(squeeze, expand, 1)
        self.three = nn.Conv2d(squeeze, expand, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.squeeze(x))
        return torch.cat([self.relu(self.one(x)), self.relu(self.three(x))], 1)


class SqueezeNet(nn.Module):
    """Version 1.1."""

    def __init__(self, width: float = 1.0, classes: int = 1000):
        super().__init__()

        def w(n: int) -> int:
            return max(1, int(n * width))

        layers = [nn.Conv2d(3, w(64), 3, stride=2), nn.ReLU(inplace=True)]
        channels = w(64)
        pool = (0, 0)
        for squeeze, expand in (pool, (16, 64), (16, 64), pool, (32, 128), (32, 128), pool,
                                (48, 192), (48, 192), (64, 256), (64, 256)):
            if (squeeze, expand) == pool:
                layers.append(nn.MaxPool2d(3, 2, ceil_mode=True))
            else:
                layers.append(Fire(channels, w(squeeze), w(expand)))
                channels = 2 * w(expand)
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(), nn.Conv2d(channels, classes, 1),
                                        nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))

    def forward(self, x: Tensor) -> Tensor:
        return torch.flatten(self.classifier(self.features(x)), 1)


class Residual(nn.Module):
    """One residual block; `bottleneck` has three convolutions and quadruples its channels."""

    def __init__(self, channels: int, planes: int, stride: int, bottleneck: bool):
        super().__init__()
        out = planes * 4 if bottleneck else planes
        if bottleneck:
            steps = [(channels, planes, 1, 1), (planes, planes, 3, stride), (planes, out, 1, 1)]
        else:
            steps = [(channels, planes, 3, stride), (planes, planes, 3, 1)]
        layers = []
        for i, (cin, cout, kernel, s) in enumerate(steps):
            layers += [nn.Conv2d(cin, cout, kernel, s, kernel // 2, bias=False),
                       nn.BatchNorm2d(cout)]
            if i + 1 < len(steps):
                layers.append(nn.ReLU(inplace=True))
        self.body = nn.Sequential(*layers)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False),
                                          nn.BatchNorm2d(out))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        y += self.shortcut(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self, blocks: tuple[int, ...], bottleneck: bool, width: float = 1.0,
                 classes: int = 1000):
        super().__init__()
        base = int(64 * width)
        self.stem = nn.Sequential(nn.Conv2d(3, base, 7, 2, 3, bias=False), nn.BatchNorm2d(base),
                                  nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        stages, channels = [], base
        for stage, count in enumerate(blocks):
            layers = []
            planes = base * 2 ** stage
            for block in range(count):
                stride = 2 if stage > 0 and block == 0 else 1
                layers.append(Residual(channels, planes, stride, bottleneck))
                channels = planes * 4 if bottleneck else planes
            stages.append(nn.Sequential(*layers))
        self.stages = nn.Sequential(*stages)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(torch.flatten(self.pool(self.stages(self.stem(x))), 1))


class DenseLayer(nn.Module):
    def __init__(self, channels: int, growth: int):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, features: list[Tensor]) -> Tensor:
        x = torch.cat(features, 1)
        x = self.conv1(torch.relu(self.norm1(x)))
        return self.conv2(torch.relu(self.norm2(x)))


class DenseBlock(nn.Module):
    def __init__(self, layers: int, channels: int, growth: int):
        super().__init__()
        self.layers = nn.ModuleList(
            [DenseLayer(channels + i * growth, growth) for i in range(layers)])

    def forward(self, x: Tensor) -> Tensor:
        features = [x]
        for layer in self.layers:
            features.append(layer(features))
        return torch.cat(features, 1)


class DenseNet121(nn.Module):
    def __init__(self, width: float = 1.0, classes: int = 1000):
        super().__init__()
        growth = int(32 * width)
        channels = 2 * growth
        layers = [nn.Conv2d(3, channels, 7, 2, 3, bias=False), nn.BatchNorm2d(channels),
                  nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
        for i, count in enumerate((6, 12, 24, 16)):
            layers.append(DenseBlock(count, channels, growth))
            channels += count * growth
            if i < 3:
                layers += [nn.BatchNorm2d(channels), nn.ReLU(inplace=True),
                           nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2, 2)]
                channels //= 2
        layers += [nn.BatchNorm2d(channels), nn.ReLU(inplace=True)]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


class DcganGenerator(nn.Module):
    def __init__(self, width: float = 1.0, latent: int = 100):
        super().__init__()
        base = int(64 * width)
        layers, channels = [], latent
        for i, out in enumerate((base * 8, base * 4, base * 2, base)):
            layers += [nn.ConvTranspose2d(channels, out, 4, 1 if i == 0 else 2, 0 if i == 0 else 1,
                                          bias=False), nn.BatchNorm2d(out), nn.ReLU(True)]
            channels = out
        layers += [nn.ConvTranspose2d(channels, 3, 4, 2, 1, bias=False), nn.Tanh()]
        self.main = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.main(x)


class DcganDiscriminator(nn.Module):
    def __init__(self, width: float = 1.0):
        super().__init__()
        base = int(64 * width)
        layers, channels = [nn.Conv2d(3, base, 4, 2, 1, bias=False),
                            nn.LeakyReLU(0.2, inplace=True)], base
        for out in (base * 2, base * 4, base * 8):
            layers += [nn.Conv2d(channels, out, 4, 2, 1, bias=False), nn.BatchNorm2d(out),
                       nn.LeakyReLU(0.2, inplace=True)]
            channels = out
        layers += [nn.Conv2d(channels, 1, 4, 1, 0, bias=False), nn.Sigmoid()]
        self.main = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.main(x).view(-1, 1).squeeze(1)


class SuperResolution(nn.Module):
    """Sub-pixel convolution: three convolutions, then pixel_shuffle."""

    def __init__(self, factor: int = 3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 64, 5, padding=2)
        self.conv2 = nn.Conv2d(64, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, factor ** 2, 3, padding=1)
        self.shuffle = nn.PixelShuffle(factor)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.conv1(x))
        x = torch.tanh(self.conv2(x))
        return self.shuffle(self.conv3(x))
