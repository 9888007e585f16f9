// What the outputs of a model are computed from.
#include "lib/verify/lineage.h"

#include <algorithm>
#include <unordered_map>

#include "lib/ir/traits.h"

namespace oe::verify {
namespace {

// From the least exact type of float to the most exact one.
constexpr DType kFloats[] = {DType::BFloat16, DType::Float16, DType::Float, DType::Double};

DType coarser(DType a, DType b) {
  const DType* x = std::ranges::find(kFloats, a);
  const DType* y = std::ranges::find(kFloats, b);
  const DType* least = std::min(x, y);
  return least == std::end(kFloats) ? DType::Undefined : *least;
}

double both_steps(const Lineage& a, const Lineage& b) {
  if (!a.quantized) return b.step;
  if (!b.quantized) return a.step;
  return a.step > 0 && b.step > 0 ? std::max(a.step, b.step) : 0;
}

Lineage both(const Lineage& a, const Lineage& b) {
  return {a.drawn || b.drawn,     coarser(a.coarsest, b.coarsest),
          a.decided || b.decided, a.quantized || b.quantized,
          both_steps(a, b),       a.depends || b.depends};
}

// The steps in which what a node gives was rounded; `in`: what it gives it from.
Lineage rounded(const ir::Node& n, Lineage in) {
  if (n.is("QuantizeLinear")) {
    in.quantized = true;
    in.step = 1;
  } else if (n.is("DequantizeLinear")) {
    const ir::Value* scale = n.input(1);
    const bool known = scale && scale->data && scale->data->numel() == 1;
    in.step = in.quantized && known ? scale->data->as_double()[0] : 0;
  } else if (!ir::traits_of(n).has(ir::kMoves)) {
    in.step = 0;
  }
  return in;
}

bool draws(const ir::Node& n) {
  if (!n.is("Dropout")) return ir::traits_of(n).has(ir::kDraws);
  const ir::Value* training = n.input(2);
  return training && !(training->data && training->data->as_double() == std::vector<double>{0});
}

class Follow {
 public:
  void inputs(const ir::Graph& g) {
    for (const ir::Value* v : g.inputs) of_[v].depends = true;
  }
  void graph(const ir::Graph& g) {
    for (const auto& n : g.nodes) node(*n);
  }
  Lineage of(const ir::Value* v) const {
    const auto it = v ? of_.find(v) : of_.end();
    return it == of_.end() ? Lineage{} : it->second;
  }

 private:
  void add(const ir::Value* v, Lineage l) {
    if (!v) return;
    Lineage& now = of_[v];
    const Lineage joined =
        both(now, both(l, {.coarsest = coarser(v->type.dtype, DType::Undefined)}));
    changed_ = changed_ || joined != now;
    now = joined;
  }
  static const ir::Graph* body(const ir::Node& n, const char* name) {
    const auto* g = n.attributes.get<std::shared_ptr<ir::Graph>>(name);
    return g ? g->get() : nullptr;
  }

  void node(const ir::Node& n) {
    if (n.is("If")) return branches(n);
    if (n.is("Loop")) return loop(n);
    Lineage in{.drawn = draws(n)};
    for (const ir::Value* v : n.inputs) in = both(in, of(v));
    for (const auto& [name, a] : n.attributes)
      if (const auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a))
        in = both(in, other(**g, in));
    in = rounded(n, in);
    const bool floats =
        is_float(in.coarsest) || std::ranges::any_of(n.inputs, [&](const ir::Value* v) {
          return v && is_float(v->type.dtype);
        });
    const bool rounds = ir::traits_of(n).has(ir::kRounds);
    for (const ir::Value* v : n.outputs) {
      if (!v) continue;
      const bool discrete = is_integer(v->type.dtype) || v->type.dtype == DType::Bool;
      const bool decides = floats && !n.is("Shape") && !n.is("Size") && (rounds || discrete);
      add(v, both(in, {.decided = decides}));
    }
  }
  // The body of an operator that is none of the two: everything depends on everything.
  Lineage other(const ir::Graph& g, Lineage in) {
    until_stable([&] {
      for (const ir::Value* v : g.inputs) add(v, in);
      graph(g);
      for (const ir::Value* v : g.outputs) in = both(in, of(v));
    });
    return in;
  }
  void branches(const ir::Node& n) {
    for (const char* name : {"then_branch", "else_branch"}) {
      const ir::Graph& g = *body(n, name);
      graph(g);
      for (size_t k = 0; k < n.outputs.size(); ++k)
        add(n.outputs[k], both(of(n.input(0)), of(g.outputs[k])));
    }
  }
  // Inputs: trip count, condition, state; of the body: iteration, condition, state. Outputs of the
  // body: condition, state, what is collected.
  void loop(const ir::Node& n) {
    const ir::Graph& g = *body(n, "body");
    until_stable([&] {
      const Lineage always = both(both(of(n.input(0)), of(n.input(1))), of(g.outputs[0]));
      for (size_t k = 2; k < g.inputs.size(); ++k)
        add(g.inputs[k], both(always, both(of(n.input(k)), of(g.outputs[k - 1]))));
      graph(g);
    });
    const Lineage always = both(both(of(n.input(0)), of(n.input(1))), of(g.outputs[0]));
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      const Lineage first = k + 2 < g.inputs.size() ? of(n.input(k + 2)) : Lineage{};
      add(n.outputs[k], both(always, both(first, of(g.outputs[k + 1]))));
    }
  }
  template <class F>
  void until_stable(const F& f) {
    const bool before = changed_;
    bool any = false;
    do {
      changed_ = false;
      f();
      any = any || changed_;
    } while (changed_);
    changed_ = before || any;
  }

  std::unordered_map<const ir::Value*, Lineage> of_;
  bool changed_ = false;
};

}  // namespace

std::vector<Lineage> lineage(const ir::Model& m) {
  Follow follow;
  follow.inputs(m.graph);
  follow.graph(m.graph);
  std::vector<Lineage> out;
  for (const ir::Value* v : m.graph.outputs) out.push_back(follow.of(v));
  return out;
}

}  // namespace oe::verify
