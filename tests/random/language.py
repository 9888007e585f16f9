"""Random programs out of the TorchScript language reference: functions with early returns, classes with state, NamedTuples,
optionals, dicts, conditions on sizes, lists of views, nested loops, names for one tensor.

Few kinds of values, so that nearly everything may meet everything:

    M (n, 3)   U (any, 3)   R (3,)   C (n,)   S ()   i f b   LR LU Li lists   P a NamedTuple   A an object   D a dict   O an optional R
"""
import contextlib
import random

from scope import FLOAT, INT, Number, Tensor

ANNOTATION = {"M": "Tensor", "U": "Tensor", "R": "Tensor", "C": "Tensor", "S": "Tensor", "i": "int", "f": "float", "b": "bool",
              "LR": "List[Tensor]", "LU": "List[Tensor]", "Li": "List[int]", "P": "Pair", "A": "Acc",
              "D": "Dict[str, Tensor]", "O": "Optional[Tensor]"}
TENSORS = ("M", "U", "R", "C", "S")
KEYS = ("a", "b", "c")

CLASSES = '''
class Pair(NamedTuple):
    t: Tensor
    k: int


@torch.jit.script
class Acc:
    def __init__(self, start: Tensor, step: int):
        self.total = start
        self.step = step
        self.seen: List[Tensor] = []

    def push(self, v: Tensor) -> int:
        self.step += 1
        if self.step > 3:
            return self.step
        self.total = self.total * 0.5 + v
        self.seen.append(v)
        return -self.step

    def scale(self, by: float):
        self.total.mul_(by)

    def last(self) -> Tensor:
        if len(self.seen) == 0:
            return self.total
        return self.seen[-1]
'''


class Writer:
    """The body of one function."""

    def __init__(self, rng, program, parameters, level):
        self.rng, self.program, self.level = rng, program, level
        self.lines, self.indent, self.loops = [], 1, 0
        self.names = dict(parameters)
        self.frozen = set()  # loop variables, and lists that are being looped over
        self.result = None   # kinds that the function returns

    # --- choice and names

    def chance(self, p):
        return self.rng.random() < p

    def of(self, *kinds):
        return [n for n, k in self.names.items() if k in kinds]

    def name_of(self, *kinds):
        found = self.of(*kinds)
        if found and self.chance(0.5):
            found = found[-4:]
        return self.rng.choice(found) if found else None

    def emit(self, line):
        self.lines.append("    " * self.indent + line)

    def declare(self, kind, text):
        self.program.counter += 1
        name = f"{kind.lower()}{self.program.counter}"
        typed = f": {ANNOTATION[kind]}" if kind[0] in "LDO" else ""
        self.emit(f"{name}{typed} = {text}")
        self.names[name] = kind
        return name

    @contextlib.contextmanager
    def block(self):
        outer, start = set(self.names), len(self.lines)
        self.indent += 1
        yield
        if len(self.lines) == start:
            self.emit("pass")
        self.indent -= 1
        self.names = {n: k for n, k in self.names.items() if n in outer}

    # --- expressions

    def number(self):
        return self.rng.choice(["0.5", "0.25", "-0.5", "1.5", "-1.0", "2.0", "0.75"])

    def integer(self, depth=1):
        r = self.rng
        options = [lambda: str(r.randrange(0, 4))]
        if self.of("i"):
            options += [lambda: self.name_of("i")] * 2
        if self.of("M", "C", "U"):
            options += [lambda: f"{self.name_of('M', 'C', 'U')}.size(0)", lambda: f"len({self.name_of('M', 'U')})" if self.of("M", "U") else "3"]
        if self.of("LR", "LU", "Li"):
            options.append(lambda: f"len({self.name_of('LR', 'LU', 'Li')})")
        if self.of("P"):
            options.append(lambda: f"{self.name_of('P')}.k")
        if depth > 0:
            options += [lambda: f"({self.integer(0)} {r.choice(['+', '-', '*'])} {r.choice('123')})", lambda: f"({self.integer(0)} % 3)",
                        lambda: f"({self.integer(0)} // 2)", lambda: f"{r.choice(['min', 'max'])}({self.integer(0)}, {self.integer(0)})",
                        lambda: f"int({self.tensor('S', 0)})"]
        return r.choice(options)()

    def index(self, of=None):
        """An index that is probably in range."""
        r = self.rng
        options = ["0", "-1", "0"]
        if of:
            options += [f"{self.integer(0)} % max({of}, 1)"] * 2  # LibTorch ends the process where it is 0
        if self.chance(0.3) and self.of("i"):
            options.append(self.name_of("i"))
        return r.choice(options)

    def condition(self):
        r = self.rng
        options = [lambda: f"{self.integer()} {r.choice(['>', '<', '==', '!=', '>='])} {self.integer(0)}",
                   lambda: f"bool({self.tensor('S', 1)} > {self.number()})", lambda: f"{self.integer()} % 2 == 0"]
        if self.of("M", "U"):
            options += [lambda: f"{self.name_of('M', 'U')}.{r.choice(['size(0)', 'shape[0]'])} {r.choice(['> 2', '< 3', '== 1', '>= 4', '!= 2'])}"] * 2
        if self.of("b"):
            options.append(lambda: self.name_of("b"))
        if self.of("LR", "LU"):
            options.append(lambda: f"len({self.name_of('LR', 'LU')}) > {r.randrange(3)}")
        if self.of("f"):
            options.append(lambda: f"{self.name_of('f')} > 0.25")
        text = r.choice(options)()
        if self.chance(0.12):
            text = f"{text} {r.choice(['and', 'or'])} {r.choice(options)()}"
        return f"not ({text})" if self.chance(0.08) else text

    def view(self, kind):
        """An expression of that kind that looks at the memory of a name; None where there is none."""
        r = self.rng
        options = [lambda k=n: k for n in self.of(kind)]
        for m in self.of("M"):
            if kind == "R":
                options += [lambda m=m: f"{m}[{self.index(m + '.size(0)')}]"]
            if kind == "C":
                options += [lambda m=m: f"{m}[:, {r.randrange(3)}]", lambda m=m: f"{m}.select(1, {r.randrange(3)})"]
            if kind == "U":
                options += [lambda m=m: f"{m}[{r.choice(['1:', ':2', ':-1', '::2'])}]", lambda m=m: f"{m}[{self.integer(0)}:]"]
            if kind == "M":
                options += [lambda m=m: f"{m}.view(-1, 3)", lambda m=m: f"{m}.t().t()"] if self.chance(0.2) else []
        if kind == "R":
            options += [lambda n=n: f"{n}[{self.index(f'len({n})')}]" for n in self.of("LR")]
            options += [lambda n=n: f"{n}['{r.choice(KEYS)}']" for n in self.of("D")]
            options += [lambda n=n: f"{n}.{r.choice(['total', 'last()'])}" for n in self.of("A")]
        if kind == "U":
            options += [lambda n=n: f"{n}[{self.index(f'len({n})')}]" for n in self.of("LU")]
        if kind == "M":
            options += [lambda n=n: f"{n}.t" for n in self.of("P")]
        return r.choice(options)() if options else None

    def tensor(self, kind, depth=2):
        r = self.rng
        if depth <= 0 or self.chance(0.2):
            seen = self.view(kind)
            if seen:
                return seen
        made = {"M": lambda: f"x * {self.number()}", "R": lambda: f"w + {self.number()}", "C": lambda: "x.sum(1)", "S": lambda: "w.sum()",
                "U": lambda: "x[1:]"}[kind]
        if depth <= 0:
            return made()
        some = lambda k=kind: self.tensor(k, depth - 1)
        options = [lambda: f"({some()} {r.choice(['+', '-'])} {self.number()})", lambda: f"({some()} * {self.number()})",
                   lambda: f"torch.tanh({some()})", lambda: f"{some()}.clone()", lambda: f"{some()}.clamp(-2.0, 2.0)", made]
        if kind != "U":
            options += [lambda: f"({some()} {r.choice(['+', '-', '*'])} {some()})", lambda: f"torch.minimum({some()}, {some()})",
                        lambda: f"torch.where({some()} > {self.number()}, {some()}, {some()})"]
        if kind in ("M", "U"):
            options += [lambda: f"({some()} + {self.tensor('R', depth - 1)})"]
        if kind == "M":
            options += [lambda: f"({some()} * {self.tensor('C', depth - 1)}.unsqueeze(1))"]
        if kind == "R":
            options += [lambda: f"{self.tensor(r.choice('MU'), depth - 1)}.sum(0)"]
            if self.of("LR"):
                options += [lambda: f"torch.stack({self.name_of('LR')}).sum(0)"]
        if kind == "U":
            if self.of("LU"):
                options += [lambda: f"torch.cat({self.name_of('LU')})"]
            if self.of("LR"):
                options += [lambda: f"torch.stack({self.name_of('LR')})"]
        if kind == "C":
            options += [lambda: f"{self.tensor('M', depth - 1)}.{r.choice(['sum(1)', 'amax(1)'])}"]
        if kind == "S":
            options = [lambda: f"{self.tensor(r.choice('MRCU'), depth - 1)}.sum()", lambda: f"({some()} + {self.number()})", made]
        return r.choice(options)()

    def value(self, kind):
        r = self.rng
        if kind in TENSORS:
            return self.tensor(kind)
        if kind == "i":
            return self.integer()
        if kind == "f":
            return r.choice([self.number(), f"float({self.tensor('S', 1)})", f"({self.name_of('f') or '0.5'} * 0.5)"])
        if kind == "b":
            return self.condition()
        if kind == "Li":
            return r.choice([f"[{self.integer()}, {self.integer(0)}]", f"[k * 2 for k in range({self.integer(0)})]", "list(x.shape)"])
        if kind == "LR":
            m = self.view("M")
            options = [lambda: f"[{', '.join(self.tensor('R', 1) for _ in range(r.randrange(1, 4)))}]", lambda: "[]"]
            if m:
                options += [lambda: f"list({m}.unbind(0))", lambda: f"{m}.unbind(0)", lambda: f"[row * {self.number()} for row in {m}]",
                            lambda: f"[{m}[k] for k in range({m}.size(0))]", lambda: f"list({m})"]
            return r.choice(options)()
        if kind == "LU":
            m = self.view(r.choice("MU")) or "x"
            return r.choice([lambda: f"{m}.split({r.choice(['1', '2', '2', '3'])})", lambda: f"{m}.chunk({r.randrange(2, 4)})",
                             lambda: f"[{m}, {self.tensor('U', 1)}]", lambda: f"list({m}.split(2))"])()
        if kind == "P":
            return f"Pair({self.tensor('M')}, {self.integer()})"
        if kind == "A":
            return f"Acc({self.tensor('R')}, {self.integer(0)})"
        if kind == "D":
            return "{" + ", ".join(f"'{k}': {self.tensor('R', 1)}" for k in KEYS) + "}"
        return r.choice(["None", self.tensor("R")])

    # --- statements

    def make(self):
        kinds = ["M"] * 5 + ["R"] * 3 + ["C", "U", "U", "S", "i", "i", "f", "b", "LR", "LR", "LU", "LU", "Li", "P", "A", "D", "O"]
        kind = self.rng.choice(kinds)
        self.declare(kind, self.value(kind))

    def assign(self):
        n = self.name_of(*ANNOTATION)
        if not n or n in self.frozen or n in ("x", "w"):
            return self.make()
        self.emit(f"{n} = {self.value(self.names[n])}")

    def alias(self):
        r = self.rng
        kind = r.choice(["M", "R", "U", "C"])
        a, b = self.view(kind), self.view(kind)
        if not a:
            return self.make()
        how = r.random()
        if how < 0.45:
            self.declare(kind, a)
        elif how < 0.8:
            self.declare(kind, f"{a} if {self.condition()} else {b}")
        else:
            p, q = self.name_of(kind), self.name_of(kind)
            if p and q and p != q and not {p, q} & (self.frozen | {"x", "w"}):
                self.emit(f"{p}, {q} = {q}, {p}")

    def write(self):
        r = self.rng
        kind = r.choice(["M", "M", "R", "R", "U", "C"])
        target = self.view(kind)
        if not target:
            return self.make()
        base = target.split("[")[0].split(".")[0]
        if base in ("x", "w") and self.program.keeps_inputs:
            return self.alias()
        scalar = self.number()
        fitting = self.tensor(kind, 1) if kind != "U" else scalar
        options = [lambda: f"{target}.mul_({scalar})", lambda: f"{target}.add_({fitting})", lambda: f"{target}.{r.choice(['neg_', 'tanh_', 'zero_'])}()",
                   lambda: f"{target}[...] = {fitting}"]
        if kind in "MU":
            options += [lambda: f"{target}[{self.index()}] {r.choice(['=', '+=', '*='])} {self.tensor('R', 1)}",
                        lambda: f"{target}[:, {r.randrange(3)}] = {scalar}", lambda: f"{target}[{r.choice(['1:', ':2', '-1:'])}] {r.choice(['=', '+='])} {scalar}"]
        if kind == "R":
            options += [lambda: f"{target}[{r.choice(['0', '-1', '1:'])}] {r.choice(['=', '+=', '*='])} {scalar}"]
        if kind == "C":
            options += [lambda: f"{target}[{self.index()}] = {scalar}"]
        self.emit(r.choice(options)())

    def change_list(self):
        r = self.rng
        l = self.name_of("LR", "LU", "Li")
        if not l or l in self.frozen:
            return self.declare(*r.choice([("LR", self.value("LR")), ("LU", self.value("LU"))]))
        element = {"LR": lambda: self.view("R") or self.tensor("R", 1), "LU": lambda: self.view("U") or self.tensor("U", 1),
                   "Li": lambda: self.integer()}[self.names[l]]
        options = [lambda: f"{l}.append({element()})"] * 3 + [
            lambda: f"{l}.insert({self.index()}, {element()})", lambda: f"{l}[{self.index(f'len({l})')}] = {element()}", lambda: f"{l}.reverse()",
            lambda: f"{l}.extend([{element()}])", lambda: f"{l} = {l}[1:] + {l}[:1]", lambda: f"{l} = {l}[::-1]"]
        text = r.choice(options)()
        self.emit(text)
        if self.chance(0.15):
            self.emit(f"if len({l}) > 1:")
            self.emit(f"    {l}.pop({self.index()})")

    def branch(self):
        self.emit(f"if {self.condition()}:")
        with self.block():
            self.body(2)
            if self.result and self.chance(0.25) and self.loops == 0:
                self.emit(self.giving())
        if self.chance(0.55):
            if self.chance(0.25):
                self.emit(f"elif {self.condition()}:")
                with self.block():
                    self.body(2)
            self.emit("else:")
            with self.block():
                self.body(2)

    def both(self):
        """A name that is set in both branches."""
        kind = self.rng.choice(["M", "R", "U", "i", "LR", "O", "P"])
        self.program.counter += 1
        name = f"{kind.lower()}{self.program.counter}"
        typed = f": {ANNOTATION[kind]}" if kind[0] in "LO" else ""
        if typed:
            self.emit(f"{name}{typed} = {self.value(kind)}")
            typed = ""
        self.emit(f"if {self.condition()}:")
        for k in range(2):
            with self.block():
                self.body(1)
                self.emit(f"{name} = {self.view(kind) if kind in 'MRU' and self.chance(0.4) and self.view(kind) else self.value(kind)}")
            if k == 0:
                self.emit("else:")
        self.names[name] = kind

    def loop(self):
        r = self.rng
        if self.loops >= 2:
            return self.write()
        self.program.counter += 1
        c = self.program.counter
        frozen, added = set(), {}
        kind = r.random()
        m = self.view("M") or "x"
        if kind < 0.3:
            head = f"for i{c} in range({r.choice([self.integer(0), f'{m}.size(0)', str(r.randrange(1, 4)), f'1, {m}.size(0)'])}):"
            added = {f"i{c}": "i"}
        elif kind < 0.45:
            head, added = f"for r{c} in {m}:", {f"r{c}": "R"}
        elif kind < 0.75 and self.of("LR", "LU"):
            l = self.name_of("LR", "LU")
            element = self.names[l][1].lower() + str(c)
            frozen = {l}
            added = {element: self.names[l][1]}
            if self.chance(0.3):
                head, added = f"for i{c}, {element} in enumerate({l}):", {**added, f"i{c}": "i"}
            elif self.chance(0.2):
                head, added = f"for {element}, q{c} in zip({l}, {m}):", {**added, f"q{c}": "R"}
            else:
                head = f"for {element} in {l}:"
        elif kind < 0.87:
            self.emit(f"i{c} = 0")
            head, added = f"while i{c} < {r.choice([self.integer(0), '3', f'{m}.size(0)'])}:", {f"i{c}": "i"}
        else:
            u = r.choice([f"{m}.split({r.choice('123')})", f"{m}.chunk(2)"])
            head, added = f"for u{c} in {u}:", {f"u{c}": "U"}
        self.emit(head)
        with self.block():
            before = set(self.frozen)
            self.names.update(added)
            self.frozen |= frozen | set(added)
            self.loops += 1
            if head.startswith("while"):
                self.emit(f"i{c} += 1")
            self.body(3)
            if self.chance(0.15):
                self.emit(f"if {self.condition()}:")
                self.emit(f"    {r.choice(['break', 'continue'])}")
                self.body(1)
            self.loops -= 1
            self.frozen = before

    def objects(self):
        r = self.rng
        if self.of("A") and self.chance(0.6):
            a = self.name_of("A")
            self.emit(r.choice([f"{a}.push({self.view('R') or self.tensor('R')})", f"{a}.scale({self.number()})", f"{a}.total = {self.tensor('R')}",
                                f"{a}.total.add_({self.tensor('R', 1)})"]))
        elif self.of("D") and self.chance(0.5):
            d = self.name_of("D")
            if self.chance(0.6):
                self.emit(f"{d}['{r.choice(KEYS)}'] = {self.view('R') or self.tensor('R')}")
            else:
                self.program.counter += 1
                self.emit(f"for k{self.program.counter}, r{self.program.counter} in {d}.items():")
                with self.block():
                    self.names[f"r{self.program.counter}"] = "R"
                    self.body(1)
        elif self.of("O"):
            o = self.name_of("O")
            self.emit(f"if {o} is not None:")
            with self.block():
                self.names[o] = "R"
                self.frozen.add(o)
                self.body(2)
            self.names[o] = "O"
            self.frozen.discard(o)
        else:
            kind = r.choice("PADO")
            self.declare(kind, self.value(kind))

    def call(self):
        r = self.rng
        if self.level >= 2 or self.loops >= 2:
            return self.assign()
        if not self.program.helpers or (len(self.program.helpers) < 3 and self.chance(0.6)):
            self.program.helper(self.level + 1)
        found = [h for h in self.program.helpers if h[3] > self.level]
        if not found:
            return self.assign()
        name, parameters, gives, _ = r.choice(found)
        given = []
        for kind in parameters:
            text = self.view(kind) if kind in TENSORS and self.chance(0.6) else None
            if text and self.program.keeps_inputs and text.split("[")[0].split(".")[0] in ("x", "w"):
                text += ".clone()"
            text = text or (self.name_of(kind) if kind not in TENSORS else None) or self.value(kind)
            if kind[0] == "L" and text.startswith("["):
                text = self.declare(kind, text)
            given.append(text)
        self.program.counter += 1
        names = [f"{k.lower()}{self.program.counter}{chr(97 + i)}" for i, k in enumerate(gives)]
        self.emit(f"{', '.join(names)} = {name}({', '.join(given)})")
        self.names.update(zip(names, gives))

    def giving(self):
        return "return " + ", ".join((self.view(k) if k in TENSORS and self.chance(0.5) else None) or self.value(k) for k in self.result)

    def statement(self):
        self.program.budget -= 1
        nested = [self.branch, self.branch, self.loop, self.loop, self.loop, self.both] if self.indent < 4 else []
        self.rng.choice([self.make] * 2 + [self.assign] * 2 + [self.alias] * 2 + [self.write] * 4 + [self.change_list] * 3 + [self.objects] * 2 +
                        [self.call] * 2 + nested)()

    def body(self, most):
        for _ in range(self.rng.randrange(1, most + 1)):
            self.statement()


class Program:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.counter, self.budget = 0, self.rng.choice([4, 6, 8, 10, 12, 16])
        self.helpers = []  # (name, kinds it takes, kinds it gives, level)
        self.functions = []
        self.keeps_inputs = self.rng.random() < 0.7

    def helper(self, level):
        r = self.rng
        kinds = r.sample(["M", "M", "R", "i", "LR", "LU", "U", "f", "O", "P"], r.randrange(1, 4))
        gives = r.sample(["M", "R", "U", "i"], r.randrange(1, 3))
        parameters = {f"p{i}": k for i, k in enumerate(kinds)}
        w = Writer(r, self, {"x": "M", "w": "R", **parameters}, level)
        w.result = gives
        w.frozen |= {n for n, k in parameters.items() if k[0] == "L" and r.random() < 0.5}
        w.body(4)
        w.emit(w.giving())
        self.counter += 1
        name = f"helper{self.counter}"
        typed = ", ".join(f"{n}: {ANNOTATION[k]}" for n, k in {**parameters, "x": "M", "w": "R"}.items())
        types = [ANNOTATION[k] for k in gives]
        result = types[0] if len(types) == 1 else f"Tuple[{', '.join(types)}]"
        self.functions.append("\n".join([f"def {name}({typed}) -> {result}:"] + w.lines))
        self.helpers.append((name, kinds + ["M", "R"], gives, level))

    def write(self):
        w = Writer(self.rng, self, {"x": "M", "w": "R", "k": "i"}, 0)
        w.declare("M", "x.clone()")
        while self.budget > 0:
            w.statement()
        names = [n for n in w.names if w.names[n] in ("M", "U", "R", "C", "S", "i", "f")]
        names = names[-5:] + [n for n in names[:-5] if self.rng.random() < 0.3]
        text = [n for n in names if n not in ("x", "w", "k")] or ["x"]
        text += [f"{n}.total" for n in w.of("A")[:1]] + [f"len({n})" for n in w.of("LR", "LU")[:1]]
        w.emit("return " + ", ".join(text))
        main = "class Model(nn.Module):\n    def forward(self, x: Tensor, w: Tensor, k: int):\n"
        main += "\n".join("    " + line for line in w.lines)
        return CLASSES + "\n\n" + "\n\n\n".join(self.functions + [main]) + "\nmodel = Model()\n"


def write_program(seed):
    """(source, inputs), as generate.write_program gives them."""
    return Program(seed).write(), {"x": Tensor(FLOAT, ("n", 3)), "w": Tensor(FLOAT, (3,)), "k": Number("int")}
