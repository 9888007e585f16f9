// Names for the dims of the graph's outputs that nothing else names.
#include <map>
#include <set>

#include "lib/optimize/dim_sources.h"
#include "lib/optimize/optimize.h"

namespace oe::optimize {

using namespace ir;

void name_other_dims(Model& m) {
  const Rewriter r(m);
  DimSources sources(r);
  for (const auto& n : m.graph.nodes) sources.visit(*n);
  std::set<std::string> taken;
  std::map<std::pair<const Value*, int64_t>, std::string> names;
  const auto each = [&](auto f) {
    for (Value* v : m.graph.outputs)
      for (size_t i = 0; has_rank(v) && i < v->type.shape->size(); ++i) {
        const DimSource s = sources.of(v, static_cast<int64_t>(i));
        f(*v, i, (*v->type.shape)[i], names[{s.value, s.axis}]);
      }
  };
  for (const Value* v : m.graph.inputs)
    for (size_t i = 0; has_rank(v) && i < v->type.shape->size(); ++i)
      taken.insert((*v->type.shape)[i].symbol);
  each([&](const Value&, size_t, const Dim& d, std::string& name) {
    taken.insert(d.symbol);
    if (d.is_symbol()) name = d.symbol;
  });
  each([&](const Value& v, size_t i, Dim& d, std::string& name) {
    if (d != Dim::unknown()) return;
    if (name.empty()) {
      const std::string own = v.name + "_axis" + std::to_string(i);
      name = own;
      for (int k = 1; taken.contains(name); ++k) name = own + "_" + std::to_string(k);
      taken.insert(name);
    }
    d = Dim::named(name);
  });
}

}  // namespace oe::optimize
