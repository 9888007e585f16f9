// --verify and --save-test-data: the converted model beside LibTorch's own runs.
#include "lib/compare/verification.h"

#include <algorithm>
#include <optional>
#include <set>

#include "lib/compare/comparison.h"
#include "lib/compare/difference_cause.h"
#include "lib/onnx/onnx.h"
#include "lib/pipeline/names.h"
#include "lib/support/text.h"
#include "lib/torch/about.h"
#include "lib/torch/user_operators.h"

namespace oe {
namespace {

std::vector<std::string> input_names(const torch_io::ExampleInputs& e, const Options& o) {
  std::vector<std::string> names;
  for (const torch_io::InputLeaf& leaf : e.leaves) names.push_back(renamed(leaf.name, o));
  return names;
}

class ConvertedComparison : public Comparison {
 public:
  explicit ConvertedComparison(const Converted& what)
      : Comparison(what.options, what.inputs, input_names(what.inputs, what.options),
                   what.captured.worlds, what.reference, what.model) {
    const capture::Captured& c = what.captured;
    request.assumes = !c.assumptions.empty();
    // Unless lists stayed one output each (--type raw).
    if (what.model.graph.outputs.size() == c.program.outputs.size())
      form.results.captured = c.program.results;
    for (const capture::PersistentState& s : c.state) request.state.push_back({s.input, s.output});
  }
};

// The domains of nodes that ONNX Runtime has no kernels for.
std::set<std::string> foreign_domains(const ir::Model& m) {
  std::set<std::string> domains, functions;
  for (const ir::Function& f : m.functions) functions.insert(f.domain);
  ir::for_each_graph(m.graph, [&](const ir::Graph& g) {
    for (const auto& n : g.nodes)
      if (!n->domain.empty() && !functions.contains(n->domain)) domains.insert(n->domain);
  });
  return domains;
}

// An operator of the program that is known by its schema alone; empty when there is none.
std::string made_up(const program::Block& b) {
  for (const auto& n : b.nodes) {
    const std::string op = n->op.substr(0, n->op.find('.'));
    if (torch_io::is_made_up(op)) return op;
    for (const auto& inner : n->blocks)
      if (std::string found = made_up(*inner); !found.empty()) return found;
  }
  return {};
}

bool trains_batches(const ir::Model& m) {
  bool found = false;
  ir::for_each_graph(m.graph, [&](const ir::Graph& g) {
    for (const auto& n : g.nodes)
      found = found || (n->is("BatchNormalization") &&
                        n->attributes.get_or<int64_t>("training_mode", 0) != 0);
  });
  return found;
}

// Why the file cannot be compared; empty: it can.
std::string unverifiable(const Converted& what, const verify::Ort& ort) {
  if (what.options.opset > ort.newest_opset())
    return "ONNX Runtime " + ort.version() + " knows opset " + std::to_string(ort.newest_opset()) +
           " at most";
  if (const std::set<std::string> domains = foreign_domains(what.model); !domains.empty())
    return "ONNX Runtime has no kernels for the nodes of " +
           join({domains.begin(), domains.end()}, ", ");
  if (trains_batches(what.model))
    return "ONNX Runtime computes BatchNormalization in training mode wrongly; with --target ort "
           "it is written with other operators";
  if (what.options.to && onnx::needs_external(what.model, {}))
    return "ONNX Runtime omits roundings to 16 bits, and a copy of the model with them would "
           "exceed 2 GiB";
  if (const std::string op = made_up(what.captured.program.body); !op.empty())
    return "LibTorch has no implementation of " + op + ", only its schema";
  return {};
}

// Throws Failure(MissingPart).
void use_cuda(const Options& o, verify::Ort& ort) {
  const std::vector<std::string> there = ort.providers();
  const std::string wanted = "CUDAExecutionProvider", about = "ONNX Runtime " + ort.version();
  if (std::ranges::find(there, wanted) == there.end())
    throw Failure(ExitCode::MissingPart, "OE0613",
                  "--provider cuda: " + about + " has no " + wanted + ", only " + join(there, ", "),
                  "specify the library of the onnxruntime-gpu wheel with --ort-lib");
  const size_t colon = o.load.device.find(':');
  try {
    ort.use_cuda(colon == std::string::npos ? 0 : std::stoi(o.load.device.substr(colon + 1)));
  } catch (const std::runtime_error& e) {
    throw Failure(ExitCode::MissingPart, "OE0614", "--provider cuda: " + about + ": " + e.what(),
                  "remove --provider to run on the CPU");
  }
}

// Throws Failure(Mismatch).
void require_loads(const onnx::ModelFile& file, const Options& o, verify::Ort& ort) {
  try {
    ort.open_file(file, o.load.threads);
  } catch (const Failure&) {
    throw;
  } catch (const std::runtime_error& e) {
    throw Failure(ExitCode::Mismatch, "OE0602",
                  std::string("ONNX Runtime rejects the model: ") + e.what());
  }
}

// Why a difference counts as a gap; empty: it does not.
std::string nobodys_mistake(const Cause& c) {
  const std::string alone = "; on LibTorch's own arguments each operator gives LibTorch's result";
  if (c.kind == Cause::Kind::Tie) return "a tie: " + c.text + alone;
  if (c.kind == Cause::Kind::Rounding) return "it cannot be decided: " + c.text + alone;
  if (c.kind == Cause::Kind::Overflow) return "it cannot be decided: " + c.text;
  return {};
}

std::string told_cause(const Cause& c) {
  if (c.kind == Cause::Kind::Operator) return "\n  wrong operator: " + c.text;
  if (c.kind == Cause::Kind::Passes)
    return "\n  each operator alone gives LibTorch's result: a graph pass of onnx-export or of "
           "ONNX Runtime causes the difference";
  return c.first.empty() ? std::string() : "\n  first difference: " + c.first;
}

}  // namespace

std::shared_ptr<verify::Ort> load_ort(const Options& o) {
  std::string why;
  std::shared_ptr<verify::Ort> ort = verify::Ort::load(o.verification.ort_lib, why);
  if (!ort)
    throw Failure(ExitCode::MissingPart, "OE0605", "--verify needs ONNX Runtime: " + why,
                  "specify its library with --ort-lib, or remove --verify");
  if (o.verification.provider == verify::Provider::Cuda) use_cuda(o, *ort);
  return ort;
}

void compare_calls(torch_io::Reference& reference, const torch_io::ExampleInputs& e,
                   Diagnostics& d) {
  try {
    const auto [first, third] = reference.first_and_third(e);
    std::string what = first.size() == third.size() ? "" : "another number of results";
    for (size_t i = 0; i < first.size() && what.empty(); ++i) {
      what = verify::value_difference(third[i], first[i], [](const Tensor& a, const Tensor& e) {
        const verify::Comparison c = verify::compare(a, e);
        return c.ok ? std::string() : c.message;
      });
      if (!what.empty()) what = "result " + std::to_string(i) + ": " + what;
    }
    if (!what.empty())
      d.report({"OE0604", Severity::Warning, "",
                "LibTorch's own third call of the model differs from the first (" + what +
                    "); the file is compared with the later calls",
                "", nullptr, 0});
  } catch (const std::runtime_error&) {
    // Capture says what LibTorch refuses, with the source line.
  }
}

void save_test_data(const Converted& what, const std::filesystem::path& folder) {
  ConvertedComparison(what).save_test_data(what.model, folder);
}

void verify_written(const Converted& what, const std::filesystem::path& path, verify::Ort& ort,
                    const lower::UserRules& rules, Outcome& out, Diagnostics& d) {
  if (const std::string why = unverifiable(what, ort); !why.empty()) {
    out.verification = "not verified: " + why;
    out.exit_code = ExitCode::NotFullyVerified;
    return;
  }
  const Options& o = what.options;
  onnx::ModelFile file(path);
  if (o.write.external == onnx::WriteOptions::External::InPlace)
    file.data[o.write.external_file] = o.load.model;
  ConvertedComparison comparison(what);
  std::optional<ir::Model> rounding;
  if (o.to) {
    // The copy is what is compared; the file has to load all the same.
    if (o.to->half == DType::Float16) require_loads(file, o, ort);
    rounding = ir::copy(what.model);
    comparison.request.bytes = rounding_bytes(*rounding);
  }
  // Where numbers are drawn every run differs; --to leaves no operator as it was.
  // A tolerance that was given may be less than rounding.
  const bool exact =
      !o.to && o.verification.atol.empty() && o.verification.rtol.empty() &&
      std::ranges::none_of(comparison.request.lineage, [](const auto& l) { return l.drawn; });
  DifferenceCause causes(what.captured.program, o, rules, ort);
  Cause cause;  // of the last difference
  comparison.why_undecided = [&](const std::vector<TensorPtr>& inputs) {
    cause = exact ? causes.of(inputs) : Cause();
    return nobodys_mistake(cause);
  };
  verify::Verification v = comparison.run(file, ort, rounding ? *rounding : what.model);
  out.verified = v.figures();
  if (!v.mismatch.empty() && v.as_written)
    throw Failure(
        ExitCode::Mismatch, "OE0609",
        v.mismatch +
            "\n  LibTorch disagrees with itself: run line by line, without graph passes, the "
            "model computes what the file computes",
        "the file computes what the model's code specifies; LibTorch's passes may drop in-place "
        "writes to elements of a list: use out-of-place operators there");
  if (!v.mismatch.empty()) {
    throw Failure(ExitCode::Mismatch, "OE0601", v.mismatch + told_cause(cause),
                  !what.captured.assumptions.empty()
                      ? "these inputs may violate an assumption of the export:\n      " +
                            join(what.captured.assumptions, "\n      ")
                  : o.to ? "numbers may exceed the range of " + std::string(name(o.to->half)) +
                               ", or rounding errors add up: --to " +
                               (o.to->half == DType::Float16 ? "bf16, or " : "") +
                               "keep=OPERATOR,MODULE keeps some in float32"
                  : !o.symbolics.empty()
                      ? "a rule of --symbolics may compute something other than its operator"
                  : !o.verification.atol.empty() || !o.verification.rtol.empty()
                      ? "the tolerance is that of --atol and --rtol: remove them to use that of "
                        "the element type, which takes rounding into account"
                  : !o.load.custom_op_libs.empty()
                      ? "a library of --custom-op-lib may compute something other than its operator"
                  : v.misstated ? "this is a bug in onnx-export; please report it with the model"
                  : !torch_io::is_tested_libtorch()
                      ? "onnx-export is tested with LibTorch " +
                            std::string(torch_io::kTestedLibtorch) + "; LibTorch " +
                            torch_io::libtorch_version() +
                            " may compute something other than that version"
                  : cause.kind == Cause::Kind::Operator
                      ? "this is a bug in onnx-export or in ONNX Runtime; please report it with "
                        "the model"
                      : "the operator that causes it is not known; please report it with the "
                        "model");
  }
  comparison.tell(v, ort, out, d);
}

}  // namespace oe
