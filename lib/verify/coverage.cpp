// Turns a model into one that says which branches and trip counts its inputs drive.
//
//   y = If (c) <then, else>        y, seen_1 = If (c) <then' returns Or (seen, {.., 1, 0, ..}),
//                             =>                       else' returns Or (seen, {.., 0, 1, ..})>
//   z = Loop (n, "", x) <body>     z, seen_2, .., trips = Loop (n, true, x, seen_1, .., 0) <body'>
//                                  e = Equal (trips, 0)  m = And (e, {.., 1, ..})  Or (seen_2, m)
#include "lib/verify/coverage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace oe::verify {
namespace {

using namespace ir;

constexpr size_t kTrips = 4;  // 0, 1, 2, more

// The value of a constant scalar, if it is a whole number.
std::optional<int64_t> constant(const Value* v) {
  if (!v) return std::nullopt;
  TensorPtr t = v->data;
  if (!t && v->producer && v->producer->is("Constant"))
    if (const auto* value = v->producer->attributes.get<TensorPtr>("value")) t = *value;
  if (!t && v->producer && v->producer->is("Identity")) return constant(v->producer->input(0));
  if (!t || t->numel() != 1 || t->dtype() == DType::String) return std::nullopt;
  if (oe::is_float(t->dtype())) {
    const double d = t->as_double()[0];
    if (!(std::abs(d) < 1e9) || d != std::floor(d)) return std::nullopt;
    return static_cast<int64_t>(d);
  }
  return t->as_int64()[0];
}

std::shared_ptr<Graph> nested(const Node& n, std::string_view name) {
  const auto* g = n.attributes.get<std::shared_ptr<Graph>>(name);
  return g ? *g : nullptr;
}

class Instrumenter {
 public:
  Instrumenter(Model& m, Probe& p) : m_(m), p_(p) {}

  bool run() {
    if (!number(m_.graph)) return false;
    bool_scalar_ = Type::tensor(DType::Bool, std::vector<Dim>{});
    int_scalar_ = Type::tensor(DType::Int64, std::vector<Dim>{});
    float_scalar_ = Type::tensor(DType::Float, std::vector<Dim>{});
    vector_ = Type::tensor(DType::Bool, std::vector<Dim>{Dim::of(static_cast<int64_t>(p_.flags))});
    for (int64_t i = 0; i < 3; ++i)
      int_[i] = m_.new_initializer("coverage_int", Tensor::of<int64_t>(DType::Int64, {}, {i}));
    one_ = m_.new_initializer("coverage_one", Tensor::of<float>(DType::Float, {}, {1}));
    true_ = m_.new_initializer("coverage_true", Tensor::of<uint8_t>(DType::Bool, {}, {1}));
    limit_ = m_.new_value("coverage_limit", float_scalar_);
    p_.limit_input = limit_->name;
    const State start{mask(p_.flags), m_.new_initializer("coverage_steps",
                                                         Tensor::of<float>(DType::Float, {}, {0}))};
    const State end = walk(m_.graph, start);
    m_.graph.inputs.push_back(limit_);
    m_.graph.outputs = {end.seen, end.steps};
    return true;
  }

 private:
  // What is threaded through every graph: the flags, and how many iterations there were. Steps are
  // a float because Less takes no integers below opset 9.
  struct State {
    Value *seen, *steps;
  };

  Model& m_;
  Probe& p_;
  std::unordered_map<const Node*, size_t> counted_;  // -> index into the constructs
  std::unordered_set<const Node*> threaded_;         // counted, or holds one that is
  std::unordered_map<size_t, Value*> masks_;
  Type bool_scalar_, int_scalar_, float_scalar_, vector_;
  Value *int_[3] = {}, *one_ = nullptr, *true_ = nullptr, *limit_ = nullptr;

  // Whether the graph holds a construct to count. Numbers them in the graph's order.
  bool number(Graph& g) {
    bool any = false;
    for (auto& n : g.nodes) {
      note_landmark(*n);
      const bool conditional =
          n->is("If") && nested(*n, "then_branch") && nested(*n, "else_branch");
      const bool loop = n->is("Loop") && nested(*n, "body");
      if (!conditional && !loop) continue;
      bool inside = false;
      // Without a line it is one of TorchScript's own, which follows from the author's.
      if (n->origin && n->origin->line > 0 && n->origin->op == (loop ? "prim::Loop" : "prim::If")) {
        counted_[n.get()] = p_.constructs.size();
        Construct c{loop, n->origin, p_.flags,
                    loop ? possible_trips(*n) : std::vector<bool>(2, true)};
        p_.flags += c.possible.size();
        p_.constructs.push_back(std::move(c));
        inside = true;
      }
      if (conditional)
        for (const char* branch : {"then_branch", "else_branch"})
          inside |= number(*nested(*n, branch));
      else
        inside |= number(*nested(*n, "body"));
      if (inside) threaded_.insert(n.get());
      any |= inside;
    }
    return any;
  }

  void note_landmark(const Node& n) {
    constexpr size_t kMost = 8;
    static constexpr const char* kOps[] = {"Equal",   "Less",           "LessOrEqual",
                                           "Greater", "GreaterOrEqual", "Div"};
    if (std::none_of(std::begin(kOps), std::end(kOps), [&](const char* op) { return n.is(op); }))
      return;
    for (const Value* v : n.inputs)
      if (const std::optional<int64_t> c = constant(v))
        if (p_.landmarks.size() < kMost && *c > 2 && *c <= 4096 &&
            std::find(p_.landmarks.begin(), p_.landmarks.end(), *c) == p_.landmarks.end())
          p_.landmarks.push_back(*c);
  }

  // A condition `k < n and ...` on a state k that starts at a number and counts up by one: a loop
  // over a constant range that may end early, often with its first iterations already taken off.
  static std::optional<int64_t> counter_bound(const Node& n) {
    const Graph& body = *nested(n, "body");
    std::vector<const Value*> conditions = {body.outputs[0]};
    while (!conditions.empty()) {
      const Node* c = conditions.back()->producer;
      conditions.pop_back();
      if (c && c->is("And"))
        conditions.insert(conditions.end(), c->inputs.begin(), c->inputs.end());
      if (!c || !c->is("Less") || !constant(c->input(1))) continue;
      const Node* next = c->input(0)->producer;
      if (!next || !next->is("Add") || constant(next->input(1)) != 1) continue;
      const auto state = std::find(body.inputs.begin(), body.inputs.end(), next->input(0));
      const auto k = static_cast<size_t>(state - body.inputs.begin());
      if (k < 2 || k >= n.inputs.size() || body.outputs[k - 1] != c->input(0)) continue;
      if (const auto start = constant(n.inputs[k]))
        return std::max<int64_t>(0, *constant(c->input(1)) - *start);
    }
    return std::nullopt;
  }

  static std::vector<bool> possible_trips(const Node& n) {
    std::optional<int64_t> most = constant(n.input(0));
    const bool counts = !n.input(1);  // no condition: the trip count says it all
    if (counts && most) return std::vector<bool>(kTrips, false);
    if (const std::optional<int64_t> bound = counter_bound(n))
      most = std::min(*bound, most.value_or(*bound));
    std::vector<bool> possible(kTrips, true);
    const bool enters = !counts && constant(n.input(1)) == 1;
    if (enters && (!n.input(0) || constant(n.input(0)).value_or(0) > 0)) possible[0] = false;
    for (size_t k = 0; most && k < kTrips; ++k)
      if (static_cast<int64_t>(k) > *most) possible[k] = false;
    return possible;
  }

  // All false but one flag (none: `flag` is past the end).
  Value* mask(size_t flag) {
    Value*& v = masks_[flag];
    if (v) return v;
    std::vector<uint8_t> bits(p_.flags, 0);
    if (flag < bits.size()) bits[flag] = 1;
    v = m_.new_initializer(
        "coverage_mask",
        Tensor::of<uint8_t>(DType::Bool, {static_cast<int64_t>(bits.size())}, bits));
    return v;
  }

  Value* emit(std::vector<std::unique_ptr<Node>>& into, const char* op, std::vector<Value*> inputs,
              const Type& type) {
    Value* out = m_.new_value("coverage", type);
    into.push_back(make_node(m_, "coverage", op, std::move(inputs), {out}));
    return out;
  }

  State walk(Graph& g, State s) {
    std::vector<std::unique_ptr<Node>> fresh;
    fresh.reserve(g.nodes.size());
    for (auto& n : g.nodes) {
      Node& node = *n;
      const bool here = threaded_.contains(&node);
      if (!here) {
        fresh.push_back(std::move(n));
      } else if (node.is("If")) {
        branches(node, s);
        fresh.push_back(std::move(n));
        s = {output(node, node.outputs.size(), vector_),
             output(node, node.outputs.size(), float_scalar_)};
      } else {
        s = loop(std::move(n), s, fresh);
      }
    }
    g.nodes = std::move(fresh);
    return s;
  }

  Value* output(Node& n, size_t at, const Type& type) {
    Value* v = m_.new_value("coverage", type);
    v->producer = &n;
    n.outputs.insert(n.outputs.begin() + static_cast<std::ptrdiff_t>(at), v);
    return v;
  }

  void branches(Node& n, const State& before) {
    const auto counted = counted_.find(&n);
    size_t k = 0;
    for (const char* name : {"then_branch", "else_branch"}) {
      Graph& g = *nested(n, name);
      State s = walk(g, before);
      if (counted != counted_.end())
        s.seen =
            emit(g.nodes, "Or", {s.seen, mask(p_.constructs[counted->second].first + k)}, vector_);
      // A branch returns nothing but what it made.
      if (s.seen == before.seen) s.seen = emit(g.nodes, "Identity", {s.seen}, vector_);
      if (s.steps == before.steps) s.steps = emit(g.nodes, "Identity", {s.steps}, float_scalar_);
      g.outputs.push_back(s.seen);
      g.outputs.push_back(s.steps);
      ++k;
    }
  }

  State loop(std::unique_ptr<Node> n, const State& before,
             std::vector<std::unique_ptr<Node>>& into) {
    Node& node = *n;
    Graph& body = *nested(node, "body");
    node.inputs.resize(std::max<size_t>(node.inputs.size(), 2));
    const size_t states = node.inputs.size() - 2;

    const State in{m_.new_value("coverage", vector_), m_.new_value("coverage", float_scalar_)};
    Value* trips_in = m_.new_value("coverage", int_scalar_);
    const State out = walk(body, in);
    Value* trips_out = emit(body.nodes, "Add", {trips_in, int_[1]}, int_scalar_);
    Value* steps_out = emit(body.nodes, "Add", {out.steps, one_}, float_scalar_);
    Value* going = emit(body.nodes, "Less", {steps_out, limit_}, bool_scalar_);
    Value* cut = emit(body.nodes, "Not", {going}, bool_scalar_);
    Value* cut_flag = emit(body.nodes, "And", {cut, mask(0)}, vector_);
    Value* seen_out = emit(body.nodes, "Or", {out.seen, cut_flag}, vector_);
    // Without a condition input ONNX ignores the body's condition too.
    body.outputs[0] = node.inputs[1]
                          ? emit(body.nodes, "And", {body.outputs[0], going}, body.outputs[0]->type)
                          : going;
    if (!node.inputs[1]) node.inputs[1] = true_;

    body.inputs.insert(body.inputs.end(), {in.seen, in.steps, trips_in});
    node.inputs.insert(node.inputs.end(), {before.seen, before.steps, int_[0]});
    body.outputs.insert(body.outputs.begin() + static_cast<std::ptrdiff_t>(states + 1),
                        {seen_out, steps_out, trips_out});
    State after{output(node, states, vector_), output(node, states + 1, float_scalar_)};
    Value* trips = output(node, states + 2, int_scalar_);
    into.push_back(std::move(n));

    if (const auto counted = counted_.find(&node); counted != counted_.end()) {
      const Construct& c = p_.constructs[counted->second];
      Value* any = nullptr;
      for (size_t k = 0; k < kTrips; ++k) {
        Value* is = k + 1 < kTrips ? emit(into, "Equal", {trips, int_[k]}, bool_scalar_)
                                   : emit(into, "Not", {any}, bool_scalar_);
        any = any ? emit(into, "Or", {any, is}, bool_scalar_) : is;
        if (!c.possible[k]) continue;
        Value* flag = emit(into, "And", {is, mask(c.first + k)}, vector_);
        after.seen = emit(into, "Or", {after.seen, flag}, vector_);
      }
    }
    return after;
  }
};

bool has_word(const std::string& text, const std::string& word) {
  const auto letter = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !letter(text[at - 1])) && (end == text.size() || !letter(text[end])))
      return true;
  }
  return false;
}

// `and`, `or` and early exits are an If too, but the author wrote none.
std::string construct_name(const Construct& c) {
  if (c.loop) return "loop";
  return has_word(c.origin->text, "if") || has_word(c.origin->text, "elif") ? "if" : "condition";
}

std::vector<std::string> flag_names(const std::string& construct) {
  if (construct == "loop") return {"0", "1", "2", "more"};
  if (construct == "if") return {"then", "else"};
  return {"true", "false"};
}

std::string place(const Covered& c) {
  const size_t slash = c.file.rfind('/');
  return (slash == std::string::npos ? c.file : c.file.substr(slash + 1)) + ":" +
         std::to_string(c.line);
}

std::string listed(const std::vector<std::string>& words, const char* last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? last : ", ") + words[i];
  return text;
}

// "the else branch of 'if' at net.py:12", "0 or 2 trips of the loop at net.py:9"
std::string what(const Covered& c, const std::vector<std::string>& flags) {
  if (c.construct == "if")
    return (flags.size() == 2 ? "either" : "the " + flags[0]) + " branch of 'if' at " + place(c);
  if (c.construct != "loop")
    return (flags.size() == 2 ? "asking" : flags[0] + " for") + " the condition at " + place(c);
  if (flags.size() == kTrips) return "reaching the loop at " + place(c);
  return listed(flags, " or ") + (flags == std::vector<std::string>{"1"} ? " trip" : " trips") +
         " of the loop at " + place(c);
}

}  // namespace

bool instrument(ir::Model& m, Probe& probe) { return Instrumenter(m, probe).run(); }

std::vector<Covered> covered(const Probe& probe, const std::vector<bool>& seen,
                             const std::vector<bool>& refused) {
  std::vector<Covered> all;
  struct Flag {
    bool possible = false, missed = false, open = false;
  };
  std::vector<std::vector<Flag>> flags;
  std::map<std::tuple<std::string, std::string, int>, size_t> rows;
  for (const Construct& c : probe.constructs) {
    Covered row{construct_name(c), c.origin->file, c.origin->line, {}, {}, {}};
    const auto [it, fresh] = rows.try_emplace({row.construct, row.file, row.line}, all.size());
    const size_t at = it->second;
    if (fresh) {
      all.push_back(std::move(row));
      flags.emplace_back(c.possible.size());
    }
    for (size_t k = 0; k < c.possible.size(); ++k) {
      if (!c.possible[k]) continue;
      flags[at][k].possible = true;
      flags[at][k].missed = flags[at][k].missed || !seen[c.first + k];
      flags[at][k].open = flags[at][k].open || !(seen[c.first + k] || refused[c.first + k]);
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<std::string> names = flag_names(all[i].construct);
    for (size_t k = 0; k < names.size(); ++k) {
      const Flag& f = flags[i][k];
      if (!f.possible) continue;
      (f.missed ? all[i].unreached : all[i].reached).push_back(names[k]);
      if (f.missed && !f.open) all[i].refused.push_back(names[k]);
    }
  }
  std::erase_if(all, [](const Covered& c) { return c.reached.empty() && c.unreached.empty(); });
  return all;
}

std::string unreached_note(const std::vector<Covered>& all) {
  constexpr size_t kShown = 6;
  // Branches never taken, anything else that never happened, what LibTorch refuses.
  std::vector<std::string> taken, others, refused;
  size_t more = 0;
  for (const Covered& c : all) {
    std::vector<std::string> open;
    for (const std::string& u : c.unreached)
      if (std::find(c.refused.begin(), c.refused.end(), u) == c.refused.end()) open.push_back(u);
    const auto add = [&](std::vector<std::string>& words, const std::vector<std::string>& flags) {
      if (flags.empty()) return;
      if (taken.size() + others.size() + refused.size() == kShown)
        ++more;
      else
        words.push_back(what(c, flags));
    };
    add(c.construct == "if" ? taken : others, open);
    add(refused, c.refused);
  }
  std::string text;
  if (!taken.empty()) text += "without ever taking " + listed(taken, " or ");
  if (!taken.empty() && !others.empty()) text += ", and ";
  if (!others.empty()) text += "without " + listed(others, " or ");
  if (!refused.empty())
    text += (text.empty() ? "" : ", and ") + ("without " + listed(refused, " or ")) +
            ", whose inputs LibTorch refuses";
  if (more > 0) text += ", and " + std::to_string(more) + " more (-v lists them)";
  return text.empty() ? text : "verified " + text;
}

std::string coverage_line(const Covered& c) {
  std::string text = (c.construct == "if" ? "'if'" : c.construct) + " at " + place(c) + ": ";
  text += c.reached.empty() ? "nothing" : listed(c.reached, ", ");
  if (c.construct == "loop") text += " trips";
  if (!c.unreached.empty()) text += "; never " + listed(c.unreached, ", ");
  if (!c.refused.empty())
    text += " (LibTorch refuses the inputs for " + listed(c.refused, ", ") + ")";
  return text;
}

}  // namespace oe::verify
