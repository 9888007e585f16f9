// Where an ONNX file begins to compute something else than the module.
#include "lib/compare/locate_difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "lib/compare/replay.h"
#include "lib/onnx/onnx.h"
#include "lib/support/origin_text.h"
#include "lib/verify/compare.h"

namespace oe {
namespace {

// What does not change when elements change places.
struct Fingerprint {
  double sum = 0, absolute = 0, largest = 0;
  int64_t not_finite = 0;
};

Fingerprint fingerprint(const Tensor& t) {
  Fingerprint f;
  for (const double v : t.as_double()) {
    if (!std::isfinite(v)) {
      ++f.not_finite;
      continue;
    }
    f.sum += v;
    f.absolute += std::abs(v);
    f.largest = std::max(f.largest, std::abs(v));
  }
  return f;
}

// A result of a node: of the program or of the file.
struct Result {
  TensorPtr tensor;
  Fingerprint print;
  bool known = false;  // the other side has it too

  explicit Result(TensorPtr t) : tensor(std::move(t)), print(fingerprint(*tensor)) {}
};

enum class Class { Float, Integer, Bool, Other };
Class class_of(DType t) {
  if (is_float(t)) return Class::Float;
  if (t == DType::Bool) return Class::Bool;
  return t == DType::String || is_complex(t) ? Class::Other : Class::Integer;
}

// Equal up to rounding at the scale of the tensor, or the same elements in another shape.
bool same(const Result& a, const Result& b) {
  const Tensor &x = *a.tensor, &y = *b.tensor;
  if (x.numel() != y.numel() || class_of(x.dtype()) != class_of(y.dtype()) ||
      a.print.not_finite != b.print.not_finite)
    return false;
  const verify::Tolerance s = verify::default_tolerance(x.dtype()),
                          t = verify::default_tolerance(y.dtype());
  const double atol = std::max(s.atol, t.atol), rtol = std::max(s.rtol, t.rtol);
  const auto n = static_cast<double>(std::max<int64_t>(x.numel(), 1));
  const auto near = [&](double p, double q) {
    return std::abs(p - q) <= atol * n + rtol * std::max(a.print.absolute, b.print.absolute);
  };
  if (!near(a.print.sum, b.print.sum) || !near(a.print.absolute, b.print.absolute)) return false;
  return x.dims() != y.dims() || verify::largest_difference(x, &y) <=
                                     atol + rtol * std::max(a.print.largest, b.print.largest);
}

bool comparable(const Tensor& t) { return class_of(t.dtype()) != Class::Other; }

// The results of one side, by their values there.
template <class Value>
class Side {
 public:
  void add(const Value* v, const TensorPtr& t) {
    if (!t || !comparable(*t) || !places_.emplace(v, results_.size()).second) return;
    order_.push_back(v);
    results_.emplace_back(t);
  }
  const Result* of(const Value* v) const {
    const auto it = places_.find(v);
    return it == places_.end() ? nullptr : &results_[it->second];
  }
  std::vector<Result>& results() { return results_; }

  // The first result in order that is not known, among those that `root` comes from by way of such
  // alone; null: there is none. `sources`: what a value is made of.
  template <class Sources>
  const Value* first_unknown(const Value* root, const Sources& sources) const {
    std::set<const Value*> seen;
    std::vector<const Value*> open = {root};
    size_t first = results_.size();
    while (!open.empty()) {
      const Value* v = open.back();
      open.pop_back();
      if (!v || !seen.insert(v).second) continue;
      const auto it = places_.find(v);
      // What no result tells (a list, a value inside a loop) is passed through.
      if (it != places_.end()) {
        if (results_[it->second].known) continue;
        first = std::min(first, it->second);
      }
      sources(v, open);
    }
    return first == results_.size() ? nullptr : order_[first];
  }

 private:
  std::vector<Result> results_;
  std::vector<const Value*> order_;
  std::unordered_map<const Value*, size_t> places_;
};

void recognise(std::vector<Result>& a, std::vector<Result>& b) {
  std::map<int64_t, std::vector<Result*>> by_size;
  for (Result& r : b) by_size[r.tensor->numel()].push_back(&r);
  for (Result& r : a)
    for (Result* other : by_size[r.tensor->numel()]) {
      if ((r.known && other->known) || !same(r, *other)) continue;
      r.known = other->known = true;
    }
}

void values_in(const program::Arg& a, std::vector<const program::Value*>& to) {
  if (const program::Value* v = a.value()) to.push_back(v);
  if (const auto* list = std::get_if<program::Args>(&a.v))
    for (const program::Arg& item : *list) values_in(item, to);
}

void values_in(const program::Node& n, std::vector<const program::Value*>& to) {
  for (const program::Arg& a : n.args) values_in(a, to);
  for (const auto& b : n.blocks) {
    for (const auto& inner : b->nodes) values_in(*inner, to);
    for (const program::Arg& a : b->returns) values_in(a, to);
  }
}

void values_in(const ir::Node& n, std::vector<const ir::Value*>& to) {
  to.insert(to.end(), n.inputs.begin(), n.inputs.end());
  for (const auto& [name, a] : n.attributes)
    if (const auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a)) {
      for (const auto& inner : (*g)->nodes) values_in(*inner, to);
      to.insert(to.end(), (*g)->outputs.begin(), (*g)->outputs.end());
    }
}

// Runs the file with the results of all its nodes as outputs.
void run_file(ir::Model& file, const std::vector<TensorPtr>& inputs,
              const std::vector<std::string>& names, verify::Ort& ort, int threads,
              Side<ir::Value>& side) {
  onnx::infer(file);
  std::map<std::string, const ir::Value*> values;
  for (const ir::Value* v : file.graph.outputs) values[v->name] = v;
  for (const auto& n : file.graph.nodes)
    for (ir::Value* v : n->outputs)
      if (v && values.emplace(v->name, v).second) file.graph.outputs.push_back(v);
  const auto session = ort.open_bytes(onnx::write_bytes(file), threads, /*optimize=*/false);
  std::vector<HostValue> given;
  for (const std::string& name : session->input_names()) {
    const auto at = std::ranges::find(names, name);
    if (at == names.end()) throw std::runtime_error("an input nobody gave");
    given.emplace_back().tensor = inputs[static_cast<size_t>(at - names.begin())];
  }
  const std::vector<HostValue> results = session->run(given);
  std::map<std::string, TensorPtr> by_name;
  const std::vector<std::string> outputs = session->output_names();
  for (size_t i = 0; i < outputs.size(); ++i) by_name[outputs[i]] = results[i].tensor;
  for (const auto& n : file.graph.nodes)
    for (const ir::Value* v : n->outputs)
      if (v) side.add(v, by_name[v->name]);
}

std::string place(const program::Node& n) {
  const std::string where = place_of(n.origin);
  return where.empty() ? n.op : n.op + " at " + where;
}

}  // namespace

std::string locate_difference(const program::Program& p, const std::vector<TensorPtr>& inputs,
                              const std::vector<std::string>& names, const ir::Model& given,
                              verify::Ort& ort, int threads) {
  if (inputs.size() != p.inputs.size() || onnx::needs_external(given, {})) return {};
  ir::Model file = ir::copy(given);
  Side<program::Value> torch;
  std::unordered_map<const program::Value*, const program::Node*> makers;
  for (const capture::BlockRun& run : capture::replay(p, inputs, p.body))
    for (const capture::Replayed& r : run.steps) {
      torch.add(r.value, r.tensor);
      makers[r.value] = r.node;
    }
  const std::vector<ir::Value*> outputs = file.graph.outputs;
  Side<ir::Value> onnx;
  try {
    run_file(file, inputs, names, ort, threads, onnx);
  } catch (const std::exception&) {
    return {};  // the file with further outputs does not run
  }
  recognise(torch.results(), onnx.results());
  bool differs = false;
  for (size_t i = 0; i < p.outputs.size() && i < outputs.size(); ++i) {
    const program::Value* wanted = p.outputs[i].value.value();
    const Result* expected = wanted ? torch.of(wanted) : nullptr;
    const Result* actual = onnx.of(outputs[i]);
    if (!expected || !actual || same(*expected, *actual)) continue;
    differs = true;
    const program::Value* first = torch.first_unknown(
        wanted, [&](const program::Value* v, std::vector<const program::Value*>& to) {
          if (const auto it = makers.find(v); it != makers.end()) values_in(*it->second, to);
        });
    const ir::Value* made =
        onnx.first_unknown(outputs[i], [&](const ir::Value* v, std::vector<const ir::Value*>& to) {
          if (v->producer) values_in(*v->producer, to);
        });
    if (!first) continue;
    return place(*makers.at(first)) +
           (made ? "; in the file node '" + made->producer->name + "' (" + made->producer->op + ")"
                 : "");
  }
  return differs ? ""
                 : "none where ONNX Runtime runs the graph as it is written: its own "
                   "optimisations of the graph make it";
}

}  // namespace oe
