// `verify`: an ONNX file, whoever made it, beside the TorchScript file it was made from.
#include "lib/tasks/verify.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "lib/compare/comparison.h"
#include "lib/compare/file_inputs.h"
#include "lib/compare/locate_difference.h"
#include "lib/compare/verification.h"
#include "lib/onnx/onnx.h"
#include "lib/pipeline/captured_model.h"
#include "lib/pipeline/example.h"
#include "lib/pipeline/onnx_model.h"
#include "lib/support/text.h"

namespace oe {
namespace {

bool describes_inputs(const Options& o) {
  return !o.input.specs.empty() || !o.input.file.empty() || !o.input.folder.empty();
}

// Inputs that were found without data, and that LibTorch refuses with data, are looked for again.
void settle_inputs(const Options& o, LoadedModel& m) {
  if (!m.found.guessed || infer::refusal(m.module, m.inputs).empty()) return;
  const infer::Found refused = m.found;
  m.inputs = example_inputs(o, m.module, m.files, m.found, &refused);
}

// The module with inputs that the file takes too: those that are described, or that the trace or
// the program tells, or at the sizes that the file states. `o` says which.
std::unique_ptr<LoadedModel> load_for(const ir::Model& file, Options& o, Diagnostics& d) {
  std::unique_ptr<LoadedModel> m;
  std::vector<std::string> state_names;
  std::optional<Failure> refused;
  Diagnostics problems;
  try {
    m = std::make_unique<LoadedModel>(o, problems);
    state_names = torch_io::state_names(m->module.module);
    if (!describes_inputs(o)) settle_inputs(o, *m);
    if (describes_inputs(o) || takes(file, m->inputs, match_inputs(file, m->inputs, state_names))) {
      for (const Diagnostic& p : problems.all()) d.report(p);
      return m;
    }
  } catch (const Failure& f) {
    if (f.exit_code != ExitCode::Usage || describes_inputs(o)) throw;
    refused = f;
  }
  Options at_sizes_of_file = o;
  at_sizes_of_file.input.specs =
      m ? specs_of_file(file, m->inputs, state_names, torch_io::arguments_of(m->module))
        : specs_of_file(file, {}, state_names, {});
  m.reset();  // weights once
  try {
    m = std::make_unique<LoadedModel>(at_sizes_of_file, d);
    settle_inputs(at_sizes_of_file, *m);
    o = std::move(at_sizes_of_file);
    return m;
  } catch (const Failure& f) {
    if (f.exit_code != ExitCode::Usage || !refused) throw;
    throw *refused;
  }
}

// The file's own branches have no source line; they are told by their node.
void give_origins(ir::Model& file, const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  int number = 0;
  ir::for_each_graph(file.graph, [&](ir::Graph& g) {
    for (const auto& n : g.nodes) {
      ++number;
      if (n->is("If") || n->is("Loop"))
        n->origin = std::make_shared<const Origin>(
            Origin{n->is("If") ? "prim::If" : "prim::Loop", "", name, number, "if " + n->name});
    }
  });
}

// What our own conversion knows of the module, as far as it gets.
struct OwnConversion {
  std::optional<capture::Captured> captured;
  std::optional<OnnxModel> made;
};

OwnConversion convert_for(LoadedModel& m, const Options& o, Outcome& outcome, Stages& stages) {
  OwnConversion c;
  Diagnostics problems;  // of a conversion that nobody asked for
  try {
    capture::Captured captured = capture_model(m, o, outcome, stages, problems);
    if (problems.has_errors()) return c;
    c.captured = std::move(captured);
    c.made = onnx_model(m, *c.captured, o, m.user_rules, stages, problems);
  } catch (const Failure&) {
    // Then nothing is known but what the files do.
  }
  return c;
}

bool asks_for_nan(const program::Block& b) {
  for (const auto& n : b.nodes) {
    for (const char* word : {"nan", "isfinite", "isinf", "isposinf", "isneginf"})
      if (n->op.find(word) != std::string::npos) return true;
    if (std::ranges::any_of(n->blocks, [](const auto& inner) { return asks_for_nan(*inner); }))
      return true;
  }
  return false;
}

// The graph whose branches are to be driven: the module's own, with the file's names, else the
// file's.
const ir::Model& probed(OwnConversion& own, const std::vector<std::string>& names,
                        const ir::Model& file) {
  if (!own.made || own.made->model.graph.inputs.size() > names.size()) return file;
  ir::Graph& g = own.made->model.graph;
  std::vector<std::pair<ir::Value*, std::string>> renamed;
  for (ir::Value* v : g.inputs) {
    const auto port =
        std::ranges::find(own.captured->program.inputs, v->name, &program::Port::name);
    const auto at = static_cast<size_t>(port - own.captured->program.inputs.begin());
    if (at >= names.size() || names[at].empty()) return file;
    renamed.emplace_back(v, names[at]);
  }
  for (auto& [v, name] : renamed) v->name = name;
  return own.made->model;
}

// Float16 or BFloat16, where the file computes in it and the module does not; else Undefined.
DType rounded_to(const std::vector<verify::Lineage>& file, const OwnConversion& own) {
  const auto coarsest = [](const std::vector<verify::Lineage>& outputs) {
    for (const verify::Lineage& l : outputs)
      if (is_float(l.coarsest) && byte_size(l.coarsest) == 2) return l.coarsest;
    return DType::Undefined;
  };
  if (!own.made || coarsest(verify::lineage(own.made->model)) != DType::Undefined)
    return DType::Undefined;
  return coarsest(file);
}

// Two ways to round differ by a small factor; an approximation where the model has none by more.
void report_inexact(const std::vector<verify::OutputErrors>& errors, Diagnostics& d) {
  constexpr double much = 32;
  for (const verify::OutputErrors& e : errors) {
    const double rounding = std::max(e.of_libtorch, e.unit * e.largest);
    if (e.of_onnx_runtime <= much * rounding) continue;
    d.report(
        {"OE0620", Severity::Warning, "",
         "output '" + e.name +
             "' is within the tolerance, but less exact than LibTorch: its error against float64 "
             "is " +
             float_text(static_cast<float>(e.of_onnx_runtime)) + ", LibTorch's is " +
             float_text(static_cast<float>(e.of_libtorch)),
         "", nullptr, 0});
  }
}

std::vector<verify::Sizes> worlds_of(const OwnConversion& own, const torch_io::ExampleInputs& e) {
  if (own.captured) return own.captured->worlds;
  verify::Sizes sizes;
  for (const torch_io::InputLeaf& l : e.leaves)
    sizes.push_back(l.value.isTensor() ? l.value.toTensor().sizes().vec() : std::vector<int64_t>());
  return {sizes};
}

}  // namespace

void verify_file(const Options& given, const std::filesystem::path& test_folder,
                 const std::filesystem::path& bundle_folder, Outcome& outcome, Diagnostics& d,
                 std::ostream& out, const Stages::OnStage& on_stage) {
  Options o = given;
  Stages stages(o, outcome.times, out, on_stage);
  stages.begin("load");
  const std::shared_ptr<verify::Ort> ort = load_ort(o);
  ir::Model file = onnx::read_file(o.onnx_file);
  onnx::infer(file);  // the types of what is computed
  outcome.opset = file.opsets[""];
  if (outcome.opset > ort->newest_opset()) {
    outcome.verification = "not compared: ONNX Runtime " + ort->version() + " knows opset " +
                           std::to_string(ort->newest_opset()) + " at most, the file has " +
                           std::to_string(outcome.opset);
    outcome.exit_code = ExitCode::NotFullyVerified;
    return;
  }
  const std::unique_ptr<LoadedModel> loaded = load_for(file, o, d);
  LoadedModel& m = *loaded;
  torch_io::Reference reference(m.module, o.capture.left_out);
  if (m.rules.schemas.empty()) compare_calls(reference, m.inputs, d);
  const std::vector<std::string> state_names = torch_io::state_names(m.module.module);
  const FileInputs own_inputs = match_inputs(file, m.inputs, state_names);
  o.export_params = own_inputs.parameters.empty();
  if (o.input.dynamic_axes.empty() && !o.input.dynamic_batch)
    open_axes(file, own_inputs, infer::free_axes(m.module, m.inputs), m.inputs);
  OwnConversion own = convert_for(m, o, outcome, stages);
  stages.begin("verify");
  const FileInputs inputs = match_inputs(file, m.inputs, state_names);
  Comparison comparison(o, m.inputs, inputs.names, worlds_of(own, m.inputs), reference, file);
  comparison.request.thorough = true;
  comparison.request.half = rounded_to(comparison.request.lineage, own);
  comparison.request.asks_for_nan = own.captured && asks_for_nan(own.captured->program.body);
  give_origins(file, o.onnx_file);
  // Where numbers are drawn every run differs.
  std::optional<FileDifference> difference;
  if (own.captured && std::ranges::none_of(comparison.request.lineage, &verify::Lineage::drawn))
    difference.emplace(own.captured->program, inputs.names, file, *ort, o.load.threads);
  comparison.why_undecided = [&](const std::vector<TensorPtr>& given) {
    const std::string tie = difference ? difference->of(given).tie : std::string();
    return tie.empty() ? tie : "a tie: " + tie + "; its inputs agree";
  };
  verify::Verification v =
      comparison.run(std::filesystem::path(o.onnx_file), *ort, probed(own, inputs.names, file));
  outcome.verified = v.figures();
  outcome.errors = std::move(v.errors);
  outcome.special = std::move(v.special);
  if (!test_folder.empty()) comparison.save_test_data(file, test_folder);
  if (v.mismatch.empty()) {
    if (comparison.request.half == DType::Undefined) report_inexact(outcome.errors, d);
    return comparison.tell(v, *ort, outcome, d);
  }
  if (!bundle_folder.empty()) comparison.save_run(file, v.draw, bundle_folder);
  if (v.as_written)
    throw Failure(
        ExitCode::Mismatch, "OE0609",
        v.mismatch +
            "\n  LibTorch disagrees with itself: run line by line, without graph passes, the "
            "model computes what the file computes");
  const std::string first = difference ? difference->of(v.inputs).text : std::string();
  throw Failure(ExitCode::Mismatch, "OE0601",
                v.mismatch + (first.empty() ? "" : "\n  first difference: " + first),
                o.bundle.empty() ? "--bundle DIR keeps the inputs of the difference" : "");
}

}  // namespace oe
