"""Every test model: how it is made, what it takes, which axes are dynamic and where they are tried.

`true` variants have the published architecture; `small` ones the same structure with fewer channels
and lower resolution, cheap enough to be converted at every opset.
"""
import dataclasses
import itertools
from typing import Callable, Optional, Union

import torch
from torch import nn

import inception
import language
import spectral
import vision

Dim = Union[int, str]  # a number, or the name of a dynamic axis


@dataclasses.dataclass
class Input:
    name: str
    dims: list[Dim]
    high: Optional[int] = None  # integers in [0, high) instead of normal floats
    value: Optional[int] = None  # a fixed integer

    def spec(self, sizes: dict[str, int]) -> str:
        """For --input."""
        dims = [f"{d}={sizes[d]}" if isinstance(d, str) else str(d) for d in self.dims]
        text = f"{self.name}:{'x'.join(dims) or 'scalar'}"
        if self.value is not None:
            return f"{text}@i64={self.value}"
        return f"{text}@i64=randint(0,{self.high})" if self.high else f"{text}@f32"

    def tensor(self, sizes: dict[str, int], generator: torch.Generator) -> torch.Tensor:
        shape = [sizes[d] if isinstance(d, str) else d for d in self.dims]
        if self.value is not None:
            return torch.full(shape, self.value)
        if self.high:
            return torch.randint(0, self.high, shape, generator=generator)
        return torch.randn(shape, generator=generator)


@dataclasses.dataclass
class Model:
    name: str
    traced: Optional[Callable[[], nn.Module]]
    scripted: Optional[Callable[[], nn.Module]]
    inputs: list[Input]
    sizes: dict[str, int]  # the example
    other: list[dict[str, int]]  # where else the axes are tried
    convolutional: bool = False  # also at opsets 7 and 8
    inference: bool = False  # made with no_grad: fused operators stay in the file
    lowest: int = 9
    pair: bool = False  # the last two inputs are one tuple
    tolerance: float = 1e-4
    runs: int = 3  # seeds per size for --verify

    def tensors(self, sizes: dict[str, int], seed: int = 0) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(seed)
        return [i.tensor(sizes, generator) for i in self.inputs]

    def arguments(self, tensors: list[torch.Tensor]) -> tuple:
        if self.pair:
            return (*tensors[:-2], (tensors[-2], tensors[-1]))
        return tuple(tensors)


def image(name: str, factory: Callable[[], nn.Module], channels: int, size: int, others: list[int],
          scripted: Optional[Callable[[], nn.Module]] = None, **options) -> Model:
    """An image network; `others` non-empty: height and width are dynamic too."""
    dims: list[Dim] = ["batch", channels, "h", "w"] if others else ["batch", channels, size, size]
    sizes = {"batch": 2, "h": size, "w": size} if others else {"batch": 2}
    other = [{**sizes, "batch": 1}, {**sizes, "batch": 3}]
    for h, w in itertools.pairwise(others):
        other.append({"batch": 1, "h": h, "w": w})
    return Model(name, factory, scripted or factory, [Input("x", dims)], sizes, other,
                 convolutional=True, lowest=7, **options)


def vision_models(width: float, size: int, prefix: str) -> list[Model]:
    near = [size + 32, size + 13]
    large = max(size, 96)
    return [
        image(f"{prefix}alexnet", lambda: vision.AlexNet(width), 3, size, []),
        image(f"{prefix}vgg11", lambda: vision.Vgg11(width), 3, size, []),
        image(f"{prefix}squeezenet", lambda: vision.SqueezeNet(width), 3, size, []),
        image(f"{prefix}squeezenet_hw", lambda: vision.SqueezeNet(width), 3, size, near),
        image(f"{prefix}resnet18", lambda: vision.ResNet((2, 2, 2, 2), False, width), 3, size, near),
        image(f"{prefix}resnet50", lambda: vision.ResNet((3, 4, 6, 3), True, width), 3, size, near),
        image(f"{prefix}densenet121", lambda: vision.DenseNet121(width), 3, size, near),
        image(f"{prefix}inception", lambda: inception.InceptionLogits(width), 3, large,
              [large + 32, large + 13], scripted=lambda: inception.InceptionV3(width)),
        image(f"{prefix}dcgan_generator", lambda: vision.DcganGenerator(width), 100, 1, [2, 3]),
        image(f"{prefix}dcgan_discriminator", lambda: vision.DcganDiscriminator(width), 3, 64, []),
    ]


def language_models(tokens: int, width: int, prefix: str) -> list[Model]:
    sizes = {"length": 7, "batch": 3}
    other = [{"length": 1, "batch": 1}, {"length": 12, "batch": 2}]
    words = Input("input", ["length", "batch"], high=tokens)
    state: list[Dim] = [2, "batch", width]

    def recurrent(kind: str) -> Model:
        def make() -> nn.Module:
            return language.RecurrentLm(kind, tokens, width)
        return Model(f"{prefix}lm_{kind.lower()}", make, make, [words, Input("hidden", state)], sizes,
                     other)

    def lstm() -> nn.Module:
        return language.LstmLm(tokens, width)

    def transformer() -> nn.Module:
        return language.TransformerLm(tokens, width)

    return [
        recurrent("RNN_TANH"), recurrent("RNN_RELU"), recurrent("GRU"),
        Model(f"{prefix}lm_lstm", lstm, lstm,
              [words, Input("hidden.0", state), Input("hidden.1", state)], sizes, other, pair=True),
        Model(f"{prefix}lm_transformer", transformer, transformer, [words], sizes, other),
    ]


def other_models() -> list[Model]:
    rows = {"batch": 2, "length": 5}
    other = [{"batch": 1, "length": 1}, {"batch": 3, "length": 11}]
    encoded = [Input("x", ["batch", "length", 32])]
    counted = [Input("x", [2, 3], high=9), Input("count", [], value=5)]
    return [
        image("super_resolution", vision.SuperResolution, 1, 24, [17, 40, 9]),
        Model("encoder", language.Encoder, language.Encoder, encoded, rows, other),
        Model("encoder_fused", language.Encoder, language.Encoder, encoded, rows, other,
              inference=True),
        Model("attention_fused", language.SelfAttentionTraced, language.SelfAttention, encoded, rows,
              other, inference=True),
        Model("loop", language.LoopModel, None, counted, {}, []),
        Model("loop2", language.LoopModel2, None, counted, {}, []),
    ]


def spectral_models() -> list[Model]:
    def signal(name: str, module, length: int, others: list[int]) -> Model:
        sizes = [{"batch": b, "length": n} for b, n in zip([2, 1, 3], [length, *others])]
        return Model(name, module, module, [Input("x", ["batch", "length"])], sizes[0], sizes[1:])

    def rows(name: str, module, dims: list[Dim]) -> Model:
        return Model(name, module, module, [Input("x", dims)], {"batch": 2, "length": 6},
                     [{"batch": 1, "length": 1}, {"batch": 3, "length": 11}])

    grid = [{"batch": 2, "h": 8, "w": 10}, {"batch": 1, "h": 7, "w": 9}, {"batch": 3, "h": 16, "w": 6}]
    return [
        signal("mel", spectral.MelSpectrogram, 2000, [4013, 801]),
        signal("denoiser", spectral.Denoiser, 400, [333, 64]),
        Model("phase_search", spectral.PhaseSearch, spectral.PhaseSearch,
              [Input("x", ["batch", 17, "length"])], {"batch": 2, "length": 12},
              [{"batch": 1, "length": 5}, {"batch": 3, "length": 20}]),
        Model("fourier_layer", spectral.FourierLayer, spectral.FourierLayer,
              [Input("x", ["batch", 4, "h", "w"])], grid[0], grid[1:]),
        rows("mixer", spectral.Mixer, ["batch", "length", 8]),
        rows("rotary", spectral.Rotary, ["batch", "length", 8]),
        rows("state_space", spectral.StateSpace, ["batch", 4, "length"]),
    ]


def small() -> list[Model]:
    return vision_models(0.125, 64, "small_") + language_models(50, 16, "small_") + other_models() + \
        spectral_models()


def true() -> list[Model]:
    models = vision_models(1.0, 224, "") + language_models(10000, 200, "")
    return [dataclasses.replace(m, runs=1) for m in models]


def by_name() -> dict[str, Model]:
    return {m.name: m for m in small() + true()}
