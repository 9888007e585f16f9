"""Expressions: numbers, masks, tensors of a wanted type, and tensors of whatever type comes out."""
from scope import BOOL, DOUBLE, FLOAT, FLOATING, INT, INT32, INTEGRAL, List, Number, Dict, Stuck, Tensor
from views import product

# Thresholds and offsets that sums and products of eighths do not meet: a comparison is never close.
OFFSETS = ["0.13", "-0.37", "0.56", "1.19", "-1.07", "2.31"]


class Expressions:
    # --- numbers

    def int_literal(self):
        return str(self.rng.choice([0, 1, 1, 2, 2, 3, 4, 5, -1, -2, -3]))

    def size_text(self):
        name, t = self.tensor_named(lambda t: t.rank > 0)
        a = self.rng.randrange(t.rank)
        a -= t.rank if self.chance(0.2) else 0
        return self.choose([
            (4, lambda: f"{name}.size({a})"), (2, lambda: f"{name}.shape[{a}]"),
            (1, lambda: f"{name}.numel()"), (0.3, lambda: f"{name}.dim()"), (0.4, lambda: f"len({name})"),
            (1, lambda: f"len({self.pick(n for n, t in self.vars.items() if isinstance(t, (List, Dict)))})")])

    def data_int(self):
        """An int that depends on elements."""
        def of_float():
            name, _ = self.tensor_named(lambda t: t.dtype in FLOATING)
            return f"int({name}.sum() * {self.rng.choice(['0.5', '1.0', '0.25'])} + {self.rng.choice(OFFSETS)})"

        def of_int():
            name, t = self.tensor_named(lambda t: t.dtype in INTEGRAL)
            if t.rank == 0:
                return self.rng.choice([f"int({name})", f"int({name}.item())"])
            return self.rng.choice([f"int({name}.sum())", f"int({name}.sum().item())",
                                    f"int(({name} > 1).sum())"])

        def of_mask():
            return f"int({self.mask(self.some_shape(), 1)}.sum())"
        return self.choose([(2, of_float), (2, of_int), (1, of_mask)])

    def int_expr(self, depth=2):
        e = lambda: self.int_expr(depth - 1)
        leaves = [(1.5, self.int_literal), (2.5, lambda: self.pick(self.numbers("int"))),
                  (1.5, self.size_text), (1, self.data_int)]
        if depth <= 0:
            return self.choose(leaves)
        r = self.rng
        return self.choose(leaves + [
            (1.5, lambda: f"({e()} + {e()})"), (1.5, lambda: f"({e()} - {e()})"),
            (0.8, lambda: f"({e()} * {self.int_literal()})"),
            (0.8, lambda: f"({e()} // {r.choice([2, 3, -2, 4])})"),
            (1, lambda: f"({e()} % {r.choice([2, 3, 4, -3])})"),
            (0.6, lambda: f"{r.choice(['min', 'max'])}({e()}, {e()})"), (0.4, lambda: f"abs({e()})"),
            (0.3, lambda: f"-{e()}"), (0.4, lambda: f"int({self.bool_expr(depth - 1)})"),
            (0.4, lambda: f"({e()} if {self.bool_expr(depth - 1)} else {e()})"),
            (0.3, lambda: f"int({self.float_expr(depth - 1)} * 0.5 + {r.choice(OFFSETS)})"),
            (0.2, lambda: f"({e()} >> 1)")])

    def float_literal(self):
        return self.rng.choice(["0.5", "-0.5", "0.25", "1.5", "-1.25", "0.125", "2.0", "0.75", "1.0"])

    def data_float(self):
        name, t = self.tensor_named(lambda t: t.dtype in FLOATING)
        if t.rank == 0:
            return self.rng.choice([f"float({name})", f"float({name}.item())"])
        return f"float({name}.{self.rng.choice(['sum', 'mean', 'sum'])}())"

    def float_expr(self, depth=2):
        e = lambda: self.float_expr(depth - 1)
        leaves = [(1.5, self.float_literal), (2.5, lambda: self.pick(self.numbers("float"))), (1, self.data_float)]
        if depth <= 0:
            return self.choose(leaves)
        r = self.rng
        return self.choose(leaves + [
            (1, lambda: f"({e()} + {e()})"), (1, lambda: f"({e()} - {e()})"), (0.8, lambda: f"({e()} * 0.5)"),
            (0.5, lambda: f"({e()} / {r.choice([2, 4, '1.5'])})"), (1, lambda: f"float({self.int_expr(depth - 1)})"),
            (0.4, lambda: f"({self.int_expr(depth - 1)} / {r.choice([2, 4, 8])})"),
            (0.4, lambda: f"abs({e()})"), (0.5, lambda: f"{r.choice(['min', 'max'])}({e()}, {e()})"),
            (0.4, lambda: f"({e()} if {self.bool_expr(depth - 1)} else {e()})"),
            (0.3, lambda: f"(float({self.int_expr(depth - 1)}) + 0.3) % 2.0")])

    def bool_expr(self, depth=2):
        r = self.rng
        compare = lambda: r.choice(["<", ">", "<=", ">=", "==", "!="])

        def sizes():
            return f"{self.size_text()} {compare()} {r.choice([1, 2, 3, 4, 5])}"

        def elements():
            name, t = self.tensor_named(lambda t: t.dtype in FLOATING)
            what = name if t.rank == 0 else f"{name}.{r.choice(['sum', 'sum', 'mean'])}()"
            return r.choice([f"bool({what} {r.choice('<>')} {r.choice(OFFSETS)})",
                             f"float({what}) {r.choice('<>')} {r.choice(OFFSETS)}"])

        def mask():
            return f"bool({self.mask(self.some_shape(), 1)}.{r.choice(['any', 'all'])}())"

        leaves = [(2, lambda: self.pick(self.numbers("bool"))), (1.5, sizes), (3, elements), (0.7, mask),
                  (1.5, lambda: f"{self.int_expr(1)} {compare()} {self.int_expr(0)}"),
                  (0.5, lambda: f"{self.float_expr(1)} {r.choice('<>')} {r.choice(OFFSETS)}")]
        if depth <= 0:
            return self.choose(leaves)
        e = lambda: self.bool_expr(depth - 1)
        return self.choose(leaves + [
            (0.8, lambda: f"({e()} and {e()})"), (0.8, lambda: f"({e()} or {e()})"), (0.6, lambda: f"not ({e()})"),
            (0.5, lambda: f"({self.int_expr(1)} % 2 == 0)"),
            (0.2, lambda: f"'{r.choice('abz')}' in {self.pick(n for n, t in self.vars.items() if isinstance(t, Dict))}")])

    def number(self, kind, depth=2):
        return {"int": self.int_expr, "float": self.float_expr, "bool": self.bool_expr}[kind](depth)

    # --- shapes

    def some_shape(self):
        _, t = self.tensor_named()
        shape = t.shape
        if shape and self.chance(0.2):
            shape = shape[1:]
        return shape

    def operand_shape(self, shape):
        """A shape that broadcasts to `shape`."""
        p = self.rng.random()
        if p < 0.65 or not shape:
            return shape
        if p < 0.85:
            return shape[self.rng.randrange(1, len(shape) + 1):]
        k = self.rng.randrange(len(shape))
        return shape[:k] + (1,) + shape[k + 1:]

    def divisor(self, d):
        """A dim to divide by: LibTorch dies of an integer modulo zero."""
        return str(d) if isinstance(d, int) else f"max({self.dim_text(d)}, 1)"

    def sizes_list(self, shape):
        return "[" + ", ".join(self.dim_text(d) for d in shape) + "]"

    # --- tensors of a wanted type

    def atom(self, dtype, shape):
        return self.tensor_named(lambda t: t == Tensor(dtype, tuple(shape)))[0]

    def operand(self, dtype, shape, depth=1):
        """A tensor that broadcasts to `shape`."""
        def fits(t):
            return t.dtype == dtype and t.rank <= len(shape) and all(
                a == 1 or a == b for a, b in zip(t.shape[::-1], shape[::-1]))
        def part():
            """A row or an element of something larger."""
            name, t = self.tensor_named(lambda t: t.dtype == dtype and t.rank > 0)
            for _ in range(4):
                inside, dims = self.subscript(t)
                if fits(Tensor(dtype, dims)):
                    return f"{name}[{inside}]"
            raise Stuck
        return self.choose([(2, lambda: self.tensor_named(fits)[0]), (1.5, part),
                            (2, lambda: self.tensor(dtype, self.operand_shape(shape), depth))])

    def creation(self, dtype, shape):
        r = self.rng
        like = lambda: self.tensor_named(lambda t: t.shape == tuple(shape))[0]
        suffix = f", dtype=torch.{dtype}"
        value = {BOOL: lambda: r.choice(["True", "False"])}.get(
            dtype, self.int_literal if dtype in INTEGRAL else self.float_literal)
        new = self.tensors(lambda t: t.dtype == dtype)

        def counted():
            total = product(shape)
            if total is None or dtype == BOOL:
                raise Stuck
            text = f"torch.arange({self.dim_text(total)}{suffix})"
            if dtype in FLOATING:
                text += " * 0.25"
            if len(shape) != 1:
                text = f"({text}).view({', '.join(self.dim_text(d) for d in shape) or '[]'})"
            return f"({text})"

        return self.choose([
            (1, lambda: f"torch.{r.choice(['zeros', 'ones'])}({self.sizes_list(shape)}{suffix})"),
            (1, lambda: f"torch.full({self.sizes_list(shape)}, {value()}{suffix})"),
            (0.4, lambda: f"torch.full({self.sizes_list(shape)}, {self.number('float' if dtype in FLOATING else 'int', 1)}{suffix})"
                if dtype != BOOL else self.pick([])),
            (1, lambda: f"torch.{r.choice(['zeros_like', 'ones_like'])}({like()}{suffix})"),
            (0.6, lambda: f"torch.full_like({like()}, {value()}{suffix})"),
            (0.8, lambda: f"{self.pick(new)[0]}.{r.choice(['new_zeros', 'new_ones'])}({self.sizes_list(shape)})"),
            (0.5, lambda: f"{self.pick(new)[0]}.new_full({self.sizes_list(shape)}, {value()})"),
            (1.2, counted)])

    def tensor(self, dtype, shape, depth=2):
        shape = tuple(shape)
        if dtype == BOOL:
            return self.mask(shape, depth)
        leaves = [(3, lambda: self.atom(dtype, shape)), (0.25 if depth else 0.6, lambda: self.creation(dtype, shape))]
        if depth <= 0:
            return self.choose(leaves)
        e = lambda: self.tensor(dtype, shape, depth - 1)
        unary = self.float_unary if dtype in FLOATING else self.int_unary
        return self.choose(leaves + [
            (2, lambda: unary(e(), shape)), (4, lambda: self.binary(dtype, shape, depth)),
            (0.8, lambda: f"torch.where({self.mask(self.operand_shape(shape), depth - 1)}, {e()}, {e()})"),
            (0.5, lambda: self.either(e)),
            (1, lambda: self.reduction(dtype, shape, depth)), (1, lambda: self.cast(dtype, shape, depth)),
            (1.5, lambda: self.matching_view(dtype, shape)), (0.8, lambda: self.matmul(dtype, shape)),
            (0.6, lambda: self.joined(dtype, shape, depth)), (0.8, lambda: self.looked_up(dtype, shape, depth)),
            (0.6, lambda: self.along_axis(dtype, shape, depth))])

    def either(self, e):
        """One of two tensors; mostly a copy of it, else every write that follows may go to either."""
        a, b = e(), e()
        text = f"({a} if {self.bool_expr(1)} else {b})"
        return text + (".clone()" if (a in self.vars or b in self.vars) and self.chance(0.7) else "")

    def float_unary(self, x, shape):
        return self.rng.choice([
            "{}.abs()", "-{}", "torch.relu({})", "torch.tanh({})", "torch.sigmoid({})", "torch.exp(-{}.abs())",
            "torch.sqrt({}.abs() + 0.5)", "torch.sin({})", "torch.cos({})", "{} * 0.5", "{} + 1", "{} - 0.75",
            "torch.floor({} * 0.5 + 0.13)", "torch.round({} + 0.13)", "torch.clamp({}, -1.0, 1.5)",
            "{}.clamp(min=0.25)", "F.leaky_relu({}, 0.1)", "F.elu({})", "torch.log1p({}.abs())",
            "1.0 / ({}.abs() + 1.0)", "({} * {}).clamp(-4.0, 4.0)", "{}.clone()", "{}.neg().contiguous()", "F.gelu({})",
            "torch.rsqrt({}.abs() + 1.0)", "{} ** 2 * 0.125", "F.hardtanh({})", "torch.trunc({} * 0.5 + 0.13)",
            "2 - {}", "{} / 2", "torch.sign({} + 0.13)", "F.silu({})"]).replace("{}", self.atomic(x))

    def int_unary(self, x, shape):
        return self.rng.choice([
            "{}.abs()", "-{}", "torch.clamp({}, -2, 3)", "{} % 3", "{} // 2", "{} * 2", "{} + 1", "3 - {}", "{} // -3",
            "{} % -2", "{}.clone()", "torch.bitwise_and({}, 3)", "torch.sign({})", "torch.relu({})",
            "torch.fmod({}, 3)"]).replace("{}", self.atomic(x))

    @staticmethod
    def atomic(x):
        simple = all(c.isalnum() or c in "._" for c in x)
        return x if simple or (x[0] == "(" and closes_at_end(x)) else f"({x})"

    def binary(self, dtype, shape, depth):
        r = self.rng
        a, b = self.tensor(dtype, shape, depth - 1), None
        if self.chance(0.25):
            b = self.number("float" if dtype in FLOATING and self.chance(0.7) else "int", 1)
            if self.chance(0.3):
                a, b = b, a
        else:
            other = self.operand_shape(shape)
            if self.chance(0.6):
                b = self.operand(dtype, shape, depth - 1)
            else:
                b = self.tensor(dtype if self.chance(0.9) else self.weaker(dtype), other, depth - 1)
            if len(other) <= len(shape) and self.chance(0.3):
                a, b = b, a
        a, b = self.atomic(a), self.atomic(b)
        if dtype in FLOATING:
            forms = ["{a} + {b}", "{a} - {b}", "{a} + {b}", "{a} * 0.5 + {b}", "({a} * {b}).clamp(-5.0, 5.0)"]
            if not self.loops:
                forms += ["{a} * {b}"]
            text = r.choice(forms).format(a=a, b=b)
            return self.atomic(text)
        forms = ["{a} + {b}", "{a} - {b}", "{a} + {b}", "({a} * {b}) % 11"]
        if not self.loops:
            forms += ["{a} * {b}"]
        return self.atomic(r.choice(forms).format(a=a, b=b))

    def weaker(self, dtype):
        """A type that promotes to `dtype` without changing it."""
        return {FLOAT: INT, DOUBLE: FLOAT, INT: INT32, INT32: INT32}[dtype]

    def cast(self, dtype, shape, depth):
        source = self.pick(d for d in (FLOAT, INT, BOOL, DOUBLE, INT32) if d != dtype)
        if source in FLOATING and dtype in INTEGRAL:
            x = f"({self.tensor(source, shape, 0)} + 0.13)"
        else:
            x = self.atomic(self.tensor(source, shape, 0))
        forms = [f"{x}.to(torch.{dtype})"]
        short = {FLOAT: "float", DOUBLE: "double", INT: "long", INT32: "int"}.get(dtype)
        forms.append(f"{x}.{short}()")
        like = self.tensors(lambda t: t.dtype == dtype)
        if like:
            forms.append(f"{x}.type_as({self.pick(like)[0]})")
        return self.rng.choice(forms)

    def reduction(self, dtype, shape, depth):
        """A reduction of one axis of a tensor in hand."""
        if not shape and self.chance(0.7):
            name, t = self.tensor_named(lambda t: t.dtype == dtype and t.rank > 0)
            forms = ["amax", "min"] + (["sum", "sum"] if dtype != INT32 else []) + \
                (["mean", "norm"] if dtype in FLOATING else [])
            return f"{name}.{self.rng.choice(forms)}()"
        def fits(t):
            if t.dtype != dtype:
                return False
            return any(t.shape[:k] + t.shape[k + 1:] == shape for k in range(t.rank))
        name, t = self.tensor_named(fits)
        k = self.pick(k for k in range(t.rank) if t.shape[:k] + t.shape[k + 1:] == shape)
        forms = ["{x}.amax({k})", "{x}.amin({k})", "{x}.max({k})[0]",
                 "torch.max({x}, {k}, keepdim=True)[0].squeeze({k})"]
        if dtype != INT32:  # whose sums are int64
            forms += ["{x}.sum({k})", "{x}.sum({k})", "{x}.sum({k})", "{x}.cumsum({k}).select({k}, -1)"]
        if dtype in FLOATING:
            forms += ["{x}.mean({k})", "{x}.mean({k})", "torch.logsumexp({x}, {k})", "{x}.norm(dim={k})"]
        return self.rng.choice(forms).format(x=name, k=k)

    def matching_view(self, dtype, shape):
        for _ in range(6):
            name, t = self.tensor_named(lambda t: t.dtype == dtype)
            try:
                text, made, _ = self.views(name, t)
            except Stuck:
                continue
            if made.shape == shape:
                return text
        raise Stuck

    def matmul(self, dtype, shape):
        if dtype not in FLOATING or len(shape) not in (1, 2):
            raise Stuck
        left = self.tensors(lambda t: t.dtype == dtype and t.rank == len(shape) and t.shape[:-1] == shape[:-1])
        pairs = [(a, b) for a, s in left for b, u in self.tensors(
            lambda u: u.dtype == dtype and u.rank == 2 and u.shape == (s.shape[-1], shape[-1]))]
        pairs += [(a, f"{b}.t()") for a, s in left for b, u in self.tensors(
            lambda u: u.dtype == dtype and u.rank == 2 and u.shape == (shape[-1], s.shape[-1]))]
        a, b = self.pick(pairs)
        form = self.rng.choice(["torch.matmul({a}, {b})", "({a} @ {b})"])
        text = form.format(a=a, b=b)
        return f"{text} * 0.25" if not self.loops else f"torch.tanh({text})"

    def joined(self, dtype, shape, depth):
        """Pieces put together along an axis of known size."""
        k = self.pick(k for k, d in enumerate(shape) if isinstance(d, int) and d > 0)
        d = shape[k]
        rest = shape[:k] + shape[k + 1:]
        if self.chance(0.5):
            parts = [self.tensor(dtype, rest, depth - 1) for _ in range(d)]
            return f"torch.stack([{', '.join(parts)}], {k})"
        first = self.rng.randrange(1, d + 1)
        sizes = [first] + ([d - first] if d > first else [])
        parts = [self.tensor(dtype, shape[:k] + (s,) + shape[k + 1:], depth - 1) for s in sizes]
        return f"torch.cat([{', '.join(parts)}], {k - len(shape) if self.chance(0.3) else k})"

    def indices(self, shape, limit, depth=1):
        """An int tensor of that shape, all of it legal for an axis of size `limit`."""
        x = self.atomic(self.tensor(INT, shape, depth))
        return f"({x} % {self.divisor(limit)})"

    def looked_up(self, dtype, shape, depth):
        """index_select, gather, x[index]: an axis of another tensor looked up."""
        if not shape:
            raise Stuck
        def fits(t):
            return t.dtype == dtype and t.rank == len(shape) and \
                any(t.shape[:k] + t.shape[k + 1:] == shape[:k] + shape[k + 1:] for k in range(t.rank))
        name, t = self.tensor_named(fits)
        k = self.pick(k for k in range(t.rank) if t.shape[:k] + t.shape[k + 1:] == shape[:k] + shape[k + 1:])
        d = t.shape[k]
        if d == 0:
            raise Stuck
        one = lambda: self.indices((shape[k],), d, depth - 1)
        return self.choose([
            (1, lambda: f"{name}.index_select({k}, {one()})"),
            (1, lambda: f"{name}[{':, ' * k}{one()}]"),
            (1, lambda: f"torch.gather({name}, {k}, {self.indices(shape, d, depth - 1)})"),
            (0.5, lambda: f"{name}[{':, ' * k}{one()} - {self.dim_text(d)}]")])

    def along_axis(self, dtype, shape, depth):
        if not shape:
            raise Stuck
        k = self.rng.randrange(len(shape))
        forms = ["{x}.flip([{k}])", "torch.roll({x}, 1, {k})", "{x}.sort({k})[0]", "torch.roll({x}, -1, {k})",
                 "{x} - {x}.amax({k}, keepdim=True)"]
        if dtype != INT32:
            forms += ["{x}.cumsum({k})", "{x} - {x}.sum({k}, keepdim=True)", "torch.cummax({x}, {k})[0]"]
        if dtype in FLOATING:
            forms += ["torch.softmax({x}, {k})", "{x} - {x}.mean({k}, keepdim=True)", "torch.log_softmax({x}, {k})",
                      "F.normalize({x} + 0.13, dim={k})"]
        return self.rng.choice(forms).format(x=self.atomic(self.tensor(dtype, shape, depth - 1)), k=k)

    # --- masks

    def mask(self, shape, depth=2):
        shape = tuple(shape)
        r = self.rng
        leaves = [(1.5, lambda: self.atom(BOOL, shape)), (0.2, lambda: self.creation(BOOL, shape))]

        def floats():
            dtype = FLOAT if self.chance(0.9) else DOUBLE
            return f"({self.tensor(dtype, shape, depth - 1)} {r.choice('<>')} {r.choice(OFFSETS)})"

        def ints():
            return f"({self.tensor(INT, shape, depth - 1)} {r.choice(['>', '<', '==', '!=', '>='])} {self.int_literal()})"

        def pairs():
            x, y = (self.atomic(self.tensor(INT, shape, depth - 1)) for _ in range(2))
            return f"({x} {r.choice(['>', '<=', '==', '!='])} {y})"

        if depth <= 0:
            leaves += [(1, lambda: f"({self.atom(FLOAT, shape)} > {r.choice(OFFSETS)})"),
                       (1, lambda: f"({self.atom(INT, shape)} > 0)")]
            return self.choose(leaves)
        e = lambda: self.mask(shape, depth - 1)
        return self.choose(leaves + [
            (3, floats), (2, ints), (0.7, pairs), (0.6, lambda: f"({e()} & {e()})"), (0.6, lambda: f"({e()} | {e()})"),
            (0.4, lambda: f"({e()} ^ {e()})"), (0.6, lambda: f"~{e()}"), (0.3, lambda: self.matching_view(BOOL, shape)),
            (0.3, lambda: f"torch.logical_not({e()})")])

    # --- tensors of a type that comes out

    def new_tensor(self):
        """(text, type): an operator whose result has another shape than what it is given."""
        r = self.rng
        name, t = self.tensor_named(lambda t: t.rank > 0)
        shape, rank = t.shape, t.rank
        k = r.randrange(rank)
        put = lambda d: Tensor(t.dtype, shape[:k] + (d,) + shape[k + 1:])
        grow = lambda a, b: a + b if isinstance(a, int) and isinstance(b, int) else self.fresh_dim()

        def concatenated():
            parts, d = [name], shape[k]
            for _ in range(r.choice([1, 1, 2])):
                extra = shape[k] if self.chance(0.5) else r.choice([1, 2])
                parts.append(self.tensor(t.dtype, put(extra).shape, 1))
                d = grow(d, extra)
            r.shuffle(parts)
            return f"torch.cat([{', '.join(parts)}], {k})", put(d)

        def stacked():
            other = self.tensor(t.dtype, shape, 1)
            return f"torch.stack([{name}, {other}], {k})", Tensor(t.dtype, shape[:k] + (2,) + shape[k:])

        def masked():
            over = r.randrange(1, rank + 1)
            dims = (self.fresh_dim(),) + shape[over:]
            return f"{name}[{self.mask(shape[:over], 1)}]", Tensor(t.dtype, dims)

        def positions():
            return f"torch.nonzero({self.mask(shape, 1)})", Tensor(INT, (self.fresh_dim(), rank))

        def padded():
            if t.dtype == BOOL:
                raise Stuck
            before, after = r.choice([0, 1, 2]), r.choice([0, 1, -1 if isinstance(shape[-1], int) and shape[-1] > 1 else 0])
            d = shape[-1] + before + after if isinstance(shape[-1], int) else self.fresh_dim()
            value = self.float_literal() if t.dtype in FLOATING else f"{self.int_literal()}.0"
            return f"F.pad({name}, [{before}, {after}], value={value})", Tensor(t.dtype, shape[:-1] + (d,))

        def repeated():
            times = [1] * rank
            times[k] = r.choice([2, 3])
            d = shape[k] * times[k] if isinstance(shape[k], int) else self.fresh_dim()
            if self.chance(0.3):
                return f"{name}.repeat_interleave({times[k]}, {k})", put(d)
            return f"{name}.repeat({', '.join(map(str, times))})", put(d)

        def outer():
            if t.dtype == BOOL:
                raise Stuck
            v, u = self.tensor_named(lambda u: u.dtype == t.dtype and u.rank == 1)
            return f"({name}.unsqueeze(-1) * {v}) {'* 0.5' if t.dtype in FLOATING else '% 7'}", Tensor(t.dtype, shape + u.shape)

        def product_of():
            if t.dtype not in FLOATING or rank < 2:
                raise Stuck
            v, u = self.tensor_named(lambda u: u.dtype == t.dtype and u.rank == 2 and u.shape[0] == shape[-1])
            return f"torch.matmul({name}, {v}) * 0.25", Tensor(t.dtype, shape[:-1] + (u.shape[1],))

        def one_hot():
            classes = r.choice([3, 4])
            v, u = self.tensor_named(lambda u: u.dtype == INT and u.rank < 3)
            return f"F.one_hot({v} % {classes}, {classes})", Tensor(INT, u.shape + (classes,))

        def top():
            if t.dtype not in FLOATING or not isinstance(shape[k], int) or shape[k] < 2:
                raise Stuck
            return f"torch.topk({name}, 2, {k})[0]", put(2)

        def best():
            if t.dtype not in FLOATING:
                raise Stuck
            return f"{name}.{r.choice(['argmax', 'argmin'])}({k})", Tensor(INT, shape[:k] + shape[k + 1:])

        def order():
            if t.dtype not in FLOATING:
                raise Stuck
            return f"{name}.argsort({k})", Tensor(INT, shape)

        def computed_size():
            count = self.choose([(1, lambda: f"{self.int_expr(1)} % 4"), (1, lambda: self.size_text()),
                                 (1, lambda: f"max(min({self.int_expr(1)}, 4), 0)")])
            d = self.fresh_dim()
            return self.choose([
                (1, lambda: (f"torch.arange({count})", Tensor(INT, (d,)))),
                (1, lambda: (f"torch.zeros([{count}, {self.dim_text(shape[-1])}])", Tensor(FLOAT, (d, shape[-1])))),
                (1, lambda: (f"torch.full([{count}], {self.float_literal()})", Tensor(FLOAT, (d,)))),
                (0.5, lambda: (f"torch.linspace(0.0, 1.0, {count})", Tensor(FLOAT, (d,))))])

        def total():
            if t.dtype == BOOL:
                return f"{name}.{r.choice(['any', 'all'])}()", Tensor(BOOL, ())
            return f"{name}.{r.choice(['amax', 'min'] + (['sum'] if t.dtype != INT32 else []))}()", Tensor(t.dtype, ())

        def list_of():
            l, lt = self.pick((n, u) for n, u in self.vars.items() if isinstance(u, List)
                              and isinstance(u.element, Tensor))
            e = lt.element
            guard = "" if lt.length else f" if len({l}) > 0 else {self.tensor(e.dtype, (1,) + e.shape, 1)}"
            if e.rank and self.chance(0.5):
                d = e.shape[0] * lt.length if lt.length and isinstance(e.shape[0], int) else self.fresh_dim()
                guard = "" if lt.length else f" if len({l}) > 0 else {self.tensor(e.dtype, e.shape, 1)}"
                return f"torch.cat({l}, 0){guard}", Tensor(e.dtype, (d,) + e.shape[1:])
            d = lt.length or self.fresh_dim()
            return f"torch.stack({l}){guard}", Tensor(e.dtype, (d,) + e.shape)

        def einsum():
            if t.dtype not in FLOATING or rank != 2:
                raise Stuck
            v, u = self.tensor_named(lambda u: u.dtype == t.dtype and u.rank == 2 and u.shape[1] == shape[1])
            return f"torch.einsum('ij,kj->ik', {name}, {v}) * 0.25", Tensor(t.dtype, (shape[0], u.shape[0]))

        def whole():
            dims = self.some_shape()
            dtype = t.dtype
            return self.tensor(dtype, dims, 3), Tensor(dtype, tuple(dims))

        def taken():
            v, u = self.tensor_named(lambda u: u.dtype == INT and 0 < u.rank < 3)
            if shape[k] == 0:
                raise Stuck
            return (f"{name}[{':, ' * k}{v} % {self.divisor(shape[k])}]",
                    Tensor(t.dtype, shape[:k] + u.shape + shape[k + 1:]))

        def from_numbers():
            values = ", ".join(self.float_expr(1) for _ in range(3))
            return f"torch.tensor([{values}])", Tensor(FLOAT, (3,))

        return self.choose([(1.5, concatenated), (1, stacked), (1.2, masked), (0.5, positions), (0.6, padded),
                            (0.6, repeated), (0.6, outer), (1, product_of), (0.4, one_hot), (0.3, top), (0.4, best),
                            (0.2, order), (1.2, computed_size), (0.8, total), (1.5, list_of), (0.4, einsum),
                            (6, whole), (0.8, taken), (0.3, from_numbers)])


def closes_at_end(text):
    """Whether the bracket that opens the text closes at its end."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return i == len(text) - 1
    return False
