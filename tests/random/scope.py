"""What a random program has in hand: typed names, the source written so far, and weighted choice."""
import contextlib
import dataclasses
import random

FLOAT, DOUBLE, INT, INT32, BOOL = "float32", "float64", "int64", "int32", "bool"
FLOATING = (FLOAT, DOUBLE)
INTEGRAL = (INT, INT32)


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A dim is a number or a name: equal names are equal sizes ("n", "2*n", "?5")."""
    dtype: str
    shape: tuple

    @property
    def rank(self):
        return len(self.shape)


@dataclasses.dataclass(frozen=True)
class Number:
    kind: str  # int, float, bool


@dataclasses.dataclass(frozen=True)
class List:
    element: object
    length: int | None  # None: depends on what ran


@dataclasses.dataclass(frozen=True)
class Dict:
    element: Tensor
    keys: tuple


@dataclasses.dataclass(frozen=True)
class Tuple:
    items: tuple


@dataclasses.dataclass(frozen=True)
class Optional:
    element: Tensor


def annotation(t):
    if isinstance(t, Tensor):
        return "Tensor"
    if isinstance(t, Number):
        return t.kind
    if isinstance(t, List):
        return f"List[{annotation(t.element)}]"
    if isinstance(t, Dict):
        return f"Dict[str, {annotation(t.element)}]"
    if isinstance(t, Tuple):
        return f"Tuple[{', '.join(annotation(i) for i in t.items)}]"
    return f"Optional[{annotation(t.element)}]"


class Stuck(Exception):
    """Nothing fits here: the statement being written is dropped."""


class Shared:
    """What all functions of one program share."""

    def __init__(self, rng):
        self.rng = rng
        self.counter = 0
        self.functions = []  # source of free functions
        self.helpers = []    # what can be called again: (callee, argument types, its Part or None, result types)
        self.parts = []      # Part objects: the model's classes, main first
        self.budget = 0      # statements still wanted; nested blocks spend it too


class Part:
    """A module class: attributes with their first values, and methods."""

    def __init__(self, name):
        self.name = name
        self.attributes = {}  # "self.h0" -> (type, text of the initial value)
        self.methods = []     # source
        self.children = []    # (attribute, class name)


class Scope:
    """The names of one function, and its lines."""

    def __init__(self, shared, part, level=0):
        self.shared, self.part, self.level = shared, part, level
        self.rng = shared.rng
        self.lines = []
        self.indent = 1
        self.vars = {}          # name -> type, attributes "self.h0" among them
        self.frozen = set()     # never assigned: loop indices, elements being iterated
        self.pinned = set()     # keep their sizes: found by a loop, attributes
        self.readonly = set()   # expanded: writing in place may be illegal
        self.index_of = {}      # int name -> the dim it is an index of
        self.loops = 0
        self.blocks = 0
        self.returns = None     # types of what every return gives
        self.mutated = []

    # --- choice

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        items = list(items)
        if not items:
            raise Stuck
        return self.rng.choice(items)

    def choose(self, options):
        """Runs one of (weight, function), by weight; those that are stuck are left out."""
        options = [o for o in options if o[0] > 0]
        while options:
            i = self.rng.choices(range(len(options)), [w for w, _ in options])[0]
            kept = self.save()
            try:
                return options[i][1]()
            except Stuck:
                self.restore(kept)
                del options[i]
        raise Stuck

    def save(self):
        return len(self.lines), dict(self.vars), set(self.frozen), set(self.pinned), self.indent, \
            dict(self.index_of), self.loops, self.blocks, set(self.readonly)

    def restore(self, kept):
        n, self.vars, self.frozen, self.pinned, self.indent, self.index_of, self.loops, self.blocks, \
            self.readonly = kept
        self.vars, self.frozen, self.pinned = dict(self.vars), set(self.frozen), set(self.pinned)
        self.index_of, self.readonly = dict(self.index_of), set(self.readonly)
        del self.lines[n:]

    # --- names

    def fresh(self, prefix):
        self.shared.counter += 1
        return f"{prefix}{self.shared.counter}"

    def fresh_dim(self):
        return self.fresh("?")

    def declare(self, t, text, prefix=None):
        """A new name for an expression."""
        prefixes = {Tensor: "t", List: "l", Dict: "d", Tuple: "p", Optional: "o"}
        name = self.fresh(prefix or (t.kind[0] if isinstance(t, Number) else prefixes[type(t)]))
        self.emit(f"{name} = {text}")
        self.vars[name] = t
        return name

    def emit(self, line):
        self.lines.append("    " * self.indent + line)

    @contextlib.contextmanager
    def block(self):
        """An indented block: names that begin in it end with it."""
        outer = set(self.vars)
        self.indent += 1
        self.blocks += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.emit("pass")
        self.indent -= 1
        self.blocks -= 1
        self.vars = {k: v for k, v in self.vars.items() if k in outer}

    def numbers(self, kind):
        return [k for k, t in self.vars.items() if t == Number(kind)]

    def tensors(self, test=lambda t: True, writable=False):
        """Names, list elements and dict entries that are tensors."""
        found = []
        for name, t in self.vars.items():
            if isinstance(t, Tensor) and not (writable and name in self.readonly):
                found.append((name, t))
            elif isinstance(t, List) and isinstance(t.element, Tensor) and t.length:
                found.append((f"{name}[{self.rng.randrange(-t.length, t.length)}]", t.element))
            elif isinstance(t, Dict):
                found.append((f"{name}['{self.rng.choice(t.keys)}']", t.element))
            elif isinstance(t, Tuple):
                found += [(f"{name}[{i}]", e) for i, e in enumerate(t.items) if isinstance(e, Tensor)]
        return [(n, t) for n, t in found if test(t)]

    def tensor_named(self, test=lambda t: True, writable=False):
        found = self.tensors(test, writable)
        # Recent names more often: programs become chains.
        if found and self.chance(0.4):
            found = found[-3:]
        return self.pick(found)

    def dim_text(self, d):
        """An expression for a dim, out of a tensor that has it."""
        if isinstance(d, int):
            return str(d)
        if "*" in d and self.chance(0.3):
            factor, rest = d.split("*")
            return f"{self.dim_text(rest)} * {factor}"
        places = [(n, i) for n, t in self.tensors() for i, s in enumerate(t.shape) if s == d]
        name, axis = self.pick(places)
        return self.rng.choice([f"{name}.size({axis})", f"{name}.shape[{axis}]"])
