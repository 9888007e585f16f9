// A model in ONNX Runtime beside the module in LibTorch, on the same inputs.
#include "lib/compare/comparison.h"

#include <algorithm>

#include "lib/compare/test_data.h"
#include "lib/onnx/onnx.h"
#include "lib/optimize/optimize.h"
#include "lib/support/text.h"
#include "lib/verify/latency.h"

namespace oe {
namespace {

// Makes of `m` the model that says which branches and trips its inputs drive. Returns why that
// cannot be known; the probe has no bytes then, or where there are no branches.
std::string make_probe(ir::Model m, verify::Probe& probe) {
  if (!verify::instrument(m, probe)) return {};
  optimize::cleanup(m);  // leaves what the conditions and trip counts depend on
  if (onnx::needs_external(m, {})) return "it depends on more than 2 GiB of weights";
  probe.bytes = onnx::write_bytes(m);
  return {};
}

void note(Diagnostics& d, const char* code, const std::string& text) {
  d.report({code, Severity::Note, "", text, "", nullptr, 0});
}

}  // namespace

Comparison::Comparison(const Options& o, torch_io::ExampleInputs inputs,
                       std::vector<std::string> names, std::vector<verify::Sizes> worlds,
                       torch_io::Reference& reference, const ir::Model& m)
    : options_(o), inputs_(std::move(inputs)), reference_(reference) {
  verify::Request& r = request;
  r.worlds = std::move(worlds);
  r.options = o.verification;
  r.threads = o.load.threads;
  r.seed = o.input.seed;
  r.leaf_names = std::move(names);
  if (o.to) r.half = o.to->half;
  for (size_t i = 0; i < inputs_.leaves.size(); ++i) {
    torch_io::InputLeaf& leaf = inputs_.leaves[i];
    const auto input = std::ranges::find(m.graph.inputs, r.leaf_names[i], &ir::Value::name);
    form.types.push_back(input == m.graph.inputs.end() ? DType::Undefined : (*input)->type.dtype);
    // What the export took as a constant has to stay what it was.
    leaf.fixed = input == m.graph.inputs.end();
    r.leaf_shapes.push_back(leaf.fixed ? Shape() : (*input)->type.shape);
    if (leaf.fixed) continue;
    r.free_leaves.push_back(i);
    const Shape& shape = (*input)->type.shape;
    for (size_t d = 0; d < leaf.axis_names.size(); ++d)
      if (!leaf.axis_names[d].empty() && shape && d < shape->size() && !(*shape)[d].is_number())
        r.axes.push_back({i, d, leaf.axis_names[d], leaf.bounds[d].first, leaf.bounds[d].second});
  }
  for (const ir::Value* v : m.graph.outputs) {
    r.output_names.push_back(v->name);
    r.shapes.push_back(v->type.shape);
    stated_.push_back(v->type.dtype);
    file_types_.push_back(file_type(v->type));
    const bool optional = v->type.kind == ir::Type::Kind::Optional;
    const ir::Type& held = optional ? *v->type.element : v->type;
    using Kind = program::Result::Kind;
    form.results.outputs.push_back({held.kind == ir::Type::Kind::Sequence   ? Kind::Sequence
                                    : held.shape && held.shape->size() == 1 ? Kind::Vector
                                                                            : Kind::Value,
                                    optional});
  }
  r.lineage = verify::lineage(m);
  steady_ = inputs_;  // a number out of range would end a row of calls
  for (torch_io::InputLeaf& leaf : steady_.leaves)
    leaf.fixed = leaf.fixed || (leaf.role == torch_io::Role::Own && !leaf.value.isTensor());
  r.original = this;
}

HostRun Comparison::run(const Draw& draw) {
  HostRun run = reference_.run(inputs_, draw, form);
  run.outputs = as_stated(std::move(run.outputs));
  return run;
}
std::vector<TensorPtr> Comparison::inputs(const Draw& draw) {
  return torch_io::drawn_inputs(inputs_, draw, form);
}
HostRun Comparison::step(const Draw& draw, bool begin) {
  HostRun run = reference_.step(steady_, draw, form, begin);
  run.outputs = as_stated(std::move(run.outputs));
  return run;
}
std::vector<HostValue> Comparison::last_in(DType type) { return reference_.last_in(type, form); }
std::vector<HostValue> Comparison::last_by_qnnpack() { return reference_.last_by_qnnpack(form); }
std::vector<HostValue> Comparison::last_rounded_otherwise(uint64_t how) {
  return as_stated(reference_.last_rounded_otherwise(form, how));
}
std::vector<HostValue> Comparison::last_as_written() {
  return as_stated(reference_.last_as_written(form));
}
std::string Comparison::undecided(const std::vector<TensorPtr>& inputs) {
  return why_undecided ? why_undecided(inputs) : std::string();
}

std::vector<HostValue> Comparison::as_stated(std::vector<HostValue> values) const {
  for (size_t i = 0; i < values.size() && i < stated_.size(); ++i) {
    const DType stated = stated_[i];
    const auto round = [&](TensorPtr& t) {
      if (t && t->dtype() == DType::Float && byte_size(stated) == 2 && is_float(stated))
        t = Tensor::rounded(t, stated);
    };
    round(values[i].tensor);
    for (TensorPtr& t : values[i].sequence) round(t);
  }
  return values;
}

verify::Verification Comparison::run(const onnx::ModelFile& file, verify::Ort& ort,
                                     const ir::Model& probed) {
  request.model = file;
  verify::Probe probe;
  const std::string unmeasured = make_probe(ir::copy(probed), probe);
  if (!probe.bytes.empty()) request.probe = &probe;
  try {
    verify::Verification v = verify::verify_model(ort, request);
    request.probe = nullptr;
    if (request.options.latency && v.mismatch.empty())
      v.latency_ms = verify::median_latency_ms(ort, request);
    if (!unmeasured.empty()) v.unmeasured = unmeasured;
    return v;
  } catch (const Failure&) {
    throw;
  } catch (const std::runtime_error& e) {
    throw Failure(ExitCode::Mismatch, "OE0602",
                  std::string("ONNX Runtime rejects the model: ") + e.what());
  }
}

void Comparison::tell(verify::Verification& v, verify::Ort& ort, Outcome& out, Diagnostics& d) {
  const bool nothing = v.runs == 0 && options_.input.expected.empty();
  out.verification = nothing ? "not verified" : v.line();
  if (!options_.input.expected.empty()) {
    const size_t n = compare_expected(options_, ort, request, file_types_, inputs_, form);
    out.verification += ", " + plural(n, "expected output");
  }
  if (v.runs == 0) v.gaps.push_back("LibTorch ran none of the random inputs");
  if (!v.gaps.empty()) {
    out.verification += (nothing ? ": " : "; not fully: ") + join(v.gaps, "; ");
    out.exit_code = ExitCode::NotFullyVerified;
    if (out.verified) out.verified->gaps = v.gaps;
  }
  const std::string unreached =
      v.unmeasured.empty() ? verify::unreached_note(v.coverage)
                           : "which branches the verification took is not known: " + v.unmeasured;
  if (!unreached.empty()) note(d, "OE0603", unreached);
  if (!v.uncounted.empty())
    note(d, "OE0610",
         "comparing " + join(v.uncounted, ", ") +
             " proves nothing; use inputs that make them vary (--inputs-from, --input x=@FILE)");
  if (!v.drawn.empty())
    note(d, "OE0606",
         "random numbers determine " + join(v.drawn, ", ") +
             ": compared only by shape and element type" +
             (v.draws ? ", and by the moments over " + plural(v.draws, "run") : ""));
  out.coverage = std::move(v.coverage);
}

void Comparison::save_test_data(const ir::Model& m, const std::filesystem::path& folder) {
  const auto run_at = [&](const verify::Sizes& s) { return run({s, options_.input.seed, {}}); };
  write_test_sets(m, request, run_at, folder);
}

void Comparison::save_run(const ir::Model& m, const Draw& draw,
                          const std::filesystem::path& folder) {
  write_test_set(m, request, run(draw), folder / "test_data_set_0");
}

}  // namespace oe
