"""One random ONNX graph as text, of the nodes that the optimizer rewrites."""
import math
import random
import typing


class Dim(typing.NamedTuple):
    """`count` times the named axis; without a name, the number."""
    count: int
    axis: str = ""


class Value(typing.NamedTuple):
    name: str
    type: str
    dims: tuple[Dim, ...]

    @property
    def rank(self):
        return len(self.dims)

    @property
    def named(self):
        """How many dims are those of a named axis."""
        return sum(bool(d.axis) for d in self.dims)


ONE = Dim(1)
UNARY = ["Relu", "Abs", "Neg", "Sigmoid", "Tanh", "Identity", "Softplus", "HardSigmoid", "Erf"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]
MOST_ELEMENTS = 4096


def product(dims):
    """Of dims of which one at most has an axis."""
    return Dim(math.prod(d.count for d in dims), "".join(d.axis for d in dims))


class Graph:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.weights = [], []
        self.values, self.count = [], 0
        self.read = set()
        self.inputs = []
        for i in range(self.random.randint(1, 3)):
            kind = self.random.choices(["float", "int64"], [5, 1])[0]
            dims = tuple(self.input_dim(axis) for axis in range(self.random.choice([2, 3, 3, 4, 4])))
            self.inputs.append(Value(f"x{i}", kind, dims))
        self.values += self.inputs

    # Parts of a graph

    def input_dim(self, axis):
        if axis == 0 or self.random.random() < 0.15:
            return Dim(1, self.random.choice("NNNM"))
        return Dim(self.random.choice([1, 2, 2, 3, 4, 4]))

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def number(self):
        return self.random.choice([0.5, -1.0, 1.0, 2.0, 0.0, 0.25, 1.5])

    def weight(self, kind, dims, numbers=None):
        size = math.prod(dims)
        if numbers is None:
            uniform = self.number() if self.random.random() < 0.3 else None
            numbers = [uniform if uniform is not None else round(self.random.uniform(-1, 1), 2) for _ in range(size)]
            if kind == "int64":
                numbers = [int(n) for n in numbers]
        text = f"{kind}[{','.join(map(str, dims))}]" if dims else kind
        name = f"w{len(self.weights)}"
        self.weights.append(f"{text} {name} = {{{', '.join(map(str, numbers))}}}")
        return name

    def ints(self, numbers):
        return self.weight("int64", [len(numbers)], numbers)

    def node(self, op, inputs, dims, kind, attributes="", outputs=1):
        results = [Value(self.name(), kind, tuple(d)) for d in (dims if outputs > 1 else [dims])]
        self.read.update(i.name if isinstance(i, Value) else i for i in inputs)
        texts = [i.name if isinstance(i, Value) else i for i in inputs]
        names = ", ".join(r.name for r in results)
        self.lines.append(f"{names} = {op} {f'<{attributes}> ' if attributes else ''}({', '.join(texts)})")
        self.values += results
        return results[0] if outputs == 1 else results

    def pick(self, accepts=lambda v: True):
        """A value, the newer the likelier."""
        fit = [v for v in self.values if accepts(v)]
        if not fit:
            return None
        return fit[max(0, len(fit) - 1 - int(self.random.expovariate(0.5)))]

    def pick_float(self, rank=0):
        return self.pick(lambda v: v.type == "float" and v.rank >= rank)

    # Nodes

    def elementwise(self, x=None):
        x = x or self.pick()
        if x is None:
            return None
        roll = self.random.random()
        if x.type == "int64":
            return self.node(self.random.choice(["Add", "Sub", "Max", "Min"]), [x, self.operand(x)], x.dims, x.type)
        if roll < 0.45:
            return self.node(self.random.choice(UNARY), [x], x.dims, x.type)
        if roll < 0.55:
            low = self.weight("float", [], [-0.5])
            return self.node("Clip", [x, low] + ([self.weight("float", [], [0.75])] if roll < 0.5 else []), x.dims,
                             x.type)
        operands = [x, self.operand(x)]
        if self.random.random() < 0.3:
            operands.reverse()
        return self.node(self.random.choice(BINARY), operands, x.dims, x.type)

    def operand(self, x):
        """What broadcasts to the dims of x: a constant, or another value of these dims."""
        if self.random.random() < 0.5:
            other = self.pick(lambda v: v.type == x.type and v.dims == x.dims)
            if other:
                return other
        kind = self.random.random()
        if kind < 0.3:
            return self.weight(x.type, [])
        dims = [d.count if not d.axis and self.random.random() < 0.6 else 1 for d in x.dims]
        return self.weight(x.type, dims[self.random.randint(0, len(dims)):] if kind < 0.7 else dims)

    def transpose(self, x=None, perm=None):
        x = x or self.pick(lambda v: v.rank >= 2)
        if not x:
            return None
        if perm is None:
            perm = list(range(x.rank))
            if self.random.random() < 0.7:
                i, j = self.random.sample(perm, 2)
                perm[i], perm[j] = perm[j], perm[i]
            else:
                self.random.shuffle(perm)
        return self.node("Transpose", [x], [x.dims[p] for p in perm], x.type, f"perm = {perm}")

    def reshape_to(self, x, dims):
        """A Reshape to dims with as many elements; the one named dim is -1, or 0 where it stays."""
        shape = []
        for i, d in enumerate(dims):
            stays = i < x.rank and x.dims[i] == d and self.random.random() < 0.4
            shape.append(d.count if not d.axis else 0 if stays else -1)
        if shape and not any(d.axis for d in dims) and self.random.random() < 0.3:
            shape[self.random.randrange(len(shape))] = -1
        return self.node("Reshape", [x, self.ints(shape)], dims, x.type)

    def reshape(self, x=None):
        x = x or self.pick(lambda v: v.rank >= 1 and v.named <= 1)
        if not x:
            return None
        dims = list(x.dims)
        for _ in range(self.random.randint(1, 2)):
            i = self.random.randrange(len(dims))
            split = next((f for f in (2, 3) if dims[i].count % f == 0), 0)
            if self.random.random() < 0.5 and i + 1 < len(dims):
                dims[i:i + 2] = [product(dims[i:i + 2])]
            elif split:
                parts = [Dim(split), Dim(dims[i].count // split, dims[i].axis)]
                dims[i:i + 1] = parts[::self.random.choice([1, -1])]
            elif len(dims) < 5:
                dims.insert(i, ONE)
        return self.reshape_to(x, dims)

    def unsqueeze(self, x=None, axis=None):
        x = x or self.pick(lambda v: v.rank < 5)
        if not x:
            return None
        axis = self.random.randint(0, x.rank) if axis is None else axis
        dims = x.dims[:axis] + (ONE,) + x.dims[axis:]
        return self.node("Unsqueeze", [x, self.ints([axis])], dims, x.type)

    def squeeze(self, x=None, axis=None):
        x = x or self.pick(lambda v: ONE in v.dims and v.rank > 1)
        if not x:
            return None
        if axis is None:
            axis = self.random.choice([i for i, d in enumerate(x.dims) if d == ONE])
        return self.node("Squeeze", [x, self.ints([axis])], x.dims[:axis] + x.dims[axis + 1:], x.type)

    def flatten(self):
        x = self.pick(lambda v: v.rank >= 2 and v.named <= 1)
        if not x:
            return None
        axis = self.random.randint(1, x.rank - 1)
        halves = [product(x.dims[:axis]), product(x.dims[axis:])]
        return self.node("Flatten", [x], halves, x.type, f"axis = {axis}")

    def around(self, inner, x=None, depth=0, may_reduce=True):
        """A layout change, a few nodes, and what undoes it; other nodes may read what is between."""
        x = x or self.pick(lambda v: v.rank >= 2 and (inner == "Transpose" or v.named <= 1))
        if not x:
            return None
        perm = list(range(x.rank))
        self.random.shuffle(perm)
        axis = self.random.randint(0, x.rank)
        y = (self.transpose(x, perm) if inner == "Transpose" else
             self.reshape(x) if inner == "Reshape" else self.unsqueeze(x, axis))
        for _ in range(self.random.randint(1, 4)):
            y = self.between(inner, y, depth, may_reduce and inner != "Reshape")
            if self.random.random() < 0.15:
                self.elementwise(y)
        if inner == "Transpose":
            return self.transpose(y, [perm.index(i) for i in range(x.rank)])
        return self.reshape_to(y, x.dims) if inner == "Reshape" else self.squeeze(y, axis)

    def between(self, inner, y, depth, may_reduce):
        roll = self.random.random()
        if depth < 2 and roll < 0.25:
            return self.around("Transpose" if y.named > 1 or roll < 0.15 else inner, y, depth + 1, may_reduce)
        return self.reduce(y, keep=True) if may_reduce and roll < 0.35 else self.elementwise(y)

    def axis_of(self, x, most=1):
        fit = [i for i, d in enumerate(x.dims) if not d.axis and d.count >= most]
        return self.random.choice(fit) if fit else None

    def slice(self, x=None):
        x = x or self.pick(lambda v: v.rank >= 1)
        axis = x and self.axis_of(x)
        if axis is None:
            return None
        size = x.dims[axis].count
        start = self.random.randint(0, size - 1)
        end = self.random.randint(start + 1, size)
        step = self.random.choice([1, 1, 1, 2])
        dims = list(x.dims)
        dims[axis] = Dim(-(-(end - start) // step))
        spelled = [start - size if self.random.random() < 0.2 else start, 2**63 - 1 if end == size else end]
        inputs = [x, self.ints(spelled[:1]), self.ints(spelled[1:]), self.ints([axis])]
        return self.node("Slice", inputs + ([self.ints([step])] if step > 1 else []), dims, x.type)

    def split(self):
        x = self.pick(lambda v: v.rank >= 1 and self.axis_of(v, 2) is not None)
        if not x:
            return None
        axis = self.axis_of(x, 2)
        size = x.dims[axis].count
        first = self.random.randint(1, size - 1)
        parts = [first, size - first]
        if parts[1] > 1 and self.random.random() < 0.5:
            parts[1:] = [1, parts[1] - 1]
        dims = [x.dims[:axis] + (Dim(p),) + x.dims[axis + 1:] for p in parts]
        return self.node("Split", [x, self.ints(parts)], dims, x.type, f"axis = {axis}", outputs=len(parts))

    def concat(self):
        x = self.pick(lambda v: v.rank >= 1)
        if not x:
            return None
        axis = self.random.randrange(x.rank)

        def fits(v):
            if v.type != x.type or v.rank != x.rank or v.dims[axis].axis != x.dims[axis].axis:
                return False
            return all(a == b for i, (a, b) in enumerate(zip(v.dims, x.dims)) if i != axis)

        parts = [x] + [self.pick(fits) for _ in range(self.random.randint(0, 2))]
        if not any(d.axis for d in x.dims) and self.random.random() < 0.2:
            parts.append(Value(self.weight(x.type, [d.count for d in x.dims]), x.type, x.dims))
        self.random.shuffle(parts)
        dims = list(x.dims)
        dims[axis] = Dim(sum(p.dims[axis].count for p in parts), x.dims[axis].axis)
        if self.elements(dims) > MOST_ELEMENTS:
            return None
        return self.node("Concat", parts, dims, x.type, f"axis = {axis}")

    @staticmethod
    def elements(dims):
        return math.prod(d.count * (3 if d.axis else 1) for d in dims)

    def pad(self, x=None):
        x = x or self.pick_float(3)
        if not x:
            return None
        before = [self.random.choice([0, 0, 1]) if i > 1 and not d.axis else 0 for i, d in enumerate(x.dims)]
        after = [self.random.choice([b, 0]) for b in before]
        dims = [Dim(d.count + b + a, d.axis) for d, b, a in zip(x.dims, before, after)]
        value = [self.weight("float", [], [0.0])] if self.random.random() < 0.5 else []
        return self.node("Pad", [x, self.ints(before + after), *value], dims, x.type)

    def reduce(self, x=None, keep=None):
        x = x or self.pick_float(2)
        if not x or x.type != "float":
            return x
        axis = self.axis_of(x)
        if axis is None:
            return x
        keep = self.random.random() < 0.5 if keep is None else keep
        dims = x.dims[:axis] + ((ONE,) if keep else ()) + x.dims[axis + 1:]
        spelled = axis - x.rank if self.random.random() < 0.3 else axis
        return self.node(self.random.choice(["ReduceMean", "ReduceMax", "ReduceMin"]), [x, self.ints([spelled])], dims,
                         x.type, f"keepdims = {int(keep)}")

    def softmax(self):
        x = self.pick_float(1)
        axis = x and self.axis_of(x)
        return None if axis is None else self.node("Softmax", [x], x.dims, x.type, f"axis = {axis}")

    def matmul(self):
        x = self.pick_float(2)
        if not x or x.dims[-1].axis:
            return None
        size, result = x.dims[-1].count, self.random.choice([1, 2, 4])
        weight = self.weight("float", [size, result])
        dims = x.dims[:-1] + (Dim(result),)
        if x.rank == 2 and self.random.random() < 0.3:
            return self.node("Gemm", [x, weight, self.weight("float", [result])], dims, x.type)
        return self.biased(self.node("MatMul", [x, weight], dims, x.type))

    def biased(self, y):
        if self.random.random() < 0.3:
            return y
        operands = [y, self.weight("float", [y.dims[-1].count])]
        return self.node("Add", operands[::self.random.choice([1, -1])], y.dims, y.type)

    def rows_of_matmul(self):
        """Rows, a product, and the dims of before, as an exporter of nn.Linear may write it."""
        x = self.pick(lambda v: v.type == "float" and v.rank >= 3 and not v.dims[-1].axis and v.named <= 1)
        if not x:
            return None
        rows = product(x.dims[:-1])
        y = self.reshape_to(x, [rows, x.dims[-1]])
        result = self.random.choice([1, 3, 4])
        y = self.node("MatMul", [y, self.weight("float", [x.dims[-1].count, result])], [rows, Dim(result)], "float")
        return self.reshape_to(self.biased(y), x.dims[:-1] + (Dim(result),))

    def convolution(self):
        x = self.pick(lambda v: v.type == "float" and v.rank == 4 and not v.dims[1].axis)
        if not x:
            return None
        if self.random.random() < 0.3:
            x = self.pad(x)
        channels, result = x.dims[1].count, self.random.choice([2, 4])
        inputs = [x, self.weight("float", [result, channels, 1, 1])]
        if self.random.random() < 0.6:
            inputs.append(self.weight("float", [result]))
        y = self.node("Conv", inputs, (x.dims[0], Dim(result)) + x.dims[2:], "float", "kernel_shape = [1, 1]")
        for _ in range(self.random.randint(0, 2)):
            if self.random.random() < 0.4:
                variance = [round(self.random.uniform(0.5, 2), 2) for _ in range(result)]
                rows = [*(self.weight("float", [result]) for _ in range(3)), self.weight("float", [result], variance)]
                y = self.node("BatchNormalization", [y, *rows], y.dims, "float")
            else:
                scale = self.weight("float", self.random.choice([[result, 1, 1], [1, result, 1, 1], []]))
                y = self.node(self.random.choice(["Mul", "Add", "Sub"]), [y, scale], y.dims, "float")
        return y

    def size_of(self, x, axis):
        """Dim `axis` of x as int64[1], computed."""
        shape = self.node("Shape", [x], [Dim(x.rank)], "int64")
        if self.random.random() < 0.5:
            return self.node("Slice", [shape, self.ints([axis]), self.ints([axis + 1])], [ONE], "int64")
        size = self.node("Gather", [shape, self.weight("int64", [], [axis])], [], "int64", "axis = 0")
        return self.unsqueeze(size, 0)

    def computed_reshape(self):
        """A Reshape, or an Expand, to sizes that are read off a tensor."""
        x = self.pick(lambda v: v.rank >= 2)
        if not x:
            return None
        sizes = [self.size_of(x, i) if d.axis or self.random.random() < 0.3 else self.ints([d.count])
                 for i, d in enumerate(x.dims)]
        texts = [s.name if isinstance(s, Value) else s for s in sizes]
        shape = self.node("Concat", texts, [Dim(x.rank)], "int64", "axis = 0")
        self.values.remove(shape)
        if self.random.random() < 0.5:
            return self.node("Expand", [self.weight(x.type, []), shape], x.dims, x.type)
        y = self.elementwise(x)
        return y and self.node("Reshape", [y, shape], x.dims, x.type)

    def gather(self):
        x = self.pick(lambda v: v.rank >= 1)
        axis = x and self.axis_of(x)
        if axis is None:
            return None
        size = x.dims[axis].count
        if self.random.random() < 0.4:
            index, middle = self.weight("int64", [], [self.random.randrange(-size, size)]), ()
        else:
            picked = [self.random.randrange(size) for _ in range(self.random.randint(1, 3))]
            index, middle = self.ints(picked), (Dim(len(picked)),)
        return self.node("Gather", [x, index], x.dims[:axis] + middle + x.dims[axis + 1:], x.type, f"axis = {axis}")

    def expand(self):
        x = self.pick(lambda v: ONE in v.dims)
        if not x:
            return None
        dims = [Dim(self.random.choice([1, 2, 3])) if d == ONE else d for d in x.dims]
        if self.elements(dims) > MOST_ELEMENTS:
            return None
        return self.node("Expand", [x, self.ints([1 if d.axis else d.count for d in dims])], dims, x.type)

    def cast(self):
        # ONNX Runtime crashes on many a product of what is transposed and then cast (moved_casts.cpp).
        transposed = {line.split(" = ")[0] for line in self.lines if " = Transpose " in line}
        x = self.pick(lambda v: v.type == "int64" and v.name not in transposed)
        return x and self.node("Cast", [x], x.dims, "float", "to = 1")

    def where(self):
        x = self.pick_float()
        flags = self.pick(lambda v: v.type == "int64" and x is not None and v.dims == x.dims)
        if not flags:
            return None
        condition = self.node("Greater", [flags, self.weight("int64", [], [1])], x.dims, "bool")
        self.values.remove(condition)
        return self.node("Where", [condition, x, self.operand(x)], x.dims, x.type)

    def repeat(self):
        """The same node again."""
        line = self.random.choice(self.lines) if self.lines else ""
        result, _, rest = line.partition(" = ")
        old = next((v for v in self.values if v.name == result), None)
        if not old or "," in result:
            return None
        self.lines.append(f"{self.name()} = {rest}")
        self.values.append(old._replace(name=f"v{self.count}"))
        return self.values[-1]

    def branch(self):
        """An If of a known or a computed condition; a branch reads values of the graph around it."""
        x = self.pick_float(1)
        if not x:
            return None
        if self.random.random() < 0.4:
            condition = self.weight("bool", [], [self.random.randint(0, 1)])
        else:
            size = self.node("Size", [x], [], "int64")
            self.values.remove(size)
            condition = self.node("Greater", [size, self.weight("int64", [], [6])], [], "bool")
            self.values.remove(condition)
        dims = ",".join("?" for _ in x.dims)
        graphs = []
        for which in ("then", "else"):
            outside, self.lines = self.lines, []
            seen = list(self.values)
            y = x
            for _ in range(self.random.randint(1, 3)):
                y = self.elementwise(y)
            if x.rank > 1 and self.random.random() < 0.4:
                y = self.around("Transpose", y, may_reduce=False)
            body = " ".join(self.lines)
            self.lines, self.values = outside, seen
            graphs.append(f"{which}_branch = b{self.count} () => (float[{dims}] {y.name}) {{ {body} }}")
        return self.node("If", [condition], x.dims, x.type, ", ".join(graphs))

    def build(self):
        steps = [(self.elementwise, 6), (self.transpose, 4), (self.reshape, 3), (self.unsqueeze, 1), (self.squeeze, 1),
                 (self.flatten, 1), (self.slice, 2), (self.split, 2), (self.concat, 3), (self.pad, 1),
                 (self.reduce, 1), (self.softmax, 1), (self.matmul, 2), (self.rows_of_matmul, 1),
                 (self.convolution, 2), (self.computed_reshape, 1), (self.gather, 1), (self.expand, 1), (self.cast, 1),
                 (self.where, 1), (self.repeat, 1), (self.branch, 1), (lambda: self.around("Transpose"), 4),
                 (lambda: self.around("Reshape"), 2), (lambda: self.around("Unsqueeze"), 1)]
        wanted = self.random.randint(4, 24)
        while len(self.lines) < wanted:
            self.random.choices([s for s, _ in steps], [w for _, w in steps])[0]()
        return self

    def text(self):
        """The case. Each result that no node reads is an output, and now and then another one."""
        made = [v for v in self.values if v not in self.inputs]
        outputs = [v for v in made if v.name not in self.read or self.random.random() < 0.04]

        def declared(v, dims):
            return f"{v.type}[{','.join(dims)}] {v.name}" if dims else f"{v.type} {v.name}"

        inputs = ", ".join(declared(v, [d.axis or str(d.count) for d in v.dims]) for v in self.inputs)
        results = ", ".join(declared(v, ["?"] * v.rank) for v in outputs)
        body = "\n".join(f"  {line}" for line in self.lines)
        weights = f"<{', '.join(self.weights)}>\n" if self.weights else ""
        return f'<ir_version: 10, opset_import: ["" : 21]>\ng ({inputs}) => ({results})\n{weights}{{\n{body}\n}}\n'
