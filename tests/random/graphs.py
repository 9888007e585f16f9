"""Random ONNX graphs of the nodes that the optimizer rewrites, as cases for optimize_tests.

    graphs.py --build build/release [--seed N] [--count N] [--file PATH]

Case `seed` is the same in every run. optimize_tests optimizes each graph, runs it before and after in ONNX
Runtime, optimizes it once more and expects no change (tests/optimize/README.md). --file keeps the cases there.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import onnx_graph


def case(seed):
    graph = onnx_graph.Graph(seed).build()
    settings = graph.random.choice(["", "-- change_weights off\n", "-- run cleanup\n", "-- folding off\n", "", ""])
    text = graph.text()
    # Of tensors without elements, ONNX Runtime's reductions may keep the reduced axis, and what it makes of
    # Transpose and MatMul, and of Shape and Reshape, fails.
    if any(op in text for op in ("Reduce", "MatMul", "Shape")):
        settings += "-- sizes 3 1\n"
    return f"## {seed}\n-- text any\n{settings}-- before\n{text}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--file", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or pathlib.Path(folder) / "graphs.test"
        seeds = range(options.seed, options.seed + options.count)
        path.write_text("Random graphs (tests/random/graphs.py).\n\n" + "\n".join(map(case, seeds)))
        return subprocess.run([options.build / "optimize_tests", path], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
