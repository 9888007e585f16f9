// What the conditions compare on which an exception was raised.
#include "lib/infer/comparisons.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include <set>

namespace oe::infer {
namespace {

namespace prim = c10::prim;
using torch::jit::Node;
using torch::jit::Value;

class Walk {
 public:
  Walk(const Stop& stop, std::vector<Comparison>& out) : stop_(stop), out_(out) {}

  void value(const Value* v, int depth = 0) {
    const Node* n = v->node();
    if (depth > 12 || !seen_.insert(v).second || n->kind() == prim::Param) return;
    const std::string name = n->kind().toQualString();
    static const std::set<std::string> comparing = {
        "aten::eq", "aten::ne",     "aten::lt",        "aten::le",          "aten::gt",
        "aten::ge", "aten::__is__", "aten::__isnot__", "aten::__contains__"};
    if (comparing.contains(name) && n->inputs().size() == 2) {
      compare(n, name);
    } else if (n->kind() == prim::If) {
      value(n->input(), depth + 1);
      for (size_t i = 0; i < n->outputs().size(); ++i)
        if (n->output(i) == v)
          for (const torch::jit::Block* b : n->blocks()) value(b->outputs()[i], depth + 1);
      return;
    }
    for (const Value* in : n->inputs())
      if (in->type()->kind() == c10::TypeKind::BoolType) value(in, depth + 1);
  }

 private:
  void compare(const Node* n, const std::string& name) {
    const auto a = stop_.values.find(n->input(0)), b = stop_.values.find(n->input(1));
    const auto times = stop_.counts.find(n);
    if (a == stop_.values.end() || b == stop_.values.end() || times == stop_.counts.end()) return;
    const auto is_type = [](const Value* v) {
      return v->node()->kind() == c10::Symbol::fromQualString("prim::dtype");
    };
    out_.push_back({{n, times->second},
                    a->second,
                    b->second,
                    is_type(n->input(0)) || is_type(n->input(1)),
                    name == "aten::__contains__"});
  }

  const Stop& stop_;
  std::vector<Comparison>& out_;
  std::set<const Value*> seen_;
};

}  // namespace

std::vector<Comparison> comparisons_before(const Stop& stop) {
  std::vector<Comparison> out;
  Walk walk(stop, out);
  for (const torch::jit::Block* b = stop.site.node->owningBlock(); b && b->owningNode();
       b = b->owningNode()->owningBlock())
    if (b->owningNode()->kind() == prim::If) walk.value(b->owningNode()->input());
  return out;
}

std::vector<std::string> strings_in(const c10::IValue& v) {
  std::vector<std::string> out;
  if (v.isString()) out.push_back(v.toStringRef());
  if (v.isList())
    for (const c10::IValue& e : v.toListRef())
      if (e.isString()) out.push_back(e.toStringRef());
  if (v.isGenericDict())
    for (const auto& e : v.toGenericDict())
      if (e.key().isString()) out.push_back(e.key().toStringRef());
  return out;
}

}  // namespace oe::infer
