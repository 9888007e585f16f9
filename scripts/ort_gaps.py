#!/usr/bin/env python3
"""Finds the element types that the ONNX specification lists but ONNX Runtime's CPU kernels lack.

Loads a model of one node for every operator, type variable, element type and opset into the ONNX
Runtime of the build's environment, and writes opsets/ort_gaps.cpp. Run it when ONNX Runtime's
version changes:  .deps/venv/bin/python scripts/ort_gaps.py
"""
import pathlib
import re
import struct
import sys

import onnxruntime as ort

OPSETS = range(7, 29)  # what this ONNX Runtime knows
NAMES = {1: "Float", 2: "UInt8", 3: "Int8", 4: "UInt16", 5: "Int16", 6: "Int32", 7: "Int64",
         9: "Bool", 10: "Float16", 11: "Double", 12: "UInt32", 13: "UInt64", 16: "BFloat16"}
FLOAT, INT64, BOOL = 1, 7, 9
FLOATS = (1, 10, 11, 16)
# The first two load, and refuse when they run: "GRU operator does not support double yet". The last one
# is refused for the cast to float that ONNX Runtime puts before it.
ALSO = [("GRU", "T", "Double", 7, 28), ("LSTM", "T", "Double", 7, 28), ("Optional", "V", "Float16", 28, 28)]
SIZES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}


# --- a model as protobuf bytes, without the onnx package

def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dtype, dims, raw):
    return (b"".join(field(1, d) for d in dims) + field(2, dtype) + field(8, name) + field(9, raw))


def attribute(name, value):
    out = field(1, name)
    if isinstance(value, bytes):  # a tensor
        return out + field(5, value) + field(20, 4)
    if isinstance(value, str):
        return out + field(4, value) + field(20, 3)
    if isinstance(value, int):
        return out + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return out + field(2, value) + field(20, 1)
    if value and isinstance(value[0], float):
        return out + b"".join(field(7, v) for v in value) + field(20, 6)
    return out + b"".join(field(8, v) for v in value) + field(20, 7)


def value_info(name, dtype, dims):
    shape = b"".join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def model(op, opset, inputs, constants, attributes, outputs):
    """inputs: (name, dtype, dims); constants: (name, dtype, dims, raw); "" is left out."""
    node = b"".join(field(1, n) for n in [i[0] for i in inputs])
    node += b"".join(field(2, f"y{i}") for i in range(outputs))
    node += field(4, op) + b"".join(field(5, attribute(k, v)) for k, v in attributes.items())
    graph = field(1, node) + field(2, "g")
    fixed = {c[0] for c in constants}
    graph += b"".join(field(5, tensor(*c)) for c in constants)
    declared = [i for i in inputs if i[0] and (i[0] not in fixed or opset < 9)]
    graph += b"".join(field(11, value_info(*i)) for i in declared)
    graph += b"".join(field(12, field(1, f"y{i}")) for i in range(outputs))
    ir = 3 if opset < 9 else 8
    return field(1, ir) + field(8, field(1, "") + field(2, opset)) + field(7, graph)


# --- one case an operator: type variables in the order of the inputs

class Case:
    """`make(opset, types)` gives (inputs, constants, attributes, outputs) for the types of the
    variables, or None where the operator has another form."""

    def __init__(self, op, variables, make, since=7, until=28):
        self.op, self.variables, self.make = op, variables, make
        self.since, self.until = since, until


def ints(name, values):
    return (name, INT64, [len(values)], struct.pack(f"<{len(values)}q", *values))


def simple(op, dims, since=7, attributes=None, outputs=1, variable="T"):
    """Every input has the same type."""
    def make(opset, types):
        inputs = [(f"x{i}", types[variable], d) for i, d in enumerate(dims)]
        return inputs, [], dict(attributes or {}), outputs
    return Case(op, [variable], make, since)


M = [2, 3]
IMAGE = [1, 4, 6, 6]


def cases():
    unary = {"Abs": 7, "Acos": 7, "Acosh": 9, "Asin": 7, "Asinh": 9, "Atan": 7, "Atanh": 9,
             "Ceil": 7, "Celu": 12, "Cos": 7, "Cosh": 9, "Elu": 7, "Erf": 9, "Exp": 7, "Floor": 7,
             "Gelu": 20, "HardSigmoid": 7, "HardSwish": 14, "Identity": 7, "IsInf": 10, "IsNaN": 9,
             "LeakyRelu": 7, "Log": 7, "LogSoftmax": 7, "Softmax": 7, "Hardmax": 7, "Mish": 18,
             "Neg": 7, "Not": 7, "Reciprocal": 7, "Relu": 7, "Round": 11, "Selu": 7, "Shape": 7,
             "Shrink": 9, "Sigmoid": 7, "Sign": 9, "Sin": 7, "Sinh": 9, "Size": 7, "Softplus": 7,
             "Softsign": 7, "Sqrt": 7, "Swish": 24, "Tan": 7, "Tanh": 7, "ThresholdedRelu": 10,
             "NonZero": 9, "Flatten": 7, "Transpose": 7, "ArgMax": 7, "ArgMin": 7, "Trilu": 14,
             "BitwiseNot": 18, "Det": 11, "Dropout": 7, "Unique": 11, "LpNormalization": 7,
             "MeanVarianceNormalization": 9}
    for op, since in unary.items():
        dims = [4, 4] if op == "Det" else IMAGE if op == "MeanVarianceNormalization" else M
        yield simple(op, [dims], since, variable="T1" if op in ("IsInf", "IsNaN") else "T")
    yield Case("EyeLike", ["T2"], lambda o, t: (
        [("x", FLOAT, M)], [], {"dtype": t["T2"]}, 1), 9)
    for op in ("RandomNormalLike", "RandomUniformLike"):
        yield Case(op, ["T2"], lambda o, t: ([("x", FLOAT, M)], [], {"dtype": t["T2"]}, 1))
    yield Case("Multinomial", ["T1"], lambda o, t: (
        [("x", t["T1"], M)], [], {"dtype": INT64, "sample_size": 4}, 1))
    binary = {"Add": 7, "Sub": 7, "Mul": 7, "Div": 7, "Equal": 7, "Greater": 7, "Less": 7,
              "GreaterOrEqual": 12, "LessOrEqual": 12, "And": 7, "Or": 7, "Xor": 7, "Max": 7,
              "Min": 7, "Mean": 7, "Sum": 7, "PRelu": 7, "BitwiseAnd": 18,
              "BitwiseOr": 18, "BitwiseXor": 18}
    for op, since in binary.items():
        yield simple(op, [M, M], since)
    # The exponent has a variable of its own from opset 12 on.
    yield Case("Pow", ["T"], lambda o, t: (
        [("x", t["T"], M), ("y", FLOAT if o >= 12 else t["T"], M)], [], {}, 1))
    yield Case("Pow", ["T1"], lambda o, t: (
        [("x", FLOAT, M), ("y", t["T1"], M)], [], {}, 1), 12)
    yield simple("MatMul", [M, [3, 4]])
    yield simple("Gemm", [M, [3, 4], [4]])
    yield simple("BitShift", [M, M], 11, {"direction": "LEFT"})
    yield Case("Mod", ["T"], lambda o, t: (
        [("a", t["T"], M), ("b", t["T"], M)], [],
        {"fmod": int(t["T"] in FLOATS)}, 1), 10)
    yield simple("Concat", [M, M], attributes={"axis": 0})
    yield simple("Range", [[], [], []], 11)
    yield Case("Where", ["T"], lambda o, t: (
        [("c", BOOL, M), ("a", t["T"], M), ("b", t["T"], M)], [], {}, 1), 9)
    yield Case("Clip", ["T"], lambda o, t: (
        [("x", t["T"], M)] + ([("lo", t["T"], []), ("hi", t["T"], [])] if o >= 11 else []),
        [], {}, 1))

    # data movement
    yield Case("Reshape", ["T"], lambda o, t: (
        [("x", t["T"], M), ("s", INT64, [1])], [ints("s", [-1])], {}, 1))
    yield Case("Expand", ["T"], lambda o, t: (
        [("x", t["T"], M), ("s", INT64, [3])], [ints("s", [2, 2, 3])], {}, 1), 8)
    yield Case("Tile", ["T"], lambda o, t: (
        [("x", t["T"], M), ("s", INT64, [2])], [ints("s", [2, 2])], {}, 1))
    for op in ("Gather", "GatherElements", "GatherND"):
        yield Case(op, ["T"], lambda o, t: (
            [("x", t["T"], M), ("i", INT64, [1, 2])], [], {}, 1), 7 if op == "Gather" else 11)
    for op, since in (("Scatter", 9), ("ScatterElements", 11)):
        yield Case(op, ["T"], lambda o, t: (
            [("x", t["T"], M), ("i", INT64, [1, 2]), ("u", t["T"], [1, 2])], [], {}, 1), since)
    yield Case("ScatterND", ["T"], lambda o, t: (
        [("x", t["T"], M), ("i", INT64, [1, 2]), ("u", t["T"], [1])], [], {}, 1), 11)
    yield Case("Slice", ["T"], lambda o, t: (
        ([("x", t["T"], M), ("s", INT64, [1]), ("e", INT64, [1])],
         [ints("s", [0]), ints("e", [1])], {}, 1) if o >= 10 else
        ([("x", t["T"], M)], [], {"starts": [0], "ends": [1]}, 1)))
    yield Case("Split", ["T"], lambda o, t: (
        [("x", t["T"], M)], [], {"num_outputs": 2} if o >= 18 else {}, 2))
    for op in ("Squeeze", "Unsqueeze"):
        yield Case(op, ["T"], lambda o, t: (
            ([("x", t["T"], [1, 3]), ("a", INT64, [1])], [ints("a", [0])], {}, 1) if o >= 13 else
            ([("x", t["T"], [1, 3])], [], {"axes": [0]}, 1)))
    yield Case("Pad", ["T"], lambda o, t: (
        ([("x", t["T"], M), ("p", INT64, [4]), ("v", t["T"], [])],
         [ints("p", [0, 1, 0, 1])], {}, 1) if o >= 11 else
        ([("x", t["T"], M)], [], {"pads": [0, 1, 0, 1]}, 1)))
    yield Case("Compress", ["T"], lambda o, t: (
        [("x", t["T"], M), ("c", BOOL, [2])], [], {"axis": 0}, 1), 9)
    yield Case("OneHot", ["T1"], lambda o, t: (
        [("i", t["T1"], [3]), ("d", INT64, []), ("v", FLOAT, [2])], [], {}, 1), 9)
    yield Case("OneHot", ["T3"], lambda o, t: (
        [("i", INT64, [3]), ("d", INT64, []), ("v", t["T3"], [2])], [], {}, 1), 9)
    yield Case("CumSum", ["T"], lambda o, t: (
        [("x", t["T"], M), ("a", INT64, [])], [], {}, 1), 11)
    yield Case("CumProd", ["T"], lambda o, t: (
        [("x", t["T"], M), ("a", INT64, [])], [], {}, 1), 26)
    yield Case("TopK", ["T"], lambda o, t: (
        ([("x", t["T"], M), ("k", INT64, [1])], [ints("k", [1])], {}, 2) if o >= 10 else
        ([("x", t["T"], M)], [], {"k": 1}, 2)))
    yield Case("ReverseSequence", ["T"], lambda o, t: (
        [("x", t["T"], [3, 2]), ("l", INT64, [2])], [], {}, 1), 10)
    yield Case("ConstantOfShape", ["T2"], lambda o, t: (
        [("s", INT64, [1])], [], {"value": tensor("", t["T2"], [1], bytes(SIZES[t["T2"]]))}, 1), 9)
    yield Case("Einsum", ["T"], lambda o, t: (
        [("a", t["T"], M), ("b", t["T"], [3, 4])], [], {"equation": "ij,jk->ik"}, 1), 12)
    for op in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
               "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"):
        yield Case(op, ["T"], lambda o, t, op=op: (
            ([("x", t["T"], M), ("a", INT64, [1])], [ints("a", [1])], {}, 1)
            if o >= (13 if op == "ReduceSum" else 18) else
            ([("x", t["T"], M)], [], {"axes": [1]}, 1)))

    # images and sequences
    yield simple("Conv", [IMAGE, [4, 4, 3, 3]])
    yield simple("ConvTranspose", [IMAGE, [4, 4, 3, 3]])
    for op in ("AveragePool", "MaxPool"):
        yield simple(op, [IMAGE], attributes={"kernel_shape": [2, 2]})
    yield simple("LpPool", [IMAGE], attributes={"kernel_shape": [2, 2]})
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        yield simple(op, [IMAGE])
    yield simple("InstanceNormalization", [IMAGE, [4], [4]])
    # Scale and bias are T1 from opset 15 on, mean and variance U at opset 14 and T2 after it. There
    # are kernels for one type throughout, so that all of them are cast or none.
    for variable, since, until in (("T", 7, 28), ("U", 14, 14), ("T1", 15, 28), ("T2", 15, 28)):
        yield Case("BatchNormalization", [variable], lambda o, t, v=variable: (
            [("x", t[v], IMAGE)] + [(n, t[v], [4]) for n in "sbmv"], [], {}, 1), since, until)
    yield simple("LRN", [IMAGE], attributes={"size": 3})
    yield Case("LayerNormalization", ["T"], lambda o, t: (
        [("x", t["T"], M), ("s", t["T"], [3]), ("b", t["T"], [3])], [], {}, 1), 17)
    yield Case("RMSNormalization", ["T"], lambda o, t: (
        [("x", t["T"], M), ("s", t["T"], [3])], [], {}, 1), 23)
    yield Case("GroupNormalization", ["T"], lambda o, t: (
        [("x", t["T"], IMAGE), ("s", t["T"], [4]), ("b", t["T"], [4])], [],
        {"num_groups": 2}, 1), 21)
    yield simple("DepthToSpace", [IMAGE], attributes={"blocksize": 2})
    yield simple("SpaceToDepth", [IMAGE], attributes={"blocksize": 2})
    yield Case("Resize", ["T1"], lambda o, t: (
        [("x", t["T1"], IMAGE), ("r", FLOAT, [0]), ("s", FLOAT, [4])],
        [("r", FLOAT, [0], b""), ("s", FLOAT, [4], struct.pack("<4f", 1, 1, 2, 2))], {}, 1), 11)
    yield Case("Resize", ["T"], lambda o, t: (
        [("x", t["T"], IMAGE), ("s", FLOAT, [4])],
        [("s", FLOAT, [4], struct.pack("<4f", 1, 1, 2, 2))], {}, 1), 10, 10)
    yield Case("Upsample", ["T"], lambda o, t: (
        ([("x", t["T"], IMAGE), ("s", FLOAT, [4])],
         [("s", FLOAT, [4], struct.pack("<4f", 1, 1, 2, 2))], {}, 1) if o >= 9 else
        ([("x", t["T"], IMAGE)], [], {"scales": [1.0, 1.0, 2.0, 2.0]}, 1)), 7, 9)
    yield Case("GridSample", ["T1"], lambda o, t: (
        [("x", t["T1"], IMAGE), ("g", t["T1"] if t["T1"] in FLOATS else FLOAT, [1, 3, 3, 2])],
        [], {}, 1), 16)
    yield Case("GridSample", ["T2"], lambda o, t: (
        [("x", t["T2"] if t["T2"] in FLOATS else FLOAT, IMAGE), ("g", t["T2"], [1, 3, 3, 2])],
        [], {}, 1), 16)
    yield Case("RoiAlign", ["T1"], lambda o, t: (
        [("x", t["T1"], IMAGE), ("r", t["T1"], [2, 4]), ("b", INT64, [2])], [], {}, 1), 10)
    yield simple("MaxRoiPool", [IMAGE, [2, 5]], attributes={"pooled_shape": [2, 2]})
    yield Case("Col2Im", ["T"], lambda o, t: (
        [("x", t["T"], [1, 4, 9]), ("i", INT64, [2]), ("b", INT64, [2])],
        [ints("i", [4, 4]), ints("b", [2, 2])], {}, 1), 18)
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        yield simple(op, [[3, 1, 2], [1, 4 * gates, 2], [1, 4 * gates, 4]],
                     attributes={"hidden_size": 4})
    # No kernel of these is for their newest version.
    yield Case("QuantizeLinear", ["T1"], lambda o, t: (
        [("x", t["T1"], M), ("s", FLOAT, []), ("z", 2, [])], [], {}, 1), 28)
    yield Case("DequantizeLinear", ["T1"], lambda o, t: (
        [("x", t["T1"], M), ("s", FLOAT, []), ("z", t["T1"], [])], [], {}, 1), 28)
    yield simple("Optional", [M], 28, variable="V")
    yield simple("SwiGLU", [M, M], 28)


# --- probing

def lacks(op, data):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return False
    except Exception as e:
        text = str(e)
        if "NOT_IMPLEMENTED" in text or "Could not find an implementation" in text:
            return True
        # The operator is run as the function in its schema, and a node of that takes no such type.
        # Every other failure means that the specification has no such type.
        refused = re.search(r"of operator \((\w+)\)", text)
        return refused is not None and refused[1] != op


def main():
    rows = []
    for case in cases():
        variable = case.variables[0]
        for dtype in NAMES:
            bad = []
            for opset in OPSETS:
                if case.since <= opset <= case.until:
                    data = model(case.op, opset, *case.make(opset, {variable: dtype}))
                    if lacks(case.op, data):
                        bad.append(opset)
            while bad:
                last = bad[0]
                while last + 1 in bad:
                    last += 1
                rows.append((case.op, variable, NAMES[dtype], bad[0], last))
                bad = [o for o in bad if o > last]
    rows = sorted(rows + ALSO)
    lines = ["// Generated by scripts/ort_gaps.py with ONNX Runtime " + ort.__version__
             + ": element types its CPU kernels lack.",
             '#include "opsets/ort_gaps.h"', "", "namespace oe::opsets {", "",
             "const OrtGap kOrtGaps[] = {"]
    lines += [f'    {{"{op}", "{var}", DType::{t}, {a}, {b}}},' for op, var, t, a, b in rows]
    lines += ["};", "const size_t kOrtGapCount = std::size(kOrtGaps);", "",
              "}  // namespace oe::opsets", ""]
    path = pathlib.Path(__file__).resolve().parent.parent / "opsets" / "ort_gaps.cpp"
    path.write_text("\n".join(lines).replace(
        '#include "opsets/ort_gaps.h"', '#include <iterator>\n\n#include "opsets/ort_gaps.h"'))
    print(f"{len(rows)} gaps in {len({r[0] for r in rows})} operators -> {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
