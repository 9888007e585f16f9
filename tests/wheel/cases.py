"""Runs the functions test_* of a file, each in a folder of its own; closing line `N passed, N failed`."""
import os
import tempfile
import traceback

# Writes model.pt. A file, because torch.jit.script reads the source.
MODEL = """\
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x.exp() / x.shape[0]
torch.jit.script(Model()).save("model.pt")
"""


def run(tests: dict) -> int:
    passed = failed = 0
    for name, test in tests.items():
        if not name.startswith("test_"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                test()
                passed += 1
            except Exception:  # noqa: BLE001: whatever it is, it is this test's failure
                failed += 1
                print(f"FAIL {name}: {traceback.format_exc(limit=-4)}")
            os.chdir("/")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
