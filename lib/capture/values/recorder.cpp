// Types, constants and origins of the recorded program.
#include "lib/capture/values/recorder.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "lib/support/diagnostics.h"
#include "lib/torch/convert.h"

namespace oe::capture {
namespace {

// Of a quantized tensor the program has the integers.
DType recorded_dtype(const at::Tensor& t) {
  return torch_io::to_dtype(t.is_quantized() ? c10::toUnderlying(t.scalar_type())
                                             : t.scalar_type());
}

}  // namespace

program::Node* Recorder::record(std::string op, program::Args args, OriginPtr origin) {
  auto n = std::make_unique<program::Node>();
  n->op = std::move(op);
  n->args = std::move(args);
  n->origin = std::move(origin);
  blocks_.back()->nodes.push_back(std::move(n));
  return blocks_.back()->nodes.back().get();
}

program::Value* Recorder::add_output(program::Node* n, program::Type type, std::string name) {
  program::Value* v = program_.new_value(std::move(type), std::move(name));
  v->producer = n;
  n->outputs.push_back(v);
  return v;
}

program::Value* Recorder::value(const TensorValuePtr& t) {
  if (t->recorded || !on()) return t->recorded;
  if (t->taint != Taint::Constant)
    throw Failure(ExitCode::Internal, "OE1001", "a computed tensor was never recorded");
  at::Tensor dense = t->c.at(0).toTensor();
  if (dense.layout() != c10::kStrided)
    throw Failure(ExitCode::Unsupported, "OE4002",
                  (t->name.empty() ? "a constant" : "'" + t->name + "'") + " is a tensor of type " +
                      dense.toString() +
                      ", which ONNX graphs do not have; convert it with to_dense()");
  dense = dense.resolve_conj().resolve_neg().to(at::kCPU).contiguous();
  const DType dtype = recorded_dtype(dense);
  if (dtype == DType::Undefined)
    throw Failure(ExitCode::Unsupported, "OE4003",
                  (t->name.empty() ? "a constant" : "'" + t->name + "'") + " is of type " +
                      c10::toString(dense.scalar_type()) + ", which ONNX does not have");
  auto owner = std::make_shared<at::Tensor>(dense);
  program::Value* v = program_.new_value(type_of(*t), t->name);
  v->constant = std::make_shared<const Tensor>(dtype, dense.sizes().vec(), dense.const_data_ptr(),
                                               std::move(owner));
  t->recorded = v;
  return v;
}

program::Value* Recorder::size_of(int axis_id) const {
  for (auto it = sizes_.rbegin(); it != sizes_.rend(); ++it)
    if (auto found = it->find(axis_id); found != it->end()) return found->second;
  return nullptr;
}

std::pair<program::Value*, size_t> Recorder::axis_source(int axis_id) const {
  for (auto it = sources_.rbegin(); it != sources_.rend(); ++it)
    if (auto found = it->find(axis_id); found != it->end()) return found->second;
  return {nullptr, 0};
}

void Recorder::remember_axes(const TensorValue& t) {
  if (!t.recorded || !on()) return;
  for (size_t i = 0; i < t.axes.size(); ++i)
    if (!t.axes[i].is_static()) sources_.back().try_emplace(t.axes[i].id, t.recorded, i);
}

const Symbol* Recorder::symbol(int axis_id) const {
  const auto found = std::ranges::find(symbols_, axis_id, &Symbol::axis_id);
  return axis_id == 0 || found == symbols_.end() ? nullptr : &*found;
}

// Sizes that agree in all worlds name nothing: x[:5] has as many rows as x until there are more.
std::string Recorder::symbol_name(const TensorValue& t, size_t axis) const {
  const Symbol* s = symbol(t.axes[axis].id);
  return s ? s->name : std::string();
}

program::Type Recorder::type_of(const TensorValue& t) const {
  const at::Tensor& example = t.c.any().toTensor();
  const DType dtype = recorded_dtype(example);
  if (!t.ranked) return program::Type::tensor(dtype, std::nullopt);
  std::vector<Dim> dims;
  for (size_t i = 0; i < t.axes.size(); ++i) {
    if (t.axes[i].is_static()) {
      dims.push_back(Dim::of(example.size(static_cast<int64_t>(i))));
      continue;
    }
    std::string name = symbol_name(t, i);
    dims.push_back(name.empty() ? Dim::unknown() : Dim::named(std::move(name)));
  }
  return program::Type::tensor(dtype, std::move(dims));
}

}  // namespace oe::capture
