// Checks that a program is well formed: definitions before uses, types, the conventions of If and
// Loop. Linear in nodes.
#include <unordered_set>

#include "lib/program/program.h"

namespace oe::program {
namespace {

bool is_integer_like(const Type& t) {
  return t.kind == Type::Kind::Int || (t.kind == Type::Kind::Tensor && is_integer(t.dtype));
}
bool is_bool_like(const Type& t) {
  return t.kind == Type::Kind::Bool || (t.kind == Type::Kind::Tensor && t.dtype == DType::Bool);
}

class Verifier {
 public:
  explicit Verifier(const Program& p) : program_(p) {
    owned_.reserve(p.values.size());
    for (const Value& v : p.values) owned_.insert(&v);
  }

  std::vector<std::string> run() {
    std::unordered_set<int> ids;
    for (const Value& v : program_.values) {
      if (!ids.insert(v.id).second) problem("id %" + std::to_string(v.id) + " is used twice");
      if (!v.constant) continue;
      if (v.producer) problem(text(&v) + " is a constant and has a producer");
      constant(v);
      visible_.insert(&v);
    }
    std::vector<const Value*> here;
    for (const Port& p : program_.inputs) {
      const Value* v = p.value.value();
      if (!v)
        problem("input '" + p.name + "' is no value");
      else
        define(v, nullptr, here);
    }
    nodes(program_.body, here);
    for (const Port& p : program_.outputs) use(p.value, "output '" + p.name + "'");
    return std::move(problems_);
  }

 private:
  const Program& program_;
  std::vector<std::string> problems_;
  std::unordered_set<const Value*> owned_, visible_, seen_;

  void problem(std::string text) { problems_.push_back(std::move(text)); }
  static std::string text(const Value* v) { return "%" + std::to_string(v->id); }

  void constant(const Value& v) {
    const Tensor& t = *v.constant;
    if (v.type.kind != Type::Kind::Tensor) {
      problem(text(&v) + " is a constant tensor of type " + to_string(v.type));
      return;
    }
    bool agrees =
        v.type.dtype == t.dtype() && v.type.shape && v.type.shape->size() == t.dims().size();
    for (size_t i = 0; agrees && i < t.dims().size(); ++i)
      agrees = (*v.type.shape)[i] == Dim::of(t.dims()[i]);
    if (!agrees) problem("the type of constant " + text(&v) + " does not match its data");
  }

  void typed(const Value* v, const Type& t) {
    switch (t.kind) {
      case Type::Kind::Tensor:  // any element type: Undefined is one that ONNX does not have
        break;
      case Type::Kind::List:
      case Type::Kind::Optional:
        if (!t.element)
          problem(text(v) + " is a " + (t.kind == Type::Kind::List ? "list" : "optional") +
                  " without an element type");
        else
          typed(v, *t.element);
        break;
      default:
        break;
    }
  }

  void define(const Value* v, const Node* producer, std::vector<const Value*>& here) {
    if (!v || !owned_.contains(v)) {
      problem("a value is defined that the program does not own");
      return;
    }
    if (!seen_.insert(v).second || v->constant) {
      problem(text(v) + " is defined more than once");
      return;
    }
    if (v->producer != producer) problem(text(v) + " names the wrong producer");
    typed(v, v->type);
    visible_.insert(v);
    here.push_back(v);
  }

  void use(const Arg& a, const std::string& where) {
    if (const auto* list = std::get_if<Args>(&a.v)) {
      for (const Arg& e : *list) use(e, where);
      return;
    }
    const auto* p = std::get_if<Value*>(&a.v);
    if (!p) return;
    if (!*p)
      problem(where + " uses a null value");
    else if (!owned_.contains(*p))
      problem(where + " uses a value that the program does not own");
    else if (!visible_.contains(*p))
      problem(where + " uses " + text(*p) + " before it is defined");
  }

  void nodes(const Block& b, std::vector<const Value*>& here) {
    for (const auto& n : b.nodes) {
      for (const Arg& a : n->args) use(a, n->op);
      if (n->op == "prim::If")
        branch(*n);
      else if (n->op == "prim::Loop")
        loop(*n);
      else if (!n->blocks.empty())
        problem(n->op + " has nested blocks");
      for (const Value* v : n->outputs) define(v, n.get(), here);
    }
  }

  void block(const Block& b, const std::string& where) {
    std::vector<const Value*> here;
    for (const Value* v : b.params) define(v, nullptr, here);
    nodes(b, here);
    for (const Arg& a : b.returns) use(a, where + "'s return");
    for (const Value* v : here) visible_.erase(v);
  }

  void count(const Node& n, const char* what, size_t found, size_t wanted) {
    if (found != wanted)
      problem(n.op + " has " + std::to_string(found) + " " + what + " and needs " +
              std::to_string(wanted));
  }

  void branch(const Node& n) {
    count(n, "arguments", n.args.size(), 1);
    count(n, "blocks", n.blocks.size(), 2);
    if (!n.args.empty()) condition(n, n.args[0]);
    for (const auto& b : n.blocks) {
      count(n, "block parameters", b->params.size(), 0);
      count(n, "block returns", b->returns.size(), n.outputs.size());
      block(*b, n.op);
    }
  }

  void condition(const Node& n, const Arg& a) {
    const Value* v = a.value();
    if (v ? !is_bool_like(v->type) : !std::holds_alternative<bool>(a.v))
      problem(n.op + " has a condition that is not bool");
  }

  void loop(const Node& n) {
    const size_t state = n.outputs.size();
    count(n, "arguments", n.args.size(), state + 2);
    count(n, "blocks", n.blocks.size(), 1);
    if (n.args.size() >= 2) {
      const Value* trip = n.args[0].value();
      if (trip ? !is_integer_like(trip->type) : !std::holds_alternative<int64_t>(n.args[0].v))
        problem(n.op + " has a trip count that is no integer");
      condition(n, n.args[1]);
    }
    for (const auto& b : n.blocks) {
      count(n, "block parameters", b->params.size(), state + 1);
      count(n, "block returns", b->returns.size(), state + 1);
      if (!b->params.empty() && b->params[0] && !is_integer_like(b->params[0]->type))
        problem(n.op + " has an iteration number that is no integer");
      if (!b->returns.empty()) condition(n, b->returns[0]);
      block(*b, n.op);
    }
  }
};

}  // namespace

std::vector<std::string> verify(const Program& p) { return Verifier(p).run(); }

}  // namespace oe::program
