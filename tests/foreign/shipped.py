"""TorchScript files that packages ship, as they are."""
import shutil

from cases import Case

# subject: (file in the packages, arguments)
FILES = {
    "silero-vad 16 kHz": ("silero_vad/data/silero_vad.jit", lambda torch: (0.1 * torch.randn(1, 512), 16000)),
    "silero-vad 8 kHz": ("silero_vad/data/silero_vad.jit", lambda torch: (0.1 * torch.randn(2, 256), 8000)),
}


def cases(full: bool) -> list[Case]:
    """The rate is an input, and which network runs depends on it: as it is, and with the example's branches."""
    return [Case("shipped", name, "shipped", key=("mode", mode), cost=10) for name in FILES for mode in ("auto", "trace")]


def ship(case: Case, path) -> tuple:
    import environment
    import torch

    file, arguments = FILES[case.subject]
    shutil.copy(environment.PACKAGES / file, path)
    torch.manual_seed(0)
    return arguments(torch)
