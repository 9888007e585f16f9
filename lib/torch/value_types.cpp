// Whether unpickled values are what the code was compiled for: LibTorch's interpreter unpacks
// tuples and reads attributes of objects by their place, without a check.
#include "lib/torch/value_types.h"

#include <ATen/core/ivalue_inl.h>

#include <algorithm>

#include "lib/support/diagnostics.h"

namespace oe::torch_io {
namespace {

// Whether values of the type are used by the places of what they hold; lists of millions of numbers
// are not looked through.
bool has_places(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::TensorType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType:
      return false;
    case c10::TypeKind::ListType:
    case c10::TypeKind::OptionalType:
      return has_places(*type.containedType(0));
    case c10::TypeKind::DictType:
      return has_places(*type.containedType(0)) || has_places(*type.containedType(1));
    default:
      return true;
  }
}

bool all_fit(const c10::IValue& list, const c10::Type& element) {
  return !has_places(element) || std::ranges::all_of(list.toListRef(), [&](const c10::IValue& v) {
    return fits(v, element);
  });
}

bool all_fit(const c10::IValue& dict, const c10::Type& key, const c10::Type& value) {
  if (!has_places(key) && !has_places(value)) return true;
  for (const auto& entry : dict.toGenericDict())
    if (!fits(entry.key(), key) || !fits(entry.value(), value)) return false;
  return true;
}

// Of a value whose type is its own affair: it has to hold what it states.
bool consistent(const c10::IValue& v) {
  if (v.isTuple()) return std::ranges::all_of(v.toTupleRef().elements(), consistent);
  if (v.isList()) return all_fit(v, *v.toList().elementType());
  if (v.isGenericDict())
    return all_fit(v, *v.toGenericDict().keyType(), *v.toGenericDict().valueType());
  return true;  // the slots of objects are checked when they are set
}

void check_cast(torch::jit::Node& cast) {
  torch::jit::Graph& graph = *cast.owningGraph();
  const torch::jit::WithInsertPoint before(&cast);
  torch::jit::Node* is =
      graph.insertNode(graph.createIsInstance(cast.input(), {cast.output()->type()}));
  torch::jit::Node* branch = graph.insertNode(graph.create(c10::prim::If, {is->output()}, 0));
  branch->addBlock();
  const torch::jit::WithInsertPoint otherwise(branch->addBlock());
  torch::jit::Value* message =
      graph.insertConstant("a value is not a " + cast.output()->type()->annotation_str());
  torch::jit::Node* raise = graph.insertNode(
      graph.create(c10::prim::RaiseException, {message, graph.insertConstant({})}, 0));
  for (torch::jit::Node* n : {is, branch, raise}) n->setSourceRange(cast.sourceRange());
}

void check_casts(torch::jit::Block& block) {
  for (torch::jit::Node* n : block.nodes()) {
    for (torch::jit::Block* inner : n->blocks()) check_casts(*inner);
    if (n->hasAttribute(c10::attr::Subgraph)) check_casts(*n->g(c10::attr::Subgraph)->block());
    if (n->kind() != c10::prim::unchecked_cast || !has_places(*n->output()->type())) continue;
    c10::TypePtr known = n->input()->type();
    if (const auto optional = known->cast<c10::OptionalType>()) known = optional->getElementType();
    if (!known->isSubtypeOf(*n->output()->type())) check_cast(*n);
  }
}

}  // namespace

void check_casts(torch::jit::Graph& graph) { check_casts(*graph.block()); }

bool fits(const c10::IValue& v, const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::OptionalType:
      return v.isNone() || fits(v, *type.castRaw<c10::OptionalType>()->getElementType());
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
      return v.isObject() && v.toObjectRef().type()->isSubtypeOf(type);
    case c10::TypeKind::TupleType: {
      const auto elements = type.castRaw<c10::TupleType>()->elements();
      if (!v.isTuple() || v.toTupleRef().elements().size() != elements.size()) return false;
      for (size_t i = 0; i < elements.size(); ++i)
        if (!fits(v.toTupleRef().elements()[i], *elements[i])) return false;
      return true;
    }
    case c10::TypeKind::ListType:
      return v.isList() && all_fit(v, *type.castRaw<c10::ListType>()->getElementType());
    case c10::TypeKind::DictType: {
      const auto* dict = type.castRaw<c10::DictType>();
      return v.isGenericDict() && all_fit(v, *dict->getKeyType(), *dict->getValueType());
    }
    case c10::TypeKind::AnyType:
    case c10::TypeKind::UnionType:
      return consistent(v);
    case c10::TypeKind::AnyClassType:
      return true;
    default:
      return !v.isObject();
  }
}

void require_type(const c10::IValue& v, const c10::Type& type, const std::string& file,
                  const std::string& what) {
  if (!fits(v, type))
    throw Failure(ExitCode::Refused, "OE0115",
                  file + ": a pickle gives " + what +
                      " a value of another type than its code declares: " + type.annotation_str(),
                  "copy the file again, or save it again");
}

}  // namespace oe::torch_io
