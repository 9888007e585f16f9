#include "lib/pipeline/graph_outline.h"

#include <memory>
#include <unordered_map>

#include "lib/ir/ir.h"

namespace oe {
namespace {

constexpr size_t kMostNodes = 50000;

std::string name_of(const ir::Value* v) { return v ? v->name : std::string(); }

class Outliner {
 public:
  GraphOutline run(const ir::Model& m) {
    for (const ir::Value* v : m.graph.inputs) out_.inputs.push_back(v->name);
    for (const ir::Value* v : m.graph.outputs) out_.outputs.push_back(v->name);
    for (const ir::Value* v : m.graph.initializers)
      out_.weights.push_back({v->name, ir::type_text(v->type), v->data->nbytes()});
    add(m.graph, -1);
    return std::move(out_);
  }

 private:
  GraphOutline out_;
  std::unordered_map<const Origin*, int64_t> known_;

  void add(const ir::Graph& g, int64_t holder) {
    for (const auto& n : g.nodes) {
      if (out_.nodes.size() == kMostNodes) {
        ++out_.left_out;
        continue;
      }
      const auto index = static_cast<int64_t>(out_.nodes.size());
      NodeOutline o{n->name, (n->domain.empty() ? "" : n->domain + "::") + n->op,
                    {},      {},
                    {},      origin(n->origin),
                    holder};
      for (const ir::Value* v : n->inputs) o.inputs.push_back(name_of(v));
      for (const ir::Value* v : n->outputs) {
        o.outputs.push_back(name_of(v));
        o.types.push_back(v ? ir::type_text(v->type) : std::string());
      }
      out_.nodes.push_back(std::move(o));
      for (const auto& [key, a] : n->attributes)
        if (const auto* body = std::get_if<std::shared_ptr<ir::Graph>>(&a)) add(**body, index);
    }
  }

  int64_t origin(const OriginPtr& o) {
    if (!o) return -1;
    const auto [at, fresh] = known_.emplace(o.get(), static_cast<int64_t>(out_.origins.size()));
    if (fresh) {
      out_.origins.push_back(*o);
      out_.origins.back().call = nullptr;
    }
    return at->second;
  }
};

}  // namespace

GraphOutline outline_of(const ir::Model& m) { return Outliner().run(m); }

}  // namespace oe
