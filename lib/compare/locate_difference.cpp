#include "lib/compare/locate_difference.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "lib/compare/deciding.h"
#include "lib/compare/first_difference.h"
#include "lib/compare/replay.h"
#include "lib/onnx/onnx.h"
#include "lib/verify/compare.h"

namespace oe {
namespace {

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

// Why the first result that differs is right all the same; empty: that is not known.
std::string tie_at(const program::Node& n, const program::Value* v,
                   const Side<program::Value>& torch, const std::vector<Result>& of_file) {
  const auto argument = [&](size_t i) -> const Tensor* {
    const program::Value* given = n.args.size() > i ? n.args[i].value() : nullptr;
    const Result* r = given ? torch.of(given) : nullptr;
    return r ? r->tensor.get() : given ? given->constant.get() : nullptr;
  };
  if (base_of(n) == "torchvision::nms") {
    const Tensor* scores = argument(1);
    return scores && has_equal_elements(*scores) ? place(n) + kAmongEquals : std::string();
  }
  const Tensor* first = argument(0);
  if (!first) return {};
  for (const Result& r : of_file)
    if (!r.known)
      if (const auto why = both_right(n, *first, *r.tensor, *torch.of(v)->tensor); !why.empty())
        return place(n).append(why);
  return {};
}

}  // namespace

// Runs the file with the results of all its nodes as outputs. False: it does not run so.
bool FileDifference::run_file(const std::vector<TensorPtr>& inputs) {
  try {
    if (!session_) {
      file_ = ir::copy(given_);
      onnx::infer(*file_);
      std::set<std::string> names;
      for (const ir::Value* v : file_->graph.outputs) names.insert(v->name);
      for (const auto& n : file_->graph.nodes)
        for (ir::Value* v : n->outputs)
          if (v && names.insert(v->name).second) file_->graph.outputs.push_back(v);
      session_ = ort_.open_bytes(onnx::write_bytes(*file_), threads_, /*optimize=*/false);
    }
    std::vector<HostValue> given;
    for (const std::string& name : session_->input_names()) {
      const auto at = std::ranges::find(names_, name);
      if (at == names_.end()) return false;  // an input nobody gave
      given.emplace_back().tensor = inputs[static_cast<size_t>(at - names_.begin())];
    }
    const std::vector<HostValue> results = session_->run(given);
    std::map<std::string, TensorPtr> by_name;
    const std::vector<std::string> outputs = session_->output_names();
    for (size_t i = 0; i < outputs.size(); ++i) by_name[outputs[i]] = results[i].tensor;
    results_.clear();
    for (const auto& n : file_->graph.nodes)
      for (const ir::Value* v : n->outputs)
        if (v) results_[v] = by_name[v->name];
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

FileDifference::Found FileDifference::of(const std::vector<TensorPtr>& inputs) {
  if (inputs.size() != p_.inputs.size() || onnx::needs_external(given_, {})) return {};
  if (inputs == inputs_ && !inputs.empty()) return found_;
  inputs_ = inputs;
  found_ = {};
  Side<program::Value> torch;
  std::unordered_map<const program::Value*, const program::Node*> makers;
  for (size_t i = 0; i < inputs.size(); ++i)
    torch.add(p_.inputs[i].value.value(), inputs[i], /*known=*/true);
  for (const capture::BlockRun& run : capture::replay(p_, inputs, p_.body))
    for (const capture::Replayed& r : run.steps) {
      torch.add(r.value, r.tensor);
      makers[r.value] = r.node;
    }
  if (!run_file(inputs)) return {};
  Side<ir::Value> onnx;
  for (const auto& n : file_->graph.nodes)
    for (const ir::Value* v : n->outputs)
      if (v && !n->inputs.empty()) onnx.add(v, results_[v]);  // constants compute nothing
  match_by_value(torch, onnx);
  bool differs = false, all_tied = p_.outputs.size() == given_.graph.outputs.size();
  for (size_t i = 0; i < p_.outputs.size() && i < given_.graph.outputs.size(); ++i) {
    const program::Value* wanted = p_.outputs[i].value.value();
    const ir::Value* output = file_->graph.outputs[i];
    const Result* expected = wanted ? torch.of(wanted) : nullptr;
    const Result* actual = onnx.of(output);
    if (!expected || !actual || same_by_value(*expected, *actual)) {
      all_tied =
          all_tied && expected && actual && verify::compare(*actual->tensor, *expected->tensor).ok;
      continue;
    }
    differs = true;
    const program::Value* first = torch.first_unknown(
        wanted, [&](const program::Value* v, std::vector<const program::Value*>& to) {
          if (const auto it = makers.find(v); it != makers.end()) values_in(*it->second, to);
        });
    const ir::Value* made =
        onnx.first_unknown(output, [&](const ir::Value* v, std::vector<const ir::Value*>& to) {
          if (v->producer) values_in(*v->producer, to);
        });
    const std::string tie =
        first ? tie_at(*makers.at(first), first, torch, onnx.results()) : std::string();
    all_tied = all_tied && !tie.empty();
    if (!first || (!tie.empty() && !found_.text.empty())) continue;
    found_.tie = tie;
    found_.text = place(*makers.at(first)) + (made ? "; in the file node '" + made->producer->name +
                                                         "' (" + made->producer->op + ")"
                                                   : "");
    if (tie.empty()) break;
  }
  if (!all_tied) found_.tie.clear();
  if (!differs)
    found_.text =
        "none when ONNX Runtime runs the graph without optimizations: its optimizations cause the "
        "difference";
  return found_;
}

}  // namespace oe
