// The names the user asked for, put on a finished graph.
#include "lib/pipeline/names.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "lib/support/text.h"

namespace oe {
namespace {

class Renamer {
 public:
  explicit Renamer(ir::Model& m) : m_(m) {
    ir::for_each_graph(m.graph, [&](ir::Graph& g) {
      for (ir::Value* v : g.inputs) values_.emplace(v->name, v);
      for (ir::Value* v : g.initializers) values_.emplace(v->name, v);
      for (auto& n : g.nodes) {
        nodes_.emplace(n->name, n.get());
        for (ir::Value* v : n->outputs)
          if (v) values_.emplace(v->name, v);
      }
    });
  }

  ir::Value* find(const std::string& name) const {
    const auto it = values_.find(name);
    return it == values_.end() ? nullptr : it->second;
  }

  void rename(ir::Value* v, const std::string& name) {
    if (!chosen_.insert(name).second)
      throw Failure(ExitCode::Usage, "OE0220", "two values would be named '" + name + "'",
                    "choose another name");
    if (v->name == name) return;
    if (ir::Value* other = find(name)) {
      move(other, m_.names.unique(name));
    } else if (const auto node = nodes_.find(name); node != nodes_.end()) {
      node->second->name = m_.names.unique(name);
    } else {
      m_.names.unique(name);  // takes it
    }
    move(v, name);
  }

  std::vector<std::string> known() const {
    std::vector<std::string> names;
    for (const auto& [name, v] : values_) names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  void move(ir::Value* v, const std::string& name) {
    values_.erase(v->name);
    v->name = name;
    values_[name] = v;
  }

  ir::Model& m_;
  std::unordered_map<std::string, ir::Value*> values_;
  std::unordered_map<std::string, ir::Node*> nodes_;
  std::set<std::string> chosen_;
};

void name_output_axes(ir::Value& output, const std::map<int64_t, std::string>& axes,
                      Diagnostics& d) {
  if (!output.type.shape) return;
  auto& dims = *output.type.shape;
  const auto rank = static_cast<int64_t>(dims.size());
  size_t automatic = 0;
  for (const auto& [axis, name] : axes) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank)
      throw Failure(ExitCode::Usage, "OE0212",
                    "output '" + output.name + "' has no axis " + std::to_string(axis),
                    "its shape is " + to_string(output.type.shape));
    Dim& dim = dims[static_cast<size_t>(at)];
    if (dim.is_number()) {
      d.report({"OE0221", Severity::Warning, "",
                "axis " + std::to_string(axis) + " of output '" + output.name + "' is always " +
                    std::to_string(dim.number) + ": it stays static",
                "", nullptr, 0});
      continue;
    }
    dim = Dim::named(name.empty() ? output.name + "_dynamic_axes_" + std::to_string(++automatic)
                                  : name);
  }
}

}  // namespace

std::string renamed(const std::string& name, const Options& o) {
  for (const auto& [from, to] : o.renames)
    if (from == name) return to;
  return name;
}

void apply_names(ir::Model& m, const Options& o, const std::vector<std::string>& state_names,
                 size_t leaf_count, Diagnostics& d) {
  Renamer r(m);
  for (size_t i = leaf_count; i < o.input.names.size(); ++i) {
    if (i - leaf_count >= state_names.size())
      throw Failure(ExitCode::Usage, "OE0222",
                    "--input-names: " + std::to_string(o.input.names.size()) + " names for " +
                        plural(leaf_count, "input") + " and " +
                        plural(state_names.size(), "parameter"));
    // A parameter that was folded away has no name any more.
    if (ir::Value* v = r.find(state_names[i - leaf_count])) r.rename(v, o.input.names[i]);
  }
  if (o.output_names.size() > m.graph.outputs.size())
    throw Failure(ExitCode::Usage, "OE0222",
                  "--output-names: " + std::to_string(o.output_names.size()) + " names for " +
                      plural(m.graph.outputs.size(), "output"));
  for (size_t i = 0; i < o.output_names.size(); ++i) {
    ir::Value* v = m.graph.outputs[i];
    const auto is_input = std::find(m.graph.inputs.begin(), m.graph.inputs.end(), v);
    if (is_input != m.graph.inputs.end() && v->name != o.output_names[i])
      throw Failure(ExitCode::Internal, "OE0223", "output " + std::to_string(i) + " is an input");
    r.rename(v, o.output_names[i]);
  }
  for (const auto& [from, to] : o.renames) {
    ir::Value* v = r.find(from);
    if (!v)
      throw Failure(ExitCode::Usage, "OE0224", "--rename: the model has no value '" + from + "'",
                    did_you_mean(from, r.known()));
    r.rename(v, to);
  }
  for (const auto& [key, axes] : o.input.dynamic_axes.entries)
    for (ir::Value* v : m.graph.outputs)
      if (v->name == key || v->name == renamed(key, o)) name_output_axes(*v, axes, d);
}

}  // namespace oe
