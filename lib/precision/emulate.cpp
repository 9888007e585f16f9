// 16-bit arithmetic by float32 kernels that are rounded one by one: for verification.
//
//   y = Add (a, b)      =>   a_float = Cast <to = 1> (a)
//   # all float16            b_float = Cast <to = 1> (b)
//                            y_float = Add (a_float, b_float)
//                            y = Cast <to = 10> (y_float)
#include <algorithm>
#include <utility>

#include "lib/precision/precision.h"
#include "lib/precision/rules.h"

namespace oe::precision {
namespace {

using Nodes = std::vector<std::unique_ptr<ir::Node>>;

bool has_16_bits(const ir::Value* v) {
  return v && v->type.kind == ir::Type::Kind::Tensor &&
         (v->type.dtype == DType::Float16 || v->type.dtype == DType::BFloat16);
}

// What moves elements, or passes them on, rounds nothing; an attribute fixes the type of some.
bool computes(const ir::Node& n) {
  if (std::ranges::none_of(n.inputs, has_16_bits) || n.attributes.find("dtype")) return false;
  const Half half = rule_of(n).half;
  return n.domain.empty() && half != Half::Mover && half != Half::Carrier && n.op != "If" &&
         n.op != "Loop" && n.op != "Scan" && n.op.find("Sequence") == std::string::npos;
}

class Emulator {
 public:
  explicit Emulator(ir::Model& m) : model_(m) {}

  void graph(ir::Graph& g) {
    Nodes out;
    for (auto& n : g.nodes) {
      for (auto& [name, a] : n->attributes)
        if (auto* inner = std::get_if<std::shared_ptr<ir::Graph>>(&a)) graph(**inner);
      if (computes(*n))
        node(std::move(n), out);
      else
        out.push_back(std::move(n));
    }
    g.nodes = std::move(out);
  }

 private:
  std::unique_ptr<ir::Node> cast(ir::Value* from, ir::Value* to) {
    return ir::make_node(model_, "Cast", "Cast", {from}, {to},
                         {{"to", static_cast<int64_t>(to->type.dtype)}});
  }
  ir::Value* single(const ir::Value& v) {
    return model_.new_value(v.name + "_float", ir::Type::tensor(DType::Float, v.type.shape));
  }

  void node(std::unique_ptr<ir::Node> n, Nodes& out) {
    for (ir::Value*& v : n->inputs)
      if (has_16_bits(v)) {
        ir::Value* f = single(*v);
        out.push_back(cast(v, f));
        v = f;
      }
    Nodes rounded;
    for (ir::Value*& v : n->outputs)
      if (has_16_bits(v)) {
        ir::Value* f = single(*v);
        rounded.push_back(cast(f, v));
        f->producer = n.get();
        v = f;
      }
    out.push_back(std::move(n));
    for (auto& r : rounded) out.push_back(std::move(r));
  }

  ir::Model& model_;
};

}  // namespace

void emulate(ir::Model& m) { Emulator(m).graph(m.graph); }

}  // namespace oe::precision
