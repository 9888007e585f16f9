// A program of its own nodes and values.
#include "lib/program/program.h"

namespace oe::program {
namespace {

class Copier {
 public:
  explicit Copier(Program& to) : to_(to) {}

  // Values lie at the places that their ids say.
  Value* copy(const Value* v) { return v ? &to_.values[static_cast<size_t>(v->id)] : nullptr; }
  Arg copy(const Arg& a) {
    if (Value* v = a.value()) return {copy(v)};
    const auto* list = std::get_if<Args>(&a.v);
    return list ? Arg{copy(*list)} : a;
  }
  Args copy(const Args& list) {
    Args all;
    for (const Arg& a : list) all.push_back(copy(a));
    return all;
  }
  void copy(const Block& from, Block& to) {
    for (const Value* v : from.params) to.params.push_back(copy(v));
    for (const auto& n : from.nodes) to.nodes.push_back(copy(*n));
    to.returns = copy(from.returns);
  }

 private:
  std::unique_ptr<Node> copy(const Node& n) {
    auto made = std::make_unique<Node>(Node{n.op, copy(n.args), {}, {}, n.origin});
    for (const Value* v : n.outputs) {
      made->outputs.push_back(copy(v));
      if (v) made->outputs.back()->producer = made.get();
    }
    for (const auto& b : n.blocks) {
      made->blocks.push_back(std::make_unique<Block>());
      copy(*b, *made->blocks.back());
    }
    return made;
  }

  Program& to_;
};

}  // namespace

Program copy(const Program& p) {
  Program made;
  made.values = p.values;
  for (Value& v : made.values) v.producer = nullptr;
  made.results = p.results;
  Copier copier(made);
  copier.copy(p.body, made.body);
  for (const auto ports : {&Program::inputs, &Program::outputs})
    for (const Port& port : p.*ports)
      (made.*ports).push_back({port.name, copier.copy(port.value), port.list});
  return made;
}

}  // namespace oe::program
