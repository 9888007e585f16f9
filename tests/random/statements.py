"""Statements: assignments, writes through views, branches, loops, lists, dicts, state, calls."""
from expressions import OFFSETS, Expressions
from scope import (BOOL, DOUBLE, FLOAT, FLOATING, INT, INTEGRAL, Dict, List, Number, Optional, Part, Scope, Stuck,
                   Tensor, Tuple, annotation)
from views import Views


class Function(Scope, Expressions, Views):
    """One function being written."""

    # --- blocks

    def statements(self, count, must_change=False):
        for i in range(count):
            self.statement(change=must_change and i == 0)

    def statement(self, change=False):
        """One statement; with `change` one that changes what an outer block can see."""
        if self.shared.budget <= 0 and not change:
            return
        self.shared.budget -= 1
        deep = self.blocks >= 3
        changes = [(3, self.reassign), (4, self.write_in_place), (4, self.write_view), (1.5, self.assign_number),
                   (1, self.change_list), (0.8, self.change_dict), (1, self.write_attribute)]
        new = [(3, self.new_variable), (2.5, self.new_view), (1.5, self.new_number), (1, self.new_list),
               (0.6, self.new_dict), (0.4, self.new_tuple)]
        control = [] if deep else [(2.2, self.if_statement), (2.4, self.for_statement), (0.8, self.while_statement),
                                   (0.7, self.optional), (1, self.call), (0.5, self.early_return), (0.6, self.grown_list)]
        if self.loops and self.blocks > 1:
            control.append((0.7, self.leave_loop))
        self.choose(changes if change else changes + new + control)

    # --- assignments

    def new_variable(self):
        text, t = self.new_tensor()
        self.declare(t, text)

    def new_view(self):
        name, t = self.tensor_named(writable=self.chance(0.8))
        text, made, shared = self.views(name, t)
        view = self.declare(made, text)
        if shared or name in self.readonly:
            self.readonly.add(view)

    def new_number(self):
        kind = self.rng.choice(["int", "int", "float", "bool"])
        self.declare(Number(kind), self.number(kind, 3))

    def assignable(self, test):
        return self.pick(n for n, t in self.vars.items() if n not in self.frozen and test(n, t))

    def assign_number(self):
        name = self.assignable(lambda n, t: isinstance(t, Number))
        kind = self.vars[name].kind
        if kind != "bool" and self.chance(0.5):
            self.emit(f"{name} {self.rng.choice(['+=', '-=', '+='])} {self.number(kind, 1)}")
        else:
            self.emit(f"{name} = {self.number(kind, 2)}")

    def reassign(self):
        name = self.assignable(lambda n, t: isinstance(t, Tensor))
        t = self.vars[name]
        dims = t.shape
        if name not in self.pinned and t.rank and self.chance(0.3):
            text, dims = self.resized(name, t)
        else:
            text = self.tensor(t.dtype, dims, 3)
        if text == name:
            raise Stuck
        if (self.blocks or self.loops) and text in self.vars and self.chance(0.9):
            text += ".clone()"  # else every write that follows may go to either tensor
        self.emit(f"{name} = {text}")
        self.vars[name] = Tensor(t.dtype, tuple(dims))
        self.readonly.discard(name)

    def resized(self, name, t):
        """A tensor of the same rank with another size on one axis."""
        k = self.rng.randrange(t.rank)
        d = self.fresh_dim()
        dims = t.shape[:k] + (d,) + t.shape[k + 1:]
        def cat():
            extra = self.tensor(t.dtype, t.shape[:k] + (self.rng.choice([1, 2]),) + t.shape[k + 1:], 1)
            parts = [name, extra]
            self.rng.shuffle(parts)
            return f"torch.cat([{', '.join(parts)}], {k})"
        return self.choose([(2, cat), (1, lambda: f"{name}[{':, ' * k}{self.rng.choice(['1:', ':-1', ':2', '::2'])}]"),
                            (0.5, lambda: f"{name}[{':, ' * k}{self.mask((t.shape[k],), 1)}]")]), dims

    # --- writes

    def in_place(self, target, t):
        """An operator that writes into the tensor `target`."""
        r = self.rng
        operand = lambda: self.atomic(self.operand(t.dtype, t.shape))
        if t.dtype == BOOL:
            return self.choose([(1, lambda: f"{target}.logical_not_()"), (1, lambda: f"{target}.copy_({self.mask(t.shape, 1)})"),
                                (1, lambda: f"{target}.fill_({r.choice(['True', 'False'])})"),
                                (1, lambda: f"{target}.logical_and_({self.mask(t.shape, 1)})"),
                                (0.6, lambda: f"{target} |= {self.mask(t.shape, 1)}")])
        value = lambda: self.number("float" if t.dtype in FLOATING else "int", 1)
        simple = ["zero_()", "neg_()", "abs_()", "clamp_(-1, 2)", "fill_(2)", "relu_()"]
        if t.dtype in FLOATING:
            simple += ["mul_(0.5)", "tanh_()", "sigmoid_()", "div_(2)", "clamp_(min=0.25)"]
        else:
            simple += ["remainder_(3)", "mul_(-1)"]
        d = self.rng.randrange(t.rank) if t.rank else 0

        def by_index(form, of_rank=None):
            if t.rank == 0 or t.shape[d] == 0:
                raise Stuck
            count = r.choice([1, 2, 3])
            rows = t.shape[:d] + (count,) + t.shape[d + 1:]
            index = self.indices((count,), t.shape[d]) if self.tensors(lambda u: u == Tensor(INT, (count,))) \
                else f"torch.tensor([{', '.join(str(r.randrange(t.shape[d]) if isinstance(t.shape[d], int) else 0) for _ in range(count))}])"
            return f"{target}.{form.format(d=d, i=index, v=self.tensor(t.dtype, rows, 1) if '{v}' in form else '', n=value())}"

        def scatter():
            if t.rank == 0:
                raise Stuck
            index = self.indices(t.shape, t.shape[d])
            name = "scatter_add_"
            return f"{target}.{name}({d}, {index}, {self.tensor(t.dtype, t.shape, 1)})"

        def out():
            a, b = self.tensor(t.dtype, t.shape, 1), operand()
            return f"torch.{r.choice(['add', 'sub', 'maximum'])}({a}, {b}, out={target})"

        return self.choose([
            (2, lambda: f"{target} += {operand()}"), (1.5, lambda: f"{target}.add_({operand()})"),
            (1, lambda: f"{target}.sub_({operand()})"), (1, lambda: f"{target} -= {operand()}"),
            (2, lambda: f"{target}.{r.choice(simple)}"), (1, lambda: f"{target} += {value()}"),
            (1.2, lambda: f"{target}.copy_({operand()})"), (0.5, lambda: f"{target}.fill_({value()})"),
            (1, lambda: f"{target}.masked_fill_({self.mask(self.operand_shape(t.shape), 1)}, {value()})"),
            (0.4, lambda: f"{target}.mul_({operand()}).clamp_(-4, 4)"),
            (0.7, lambda: by_index("index_add_({d}, {i}, {v})")), (0.5, lambda: by_index("index_fill_({d}, {i}, {n})")),
            (0.4, lambda: by_index("index_copy_({d}, {i}, {v})")), (0.5, scatter), (0.3, out)])

    def write_in_place(self):
        name, t = self.tensor_named(writable=True)
        text = self.in_place(name, t)
        if any(sign in text for sign in (" += ", " -= ", " |= ")):
            if name in self.frozen or isinstance(self.vars.get(name.split("[")[0]), Tuple):
                raise Stuck
        self.emit(text)

    def write_view(self):
        name, t = self.tensor_named(lambda t: t.rank > 0, writable=True)
        r = self.rng
        if self.chance(0.25):
            return self.write_indexed(name, t)
        if self.chance(0.5):
            if self.chance(0.3):
                name, t, shared = self.views(name, t, 1)
                if shared or t.rank == 0:
                    raise Stuck
            inside, dims = self.subscript(t)
            target, made = f"{name}[{inside}]", Tensor(t.dtype, dims)
            operand = lambda: self.operand(t.dtype, dims, 2)
            def augmented():
                if t.dtype == BOOL:
                    raise Stuck
                return f"{target} {r.choice(['+=', '-='])} {operand()}"
            number = "True" if t.dtype == BOOL else self.number("float" if t.dtype in FLOATING else "int", 1)
            self.emit(self.choose([(3, lambda: f"{target} = {operand()}"), (1.5, augmented),
                                   (1, lambda: f"{target} = {number}"), (1.5, lambda: self.in_place_call(target, made))]))
            return
        text, made, shared = self.views(name, t)
        if shared:
            raise Stuck
        self.emit(self.in_place_call(text, made))

    def in_place_call(self, target, t):
        text = self.in_place(target, t)
        if " += " in text or " -= " in text or " |= " in text:
            if not target.endswith("]"):
                raise Stuck  # no assignment to a call
        return text

    def write_indexed(self, name, t):
        """x[mask] = v, x[index] = v, index_put_."""
        r = self.rng
        over = r.randrange(1, t.rank + 1)
        number = self.mask_value(t)

        def masked():
            return f"{name}[{self.mask(t.shape[:over], 2)}] = {number}"

        def masked_row():
            if over == t.rank:
                raise Stuck
            return f"{name}[{self.mask(t.shape[:over], 1)}] = {self.tensor(t.dtype, t.shape[over:], 1)}"

        def masked_update():
            if t.dtype == BOOL:
                raise Stuck
            return f"{name}[{self.mask(t.shape[:over], 1)}] {r.choice(['+=', '-='])} {number}"

        def indexed():
            v, u = self.tensor_named(lambda u: u.dtype == INT and u.rank == 1)
            if t.shape[0] == 0:
                raise Stuck
            index = f"{v} % {self.divisor(t.shape[0])}"
            value = self.choose([(1, lambda: number), (2, lambda: self.tensor(t.dtype, t.shape[1:], 1))])
            return f"{name}[{index}] = {value}"

        def put():
            v, u = self.tensor_named(lambda u: u.dtype == INT and u.rank == 1)
            if t.dtype == BOOL or t.shape[0] == 0:
                raise Stuck
            rows = self.tensor(t.dtype, u.shape + t.shape[1:], 1)
            return f"{name}.index_put_(({v} % {self.divisor(t.shape[0])},), {rows}, accumulate=True)"

        def point():
            if t.rank < 2:
                raise Stuck
            return f"{name}[{self.index_text(t.shape[0])}, {self.index_text(t.shape[1])}] = {self.tensor(t.dtype, t.shape[2:], 1)}"

        self.emit(self.choose([(3, masked), (1, masked_row), (1, masked_update), (1.5, indexed), (1, put), (1, point)]))

    def mask_value(self, t):
        return "True" if t.dtype == BOOL else self.number("float" if t.dtype in FLOATING else "int", 1)

    def write_attribute(self):
        name = self.assignable(lambda n, t: n.startswith("self."))
        t = self.vars[name]
        if isinstance(t, Number):
            if t.kind == "bool":
                self.emit(f"{name} = {self.bool_expr(1)}")
            else:
                self.emit(f"{name} {self.rng.choice(['=', '+='])} {self.number(t.kind, 1)}")
        elif self.chance(0.5):
            self.emit(f"{name} = {self.tensor(t.dtype, t.shape, 2)}")
        else:
            self.emit(self.in_place(name, t))

    # --- branches

    def merge(self, kept, ends):
        """Types after branches: a dim that differs has a new name."""
        for name, t in kept.items():
            kinds = [e.get(name, t) for e in ends]
            if isinstance(t, Tensor):
                dims = [d[0] if len(set(d)) == 1 else self.fresh_dim() for d in zip(*(k.shape for k in kinds))]
                self.vars[name] = Tensor(t.dtype, tuple(dims))
            elif isinstance(t, List):
                lengths = {k.length for k in kinds}
                self.vars[name] = List(t.element, lengths.pop() if len(lengths) == 1 else None)
            else:
                self.vars[name] = t

    def if_statement(self):
        branches = self.rng.choice([1, 2, 2, 2, 3])
        kept, ends = dict(self.vars), []
        has_else = branches > 1
        for k in range(branches):
            self.vars = dict(kept)
            if k == 0:
                self.emit(f"if {self.bool_expr(2)}:")
            elif k == branches - 1:
                self.emit("else:")
            else:
                self.emit(f"elif {self.bool_expr(1)}:")
            with self.block():
                self.statements(self.rng.choice([1, 1, 2, 3]), must_change=True)
            ends.append(dict(self.vars))
        if not has_else:
            ends.append(kept)
        self.vars = dict(kept)
        self.merge(kept, ends)

    def leave_loop(self):
        self.emit(f"if {self.bool_expr(1)}:")
        with self.block():
            if self.chance(0.3):
                self.statement(change=True)
            self.emit(self.rng.choice(["break", "break", "continue"]))

    def early_return(self):
        if self.returns is None:
            if self.blocks or self.loops:
                raise Stuck
            self.returns = self.result_types()
        self.emit(f"if {self.bool_expr(1)}:")
        kept = dict(self.vars)
        with self.block():
            if self.chance(0.5):
                self.statement(change=True)
            self.emit(f"return {self.result()}")
        self.vars = kept

    def result_types(self):
        found = [t for n, t in self.vars.items() if isinstance(t, (Tensor, Number))]
        kinds = [self.pick(t for t in found if isinstance(t, Tensor))]
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            kinds.append(self.pick(found))
        return kinds

    def result(self):
        """The text of what a return gives, of the types in self.returns."""
        texts = []
        for t in self.returns:
            if isinstance(t, Number):
                texts.append(self.number(t.kind, 1))
                continue
            same_rank = self.tensors(lambda u: u.dtype == t.dtype and u.rank == t.rank)
            texts.append(self.choose([(1, lambda: self.tensor(t.dtype, t.shape, 1)), (1, lambda: self.pick(same_rank)[0])]))
        return ", ".join(texts)

    # --- loops

    def for_statement(self):
        r = self.rng
        kept = dict(self.vars)
        index = self.fresh("i")

        def constant():
            first = r.choice([0, 0, 0, 1])
            self.emit(f"for {index} in range({first}, {r.choice([1, 2, 3, 4])}):" if first
                      else f"for {index} in range({r.choice([0, 1, 2, 3, 3])}):")
            return {index: Number("int")}

        def over_size():
            name, t = self.tensor_named(lambda t: t.rank > 0)
            a = r.randrange(t.rank)
            if self.chance(0.6):
                a = 0
            form = self.choose([(4, lambda: f"range({name}.size({a}))"), (1, lambda: f"range(1, {name}.size({a}))"),
                                (0.7, lambda: f"range({name}.size({a}) - 1, -1, -1)"),
                                (0.7, lambda: f"range(0, {name}.size({a}), 2)"),
                                (0.5, lambda: f"range({name}.shape[{a}] // 2)"),
                                (0.3, lambda: f"range(len({name}))" if a == 0 else self.pick([]))])
            self.emit(f"for {index} in {form}:")
            self.index_of[index] = t.shape[a]
            return {index: Number("int")}

        def computed():
            count = self.choose([(2, lambda: f"{self.int_expr(1)} % {r.choice([3, 4])}"),
                                 (1, lambda: f"min({self.int_expr(1)}, 4)"),
                                 (1, lambda: f"min(abs({self.data_int()}), 3)"),
                                 (0.5, lambda: f"{self.int_expr(0)} % 3, {self.int_expr(0)} % 5"),
                                 (0.3, lambda: f"0, {self.int_expr(0)} % 7, 2")])
            self.emit(f"for {index} in range({count}):")
            return {index: Number("int")}

        def over_list():
            name, t = self.pick((n, t) for n, t in self.vars.items() if isinstance(t, List))
            self.frozen.add(name)
            element = self.fresh("e")
            p = r.random()
            if p < 0.5:
                self.emit(f"for {element} in {name}:")
                return {element: t.element}
            if p < 0.8:
                self.emit(f"for {index}, {element} in enumerate({name}):")
                return {index: Number("int"), element: t.element}
            other = self.fresh("e")
            self.emit(f"for {element}, {other} in zip({name}, {name}[1:]):")
            return {element: t.element, other: t.element}

        def over_rows():
            name, t = self.tensor_named(lambda t: t.rank > 0)
            element = self.fresh("e")
            self.frozen.add(name)
            self.emit(f"for {element} in {name}:")
            return {element: Tensor(t.dtype, t.shape[1:])}

        def over_dict():
            name, t = self.pick((n, t) for n, t in self.vars.items() if isinstance(t, Dict))
            element, key = self.fresh("e"), self.fresh("k")
            self.frozen.add(name)
            if self.chance(0.5):
                self.emit(f"for {key}, {element} in {name}.items():")
            else:
                self.emit(f"for {element} in {name}.values():")
            return {element: t.element}

        names = self.choose([(2, constant), (4, over_size), (2, computed), (2, over_list), (1, over_rows), (1, over_dict)])
        self.loop_body(kept, names)

    def loop_body(self, kept, names, first=None):
        """The block of a loop; `names`: what it binds; `first`: writes the opening lines."""
        frozen, pinned = set(self.frozen), set(self.pinned)
        index_of = {i: d for i, d in self.index_of.items() if i not in names}
        loose = [n for n, t in kept.items() if isinstance(t, Tensor) and t.rank and n not in self.pinned
                 and n not in self.frozen]
        growing = self.rng.sample(loose, 1) if loose and self.chance(0.2) else []
        for n in growing:
            t = self.vars[n]
            axis = self.rng.randrange(t.rank) if self.chance(0.3) else 0
            self.vars[n] = Tensor(t.dtype, t.shape[:axis] + (self.fresh_dim(),) + t.shape[axis + 1:])
        for n, t in kept.items():
            if isinstance(t, List):
                self.vars[n] = List(t.element, None if n not in self.frozen else t.length)
        self.pinned |= {n for n in kept if n not in growing}
        self.loops += 1
        with self.block():
            self.vars.update(names)
            self.frozen |= set(names)
            if first:
                first()
            for n in growing:
                text, dims = self.resized(n, self.vars[n])
                self.emit(f"{n} = {text}")
                self.vars[n] = Tensor(self.vars[n].dtype, dims)
            self.statements(self.rng.choice([1, 2, 2, 3]), must_change=True)
        self.loops -= 1
        ends = dict(self.vars)
        self.frozen, self.pinned, self.index_of = frozen, pinned, index_of
        self.frozen = {n for n in frozen if n in kept and n not in names} & self.frozen
        self.vars = dict(kept)
        self.merge(kept, [ends, kept])

    def while_statement(self):
        r = self.rng
        counter = self.declare(Number("int"), "0")
        kept = dict(self.vars)
        limit = r.choice(["3", "4", self.size_text(), f"{self.int_expr(0)} % 5"])
        if self.chance(0.5):
            condition = f"{counter} < min({limit}, 5) and {self.bool_expr(1)}"
        else:
            condition = f"{counter} < {limit} and {counter} < 5"
        self.emit(f"while {condition}:")
        self.frozen.add(counter)
        self.loop_body(kept, {}, lambda: self.emit(f"{counter} += 1"))

    # --- containers

    def new_list(self):
        r = self.rng
        if self.chance(0.25):
            kind = r.choice(["int", "int", "float"])
            count = r.choice([2, 3])
            self.declare(List(Number(kind), count), f"[{', '.join(self.number(kind, 1) for _ in range(count))}]")
            return
        name, t = self.tensor_named(lambda t: t.dtype != BOOL)
        p = r.random()
        if p < 0.55:
            count = r.choice([1, 2, 3])
            items = [name] + [self.tensor(t.dtype, t.shape, 1) for _ in range(count - 1)]
            self.declare(List(t, count), f"[{', '.join(items)}]")
        elif p < 0.75 and t.rank:
            k = r.randrange(t.rank)
            rest = t.shape[:k] + t.shape[k + 1:]
            length = t.shape[k] if isinstance(t.shape[k], int) and t.shape[k] > 0 else None
            l = self.fresh("l")
            self.emit(f"{l} = list(torch.unbind({name}, {k}))" if self.chance(0.3) else f"{l} = {name}.unbind({k})")
            self.vars[l] = List(Tensor(t.dtype, rest), length)
        elif p < 0.9:
            l, lt = self.pick((n, t) for n, t in self.vars.items() if isinstance(t, List) and isinstance(t.element, Tensor))
            element = self.fresh("e")
            outer = self.vars
            self.vars = dict(outer) | {element: lt.element}
            text = self.tensor(lt.element.dtype, lt.element.shape, 1)
            self.vars = outer
            self.declare(lt, f"[{text} for {element} in {l}]")
        else:
            l, lt = self.pick((n, t) for n, t in self.vars.items() if isinstance(t, List))
            self.declare(List(lt.element, None), f"{l}[{r.choice(['1:', ':-1', '::-1', ':2', '::2'])}]")

    def grown_list(self):
        """A list made in a loop, and what becomes of it."""
        if self.shared.budget < 2:
            raise Stuck
        self.shared.budget -= 2
        r = self.rng
        name, t = self.tensor_named(lambda t: t.dtype != BOOL)
        l = self.fresh("l")
        start = self.chance(0.5)
        first = self.tensor(t.dtype, t.shape, 1) if start else ""
        self.emit(f"{l}: List[Tensor] = [{first}]")
        self.vars[l] = List(t, 1 if start else 0)
        self.for_statement()
        lt = self.vars[l]
        # The loop may not have touched it.
        self.vars[l] = List(lt.element, None if lt.length is None else lt.length)

    def change_list(self):
        r = self.rng
        name = self.assignable(lambda n, t: isinstance(t, List))
        t = self.vars[name]
        known = t.length is not None and name not in self.pinned
        value = lambda: (self.tensor(t.element.dtype, t.element.shape, 2) if isinstance(t.element, Tensor)
                         else self.number(t.element.kind, 2))
        grown = List(t.element, t.length + 1 if known else None)
        def change(text, after):
            self.emit(text)
            self.vars[name] = after
        def at():
            if not t.length:
                raise Stuck
            return self.rng.randrange(-t.length, t.length)
        guarded = f"if len({name}) > 1:"
        def popped():
            if known:
                if t.length < 2:
                    raise Stuck
                change(f"{name}.pop({r.choice(['', '0', '-1'])})", List(t.element, t.length - 1))
            else:
                self.emit(guarded)
                self.emit(f"    {name}.pop()")
        self.choose([
            (4, lambda: change(f"{name}.append({value()})", grown)),
            (1.2, lambda: change(f"{name}[{at()}] = {value()}", t)),
            (0.7, lambda: change(f"{name}.insert({r.choice([0, 1])}, {value()})", grown)),
            (0.7, popped), (0.4, lambda: change(f"{name}.reverse()", t)),
            (0.5, lambda: change(f"{name} += [{value()}]", grown)),
            (0.5, lambda: change(f"{name} = {name} + [{value()}]", grown)),
            (0.4, lambda: change(f"{name}.extend([{value()}])", grown))])

    def new_dict(self):
        name, t = self.tensor_named()
        keys = self.rng.choice([("a", "b"), ("a",), ("b", "a", "z")])
        items = [name] + [self.tensor(t.dtype, t.shape, 1) for _ in keys[1:]]
        self.declare(Dict(t, keys), "{" + ", ".join(f"'{k}': {v}" for k, v in zip(keys, items)) + "}")

    def change_dict(self):
        name = self.assignable(lambda n, t: isinstance(t, Dict))
        t = self.vars[name]
        self.emit(f"{name}['{self.pick(t.keys)}'] = {self.tensor(t.element.dtype, t.element.shape, 2)}")

    def new_tuple(self):
        found = [(n, t) for n, t in self.vars.items() if isinstance(t, (Tensor, Number))]
        items = [self.pick(found) for _ in range(self.rng.choice([2, 3]))]
        name = self.declare(Tuple(tuple(t for _, t in items)), f"({', '.join(n for n, _ in items)})")
        if self.chance(0.4):
            names = []
            for _, t in items:
                n = self.fresh("t" if isinstance(t, Tensor) else t.kind[0])
                self.vars[n] = t
                names.append(n)
            self.emit(f"{', '.join(names)} = {name}")

    def optional(self):
        """An Optional that a condition fills, and a use of it."""
        self.shared.budget -= 1
        name, t = self.tensor_named()
        o = self.fresh("o")
        self.emit(f"{o}: Optional[Tensor] = {'None' if self.chance(0.7) else name}")
        self.emit(f"if {self.bool_expr(1)}:")
        self.emit(f"    {o} = {self.tensor(t.dtype, t.shape, 1) if self.chance(0.8) else 'None'}")
        if self.chance(0.4):
            self.declare(t, f"{o} if {o} is not None else {self.tensor(t.dtype, t.shape, 1)}")
            return
        kept = dict(self.vars)
        self.emit(f"if {o} is not None:")
        with self.block():
            self.vars[o] = t
            self.frozen.add(o)
            self.statements(self.rng.choice([1, 2]), must_change=True)
            self.vars.pop(o)
        end = dict(self.vars)
        self.vars = dict(kept)
        self.frozen.discard(o)
        self.merge(kept, [end, kept])

    # --- calls

    def call(self):
        """Calls a helper function, a method or a submodule; written when first needed."""
        if self.level >= 2:
            raise Stuck
        shared, r = self.shared, self.rng
        found = [(n, t) for n, t in self.vars.items()
                 if isinstance(t, (Tensor, Number, Dict, Tuple)) or (isinstance(t, List) and n not in self.pinned)]
        arguments = [self.tensor_named()] + [self.pick(found) for _ in range(r.choice([0, 1, 1, 2]))]
        known = [h for h in shared.helpers if h[2] is None or h[2] is self.part]
        for callee, kinds, owner, results in r.sample(known, len(known)):
            picks = [[n for n, t in found + self.tensors() if t == k] for k in kinds]
            if all(picks) and self.chance(0.6):
                return self.emit_call(callee, [r.choice(p) for p in picks], results)
        how = r.choice(["function", "method", "module", "module"]) if self.part else "function"
        name = self.fresh({"function": "helper", "method": "method", "module": "part"}[how])
        part = self.part if how == "method" else None
        if how == "module":
            part = Part(name.capitalize())
        inner = Function(shared, part, self.level + 1)
        if part:
            inner.attributes(fresh=how == "module")
        inner.blocks = 0
        names = []
        kinds = [t for _, t in arguments]
        for t in kinds:
            n = inner.fresh("a")
            inner.vars[n] = t
            names.append(n)
        inner.index_of = {}
        budget = shared.budget
        shared.budget = min(budget, r.choice([2, 3, 4]))
        spent = shared.budget
        inner.statements(4, must_change=False)
        shared.budget = budget - (spent - max(shared.budget, 0)) - 1
        results = inner.returns or inner.result_types()
        inner.returns = results
        inner.emit(f"return {inner.result()}")
        gives = [annotation(t) for t in results]
        arrow = gives[0] if len(gives) == 1 else f"Tuple[{', '.join(gives)}]"
        typed = ", ".join(f"{n}: {annotation(t)}" for n, t in zip(names, kinds))
        title = {"function": f"def {name}({typed}) -> {arrow}:", "method": f"def {name}(self, {typed}) -> {arrow}:",
                 "module": f"def forward(self, {typed}) -> {arrow}:"}[how]
        lines = [title] + inner.lines
        if how == "function":
            shared.functions.append("\n".join(lines))
        else:
            part.methods.append("\n".join("    " + line for line in lines))
        if how == "module":
            shared.parts.append(part)
            self.part.children.append((name, part.name))
        callee = name if how == "function" else f"self.{name}"
        shared.helpers.append((callee, kinds, None if how == "function" else self.part, results))
        self.emit_call(callee, [n for n, _ in arguments], results)
        if self.chance(0.4):
            self.emit_call(callee, [n for n, _ in arguments], results)

    def emit_call(self, callee, arguments, results):
        names = [self.fresh("t" if isinstance(t, Tensor) else t.kind[0]) for t in results]
        self.emit(f"{', '.join(names)} = {callee}({', '.join(arguments)})")
        known = {d for _, t in self.tensors() for d in t.shape}
        for n, t in zip(names, results):
            if isinstance(t, Tensor):
                # result() may give any size: only fixed ones it was asked for are sure.
                t = Tensor(t.dtype, tuple(d if isinstance(d, str) and d in known and self.chance(0.5) else self.fresh_dim()
                                          for d in t.shape))
            self.vars[n] = t

    def attributes(self, fresh):
        """Gives the part state of its own, and this function the names of it."""
        r = self.rng
        if fresh:
            for _ in range(r.choice([1, 1, 2])):
                kind = r.random()
                if kind < 0.6:
                    _, t = Tensor(FLOAT, (3,)), Tensor(FLOAT, r.choice([(3,), (2, 3), (3, 3), (4,), (1,), ()]))
                    self.part.attributes[self.fresh("self.h")] = (t, literal(r, t))
                elif kind < 0.8:
                    self.part.attributes[self.fresh("self.c")] = (Number("int"), str(r.choice([0, 1, 2, 3])))
                elif kind < 0.9:
                    self.part.attributes[self.fresh("self.s")] = (Number("float"), r.choice(["0.5", "1.5"]))
                else:
                    self.part.attributes[self.fresh("self.g")] = (Number("bool"), r.choice(["True", "False"]))
        for name, (t, _) in self.part.attributes.items():
            self.vars[name] = t
            self.pinned.add(name)


def values(r, dtype, shape):
    """Nested lists of small numbers: eighths for floats, so that sums of them are exact."""
    if shape:
        return [values(r, dtype, shape[1:]) for _ in range(shape[0])]
    if dtype == BOOL:
        return r.random() < 0.5
    if dtype in INTEGRAL:
        return r.randrange(-3, 6)
    return r.randrange(-20, 21) / 8


def literal(r, t):
    return f"torch.tensor({values(r, t.dtype, t.shape)}, dtype=torch.{t.dtype})"
