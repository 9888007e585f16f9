// A kept Loop backwards: it runs again and keeps what each iteration starts with. A second loop
// then differentiates the iterations, last one first.
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>

#include "lib/capture/gradients/gradient_code.h"
#include "lib/capture/gradients/gradient_walk.h"

namespace oe::capture {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  return all;
}

std::vector<std::string> numbered(const char* name, size_t count) {
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) all.push_back(name + std::to_string(i));
  return all;
}

// The TorchScript of both loops. s: what the loop carries, o: what the body takes from outside, g:
// gradients of what is carried, a: of what is from outside, k: what the iterations start with.
struct LoopText {
  const KeptLoop& loop;
  const std::vector<AbstractValue>& outside;
  std::vector<size_t> carried = {};  // pieces with a gradient
  std::vector<size_t> ends = {};     // those of them whose end in an iteration has one
  std::vector<size_t> targets = {};  // of `outside`: those with a gradient

  static std::string at(const char* name, size_t i) { return name + std::to_string(i); }

  std::string parameters() const {
    std::vector<std::string> all = {"trip: int", "go: bool"};
    const auto add = [&](const char* name, size_t i, const AbstractValue& s) {
      all.push_back(at(name, i) + ": " + type_in_code(s)->annotation_str());
    };
    for (size_t i = 0; i < loop.pieces.size(); ++i) add("s", i, loop.pieces[i].before);
    for (size_t i = 0; i < outside.size(); ++i) add("o", i, outside[i]);
    for (const size_t i : carried) all.push_back(at("g", i) + ": Tensor");
    return joined(all);
  }

  std::string body(const std::string& index, const std::string& next, const char* from,
                   const char* to, const char* taken) const {
    std::vector<std::string> given = {index}, made = {next};
    for (const std::string& s : numbered(from, loop.pieces.size())) given.push_back(s);
    for (const std::string& s : numbered(taken, outside.size())) given.push_back(s);
    for (const std::string& s : numbered(to, loop.pieces.size())) made.push_back(s);
    return joined(made) + " = _body(" + joined(given) + ")\n";
  }

  // The loop again. A `for` where nothing but the number of iterations ends it.
  std::string forward() const {
    std::string text;
    for (size_t i = 0; i < loop.pieces.size(); ++i)
      text += "    " + at("k", i) + ": List[" +
              type_in_code(loop.pieces[i].before)->annotation_str() + "] = []\n";
    const auto always = [](const AbstractValue& s) {
      return s.taint == Taint::Constant && s.c.at(0).toBool();
    };
    const bool counted = always(loop.cond) && always(loop.next);
    const bool bounded = loop.trip.taint != Taint::Constant ||
                         loop.trip.c.at(0).toInt() != std::numeric_limits<int64_t>::max();
    text += counted
                ? "    n = trip\n    for i in range(trip):\n"
                : std::string("    n = 0\n    while go") + (bounded ? " and n < trip" : "") + ":\n";
    for (size_t i = 0; i < loop.pieces.size(); ++i)
      text += "        " + at("k", i) + ".append(" + at("s", i) + ")\n";
    text += "        " + body(counted ? "i" : "n", "go", "s", "s", "o");
    if (!counted) text += "        n = n + 1\n";
    return text;
  }

  std::string backward() const {
    const std::string in = "        ", none = " is None:\n";
    std::string text;
    for (const size_t i : targets)
      text += "    " + at("a", i) + " = torch.zeros_like(" + at("o", i) + ")\n";
    text += "    for j in range(n):\n" + in + "i = n - 1 - j\n";
    std::vector<std::string> by, of, given;
    const auto start = [&](const std::string& x, const std::string& from, bool variable) {
      text += in + x + " = " + from + (variable ? ".detach().requires_grad_(True)\n" : "\n");
      if (variable) by.push_back(x);
    };
    for (size_t i = 0; i < loop.pieces.size(); ++i)
      start(at("x", i), at("k", i) + "[i]", std::ranges::count(carried, i) > 0);
    for (size_t i = 0; i < outside.size(); ++i)
      start(at("p", i), at("o", i), std::ranges::count(targets, i) > 0);
    text += in + body("i", "c", "x", "r", "p");
    for (const size_t i : ends) {
      of.push_back(at("r", i));
      given.push_back(at("g", i));
    }
    if (ends.empty()) {
      for (const size_t i : carried)
        text += in + at("g", i) + " = torch.zeros_like(" + at("x", i) + ")\n";
      return text;
    }
    text += in + "y: List[Optional[Tensor]] = [" + joined(given) + "]\n" + in +
            "d = torch.autograd.grad([" + joined(of) + "], [" + joined(by) +
            "], y, allow_unused=True)\n";
    size_t d = 0;
    for (const size_t i : carried) {
      const std::string mine = at("d", d), g = at("g", i);
      text += in + mine + " = d[" + std::to_string(d) + "]\n" + in + "if " + mine + none + in +
              "    " + g + " = torch.zeros_like(" + at("x", i) + ")\n" + in + "else:\n" + in +
              "    " + g + " = " + mine + "\n";
      ++d;
    }
    for (const size_t i : targets) {
      const std::string mine = at("d", d), a = at("a", i);
      text += in + mine + " = d[" + std::to_string(d) + "]\n" + in + "if " + mine +
              " is not None:\n" + in + "    " + a + " = " + a + " + " + mine + "\n";
      ++d;
    }
    return text;
  }

  std::string all() const {
    std::vector<std::string> results;
    for (const size_t i : carried) results.push_back(at("g", i));
    for (const size_t i : targets) results.push_back(at("a", i));
    return "def loop(" + parameters() + "):\n" + forward() + backward() + "    return [" +
           joined(results) + "]\n";
  }
};

}  // namespace

void Gradient::Walk::reach_loop(const Entry& e) {
  const KeptLoop& loop = *e.loop;
  for (const LoopPiece& p : loop.pieces) {
    refuse_unseen(p.before);
    if (depends(p.before)) reached.insert(id(p.param));
  }
  for (size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const Entry& inner : loop.log) reach(inner);
    for (const LoopPiece& p : loop.pieces)
      if (depends(p.end) && p.param.is(K::Tensor)) reached.insert(id(p.param));
  }
  for (const LoopPiece& p : loop.pieces) {
    refuse_unseen(p.end);
    if (depends(p.before) || depends(p.end)) reached.insert(id(p.after));
  }
}

void Gradient::Walk::differentiate_loop(const Entry& e) {
  const KeptLoop& loop = *e.loop;
  GradientCode code(
      ex, [&](const Entry& call) { return g.flows(call); }, loop.first_value, loop.last_value);
  code.parameter(loop.index);
  std::vector<AbstractValue> results = {loop.next};
  for (const LoopPiece& p : loop.pieces) {
    code.parameter(p.param);
    results.push_back(p.end);
  }
  code.write(loop.log, results);
  auto graph = code.finish(results);
  LoopText text{loop, code.outside()};
  std::vector<AbstractValue> args = {loop.trip, loop.cond};
  for (const LoopPiece& p : loop.pieces) args.push_back(p.before);
  args.insert(args.end(), code.outside().begin(), code.outside().end());
  for (size_t i = 0; i < loop.pieces.size(); ++i) {
    const LoopPiece& p = loop.pieces[i];
    if (!depends(p.param)) continue;
    text.carried.push_back(i);
    if (depends(p.end)) text.ends.push_back(i);
    const auto given = grads.find(id(p.after));
    const AbstractValue none = AbstractValue::none();
    args.push_back(given != grads.end()
                       ? given->second
                       : ex.apply("aten::zeros_like", {p.after, none, none, none, none, none}));
  }
  for (size_t i = 0; i < code.outside().size(); ++i)
    if (depends(code.outside()[i])) text.targets.push_back(i);

  torch::jit::Function& both = function_of(graph, text.all());
  const size_t begin = g.tape_.size();
  AbstractValue made;
  {
    const c10::AutoGradMode on(true);
    made = ex.interpreter.run_function(both, std::move(args), ex.site.path(), ex.site.call());
  }
  g.tape_.resize(begin);
  const std::vector<AbstractValue> gradients = made.list()->items;
  // A derivative of these is not known: it is refused by the name of the loop.
  for (const AbstractValue& s : gradients)
    if (c10::GradMode::is_enabled()) g.set_kind(s, Kind::Unseen);
  size_t i = 0;
  for (const size_t piece : text.carried) {
    if (depends(loop.pieces[piece].before)) add(loop.pieces[piece].before, gradients[i]);
    ++i;
  }
  for (const size_t target : text.targets) add(code.outside()[target], gradients[i++]);
}

}  // namespace oe::capture
