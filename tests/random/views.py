"""Views of a tensor: texts that alias it, with the type they have."""
from scope import Stuck, Tensor


def product(dims):
    """The dim of several axes taken as one, or None where it has no name."""
    number, name = 1, None
    for d in dims:
        if isinstance(d, int):
            number *= d
        elif name is not None:
            return None
        else:
            name = d
    if name is None:
        return number
    if number == 1:
        return name
    if number == 0 or name.startswith("?"):
        return None
    factor, _, rest = name.rpartition("*")
    return f"{number * int(factor or 1)}*{rest}"


class Views:
    def index_text(self, d):
        """An expression that is a legal index into an axis of size d."""
        options = [(2, lambda: self.pick(i for i, of in self.index_of.items() if of == d))]
        if isinstance(d, int):
            if d == 0:
                raise Stuck
            options.append((5, lambda: str(self.rng.randrange(-d, d))))
            options.append((1, lambda: f"{self.int_expr(1)} % {d}"))
        else:
            options.append((1, lambda: "0"))
            options.append((1, lambda: "-1"))
            options.append((1, lambda: f"{self.int_expr(1)} % {self.divisor(d)}"))
        return self.choose(options)

    def sliced(self, d):
        """`a:b` and the dim it leaves."""
        r = self.rng
        if isinstance(d, int):
            if self.chance(0.2):
                return self.choose([
                    (1, lambda: f"{self.int_expr(1)}:"), (1, lambda: f":{self.int_expr(1)}"),
                    (1, lambda: f"{self.int_expr(0)}:{self.int_expr(0)}")]), self.fresh_dim()
            start = r.randrange(0, max(d, 1))
            end, step = r.randrange(start, d + 1), r.choice([1, 1, 1, 2])
            if end == start and self.chance(0.8):
                end = d
            length = len(range(start, end, step))
            first = "" if start == 0 and self.chance(0.5) else str(start if self.chance(0.7) else start - d)
            last = "" if end == d else str(end)
            return f"{first}:{last}" + (f":{step}" if step > 1 else ""), length
        def by_index():
            i = self.pick(i for i, of in self.index_of.items() if of == d)
            return r.choice([(f"{i}:{i} + 1", 1), (f"{i}:", self.fresh_dim()), (f":{i}", self.fresh_dim()),
                             (f":{i} + 1", self.fresh_dim())])
        return self.choose([
            (2, lambda: (r.choice(["1:", ":-1", ":2", "::2", "-2:", "1::2", ":3", "2:"]), self.fresh_dim())),
            (1, lambda: (":", d)),
            (1, lambda: (f"{self.dim_text(d)} // 2:", self.fresh_dim())),
            (1, lambda: (f":{self.int_expr(1)}", self.fresh_dim())),
            (0.5, lambda: (f"{self.int_expr(1)}:", self.fresh_dim())),
            (2, by_index)])

    def subscript(self, t):
        """The inside of x[...] with basic indices, and the shape it leaves."""
        parts, shape = [], []
        rank = t.rank
        axes = self.rng.randrange(1, rank + 1)
        ellipsis_at = self.rng.randrange(0, axes + 1) if self.chance(0.15) else -1
        axis = 0
        for k in range(axes):
            if k == ellipsis_at:
                parts.append("...")
                shape += t.shape[axis:axis + rank - axes]
                axis += rank - axes
            if self.chance(0.07):
                parts.append("None")
                shape.append(1)
            d = t.shape[axis]
            axis += 1
            kind = self.rng.random()
            if kind < 0.45:
                parts.append(self.index_text(d))
            elif kind < 0.55:
                parts.append(":")
                shape.append(d)
            else:
                text, dim = self.sliced(d)
                parts.append(text)
                shape.append(dim)
        shape += t.shape[axis:]
        if parts == ["..."]:
            parts = [":", "..."]  # x[...] alone is no TorchScript
        return ", ".join(parts), tuple(shape)

    def view(self, text, t):
        """One view step of `text`: (text, type)."""
        r, shape, rank = self.rng, t.shape, t.rank
        made = lambda s, dims: (s, Tensor(t.dtype, tuple(dims)))

        def subscript():
            if rank == 0:
                raise Stuck
            inside, dims = self.subscript(t)
            return made(f"{text}[{inside}]", dims)

        def axis():
            if rank == 0:
                raise Stuck
            return r.randrange(rank)

        def signed(a, of=None):
            return a - (of or rank) if self.chance(0.3) else a

        def select():
            a = axis()
            return made(f"{text}.select({signed(a)}, {self.index_text(shape[a])})", shape[:a] + shape[a + 1:])

        def narrow():
            a = axis()
            if not isinstance(shape[a], int) or shape[a] < 1:
                raise Stuck
            start = r.randrange(shape[a])
            length = r.randrange(1, shape[a] - start + 1)
            return made(f"{text}.narrow({a}, {start}, {length})", shape[:a] + (length,) + shape[a + 1:])

        def transpose():
            if rank < 2:
                raise Stuck
            a, b = r.sample(range(rank), 2)
            dims = list(shape)
            dims[a], dims[b] = dims[b], dims[a]
            if rank == 2 and self.chance(0.5):
                return made(f"{text}{r.choice(['.t()', '.T'])}", dims)
            return made(f"{text}.{r.choice(['transpose', 'swapaxes'])}({signed(a)}, {b})", dims)

        def permute():
            if rank < 2:
                raise Stuck
            order = r.sample(range(rank), rank)
            return made(f"{text}.permute({', '.join(map(str, order))})", [shape[a] for a in order])

        def movedim():
            if rank < 2:
                raise Stuck
            a, b = r.randrange(rank), r.randrange(rank)
            dims = list(shape)
            dims.insert(b, dims.pop(a))
            return made(f"{text}.movedim({signed(a)}, {b})", dims)

        def unsqueeze():
            if rank > 3:
                raise Stuck
            a = r.randrange(rank + 1)
            return made(f"{text}.unsqueeze({signed(a, rank + 1)})", shape[:a] + (1,) + shape[a:])

        def squeeze():
            a = self.pick(i for i, d in enumerate(shape) if d == 1)
            return made(f"{text}.squeeze({signed(a)})", shape[:a] + shape[a + 1:])

        def flat():
            d = product(shape)
            if d is None:
                d = self.fresh_dim()
            name = r.choice([".view(-1)", ".flatten()", ".reshape(-1)", ".ravel()"])
            return made(f"{text}{name}", (d,))

        def flatten_two():
            if rank < 2:
                raise Stuck
            a = r.randrange(rank - 1)
            d = product(shape[a:a + 2])
            if d is None:
                raise Stuck
            dims = shape[:a] + (d,) + shape[a + 2:]
            if self.chance(0.5):
                return made(f"{text}.flatten({a}, {a + 1})", dims)
            return made(f"{text}.view({self.sizes_text(dims, a)})", dims)

        def split_axis():
            if rank > 2:
                raise Stuck
            a = axis()
            d = shape[a]
            if isinstance(d, int):
                k = self.pick(k for k in range(1, d + 1) if d % k == 0)
                new = (k, d // k)
            elif "*" in d:
                factor, rest = d.split("*")
                new = (rest, int(factor))
            else:
                new = r.choice([(d, 1), (1, d)])
            dims = shape[:a] + new + shape[a + 1:]
            wild = a + r.randrange(2)
            how = r.choice(["view", "view", "reshape"])
            if self.chance(0.2):
                return made(f"{text}.unflatten({a}, ({', '.join(self.dim_text(x) for x in new)}))", dims)
            return made(f"{text}.{how}({self.sizes_text(dims, wild)})", dims)

        def diagonal():
            if rank < 2:
                raise Stuck
            a, b = (0, 1) if rank == 2 else sorted(r.sample(range(rank), 2))
            p, q = shape[a], shape[b]
            offset = r.choice([0, 0, 1, -1])
            d = self.fresh_dim()
            if isinstance(p, int) and isinstance(q, int):
                d = max(0, min(p, q - offset) if offset >= 0 else min(p + offset, q))
            rest = [s for i, s in enumerate(shape) if i not in (a, b)]
            return made(f"{text}.diagonal({offset}, {a}, {b})", rest + [d])

        def piece():
            a = axis()
            d = shape[a]
            if not isinstance(d, int) or d < 2:
                raise Stuck
            how = r.random()
            if how < 0.35:
                k = r.randrange(d)
                return made(f"{text}.unbind({a})[{k}]", shape[:a] + shape[a + 1:])
            size = r.randrange(1, d)
            sizes = [min(size, d - i) for i in range(0, d, size)]
            k = r.randrange(len(sizes))
            if how < 0.7:
                return made(f"{text}.split({size}, {a})[{k}]", shape[:a] + (sizes[k],) + shape[a + 1:])
            chunks = r.randrange(2, d + 1)
            size = -(-d // chunks)
            sizes = [min(size, d - i) for i in range(0, d, size)]
            k = r.randrange(len(sizes))
            return made(f"torch.chunk({text}, {chunks}, {a})[{k}]",
                        shape[:a] + (sizes[k],) + shape[a + 1:])

        def expand():
            a = self.pick(i for i, d in enumerate(shape) if d == 1)
            dims = shape[:a] + (r.choice([2, 3]),) + shape[a + 1:]
            return made(f"{text}.expand({', '.join('-1' if i != a else str(d) for i, d in enumerate(dims))})",
                        dims)

        def windows():
            a = axis()
            d = shape[a]
            if not isinstance(d, int) or d < 2 or rank > 2:
                raise Stuck
            return made(f"{text}.unfold({a}, 2, 1)", shape[:a] + (d - 1,) + shape[a + 1:] + (2,))

        def same():
            return made(f"{text}{r.choice(['.detach()', '.view_as(' + text + ')', '.contiguous()', '[:, ...]' if rank else '.detach()'])}",
                        shape)

        return self.choose([(6, subscript), (2, select), (1.5, narrow), (2, transpose), (1, permute),
                            (0.7, movedim), (1.5, unsqueeze), (1, squeeze), (2, flat), (1, flatten_two),
                            (1, split_axis), (1.2, diagonal), (1.2, piece), (0.3, expand), (0.3, windows),
                            (0.5, same)])

    def sizes_text(self, dims, wild):
        """Arguments of view(): one of them -1, those that need a name always."""
        texts = []
        for i, d in enumerate(dims):
            texts.append("-1" if i == wild else self.dim_text(d))
        if all(isinstance(d, int) for d in dims) and self.chance(0.5):
            texts[wild] = str(dims[wild])
        return ", ".join(texts)

    def views(self, text, t, most=3):
        """A chain of view steps, at least one; `shared` says that writing may be illegal."""
        shared = False
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, most])):
            text, t = self.view(text, t)
            last = text.rsplit(".", 1)[-1]
            shared = shared or last.startswith(("expand(", "unfold("))
        return text, t, shared
