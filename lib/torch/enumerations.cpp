// Element types, layouts and memory formats are integers in TorchScript: checked before LibTorch
// looks them up in its tables, which it does without a check.
#include "lib/torch/enumerations.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>
#include <torch/library.h>

#include <map>
#include <memory>
#include <string>

#include "lib/torch/unchecked.h"

namespace oe::torch_io {
namespace {

using torch::jit::Stack;

struct Range {
  const char* what;
  int64_t end;  // the first integer that stands for none
};

// Of the schema's argument; null where its type is none of these.
const Range* range_of(const c10::Argument& a) {
  static constexpr Range kTypes{"element type", static_cast<int64_t>(c10::ScalarType::NumOptions)};
  static constexpr Range kLayouts{"layout", static_cast<int64_t>(c10::Layout::NumOptions)};
  static constexpr Range kFormats{"memory format",
                                  static_cast<int64_t>(c10::MemoryFormat::NumOptions)};
  c10::TypePtr type = a.real_type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return &kTypes;
    case c10::TypeKind::LayoutType:
      return &kLayouts;
    case c10::TypeKind::MemoryFormatType:
      return &kFormats;
    default:
      // Operators that only TorchScript has spell them as integers.
      if (type->kind() == c10::TypeKind::IntType && a.name() == "dtype") return &kTypes;
      if (type->kind() == c10::TypeKind::IntType && a.name() == "memory_format") return &kFormats;
      return nullptr;
  }
}

void check_arguments(const c10::FunctionSchema& schema, const Stack& stack) {
  const auto& arguments = schema.arguments();
  const c10::IValue* first = stack.data() + stack.size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!first[i].isInt()) continue;
    const Range* range = range_of(arguments[i]);
    if (!range) continue;
    const int64_t n = first[i].toInt();
    TORCH_CHECK(n >= 0 && n < range->end, schema.name(), ": ", n, " is no ", range->what);
  }
}

bool takes_any(const c10::FunctionSchema& schema) {
  for (const c10::Argument& a : schema.arguments())
    if (range_of(a)) return true;
  return false;
}

void checked(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  check_arguments(op.schema(), *stack);
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kCheckedKey),
                     stack);
}

// Those that the dispatcher runs; what is checked for other reasons has check_enumeration_arguments
// in its own kernel.
void guard_dispatched() {
  auto* libraries = new std::map<std::string, std::unique_ptr<torch::Library>>;  // for good
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (!op || op->hasKernelForDispatchKey(kCheckedKey) || !takes_any(op->schema())) continue;
    const std::string space = name.name.substr(0, name.name.find(':'));
    std::unique_ptr<torch::Library>& library = (*libraries)[space];
    if (!library)
      library = std::make_unique<torch::Library>(torch::Library::IMPL, space, kCheckedKey,
                                                 "onnx-export", 0);
    const std::string full =
        name.name + (name.overload_name.empty() ? "" : ".") + name.overload_name;
    library->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&checked>());
  }
}

}  // namespace

void check_enumeration_arguments(const c10::FunctionSchema& schema, const Stack& stack) {
  check_arguments(schema, stack);
}

void check_enumerations() {
  static const bool once = [] {
    guard_dispatched();
    return true;
  }();
  (void)once;
}

}  // namespace oe::torch_io
