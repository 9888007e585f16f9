// The chain load > capture > lower > optimize > legalize > check > write > verify, and nothing
// else.
#include "lib/pipeline.h"

#include <memory>
#include <optional>

#include "lib/captured_model.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx_model.h"
#include "lib/support/npz.h"
#include "lib/torch/convert.h"
#include "lib/verification.h"

namespace oe {
namespace {

// The saved state goes to `file`. Each leaf is an input of the graph and each port an output, in
// order.
void write_state(const ir::Model& m, const torch_io::ExampleInputs& e, const capture::Captured& c,
                 const std::filesystem::path& file, Outcome& out) {
  constexpr int64_t shown = 64;
  std::vector<std::pair<std::string, TensorPtr>> arrays;
  for (const capture::CarriedState& s : c.state) {
    const c10::IValue& v = e.leaves[s.input].value;
    TensorPtr t = torch_io::to_host(v.isTensor() ? v.toTensor() : torch_io::number_tensor(v));
    if (const DType stated = m.graph.inputs.at(s.input)->type.dtype;  // of --to io=half
        t->dtype() == DType::Float && is_float(stated) && byte_size(stated) == 2)
      t = Tensor::rounded(t, stated);
    arrays.emplace_back(m.graph.inputs.at(s.input)->name, t);
    out.state.push_back({s.attribute, arrays.back().first, m.graph.outputs.at(s.output)->name,
                         t->numel() <= shown ? json_text(*t) : ""});
  }
  if (!arrays.empty()) write_npz(arrays, file);
}

// Throws Failure(Usage) where standard output is to have more than one file.
void require_writable(const Options& o, const ir::Model& m, const onnx::WriteOptions& writing,
                      const capture::Captured& captured) {
  if (o.output != "-") return;
  if (onnx::needs_external(m, writing))
    throw Failure(
        ExitCode::Usage, "OE0707",
        "-o -: the model needs a file of external data, which cannot go to standard output",
        "name a file with -o, or use --external-data=never");
  if (!captured.state.empty())
    throw Failure(ExitCode::Usage, "OE0708",
                  "-o -: the model needs a file with its saved state, which cannot go to standard "
                  "output",
                  "name a file with -o, or use --state=outputs");
}

}  // namespace

void convert(const Options& o, const TemporaryFiles& files, Outcome& outcome, Diagnostics& d,
             std::ostream& out, const Stages::OnStage& on_stage) {
  outcome.opset = o.opset;
  Stages stages(o, outcome.times, out, on_stage);
  const auto failed = [&] {
    if (!d.has_errors()) return false;
    if (o.strict) d.warnings_are_errors();
    outcome.exit_code = ExitCode::Unsupported;
    return true;
  };

  stages.begin("load");
  const std::shared_ptr<verify::Ort> ort = o.verify ? load_ort(o) : nullptr;
  LoadedModel loaded(o, d);
  std::optional<torch_io::Reference> reference;
  if (ort || !o.test_data.empty()) reference.emplace(loaded.module, o.left_out);
  if (ort && loaded.rules.schemas.empty()) compare_calls(*reference, loaded.inputs, d);
  capture::Captured captured = capture_model(loaded, o, outcome, stages, d);
  if (failed()) return;
  std::optional<OnnxModel> made = onnx_model(loaded, captured, o, loaded.user_rules, stages, d);
  if (failed()) return;
  ir::Model& m = made->model;
  ir::Model& file = made->file();

  stages.begin("write");
  require_writable(o, file, made->writing, captured);
  outcome.written = onnx::write(file, made->writing, loaded.module.file.get(), files.model,
                                files.data, files.shared);
  if (o.verbosity > 0) out << ir::print(file) << std::flush;
  describe(*made, o.export_params ? m.graph.inputs.size() : loaded.own_inputs, outcome);
  write_state(m, loaded.inputs, captured, files.state, outcome);
  if (!reference) return;
  const Converted converted{o, captured, loaded.inputs, m, *reference};
  if (!o.test_data.empty()) save_test_data(converted, files.test);
  if (!ort) return;
  stages.begin("verify");
  verify_written(converted, files.model, *ort, loaded.user_rules, outcome, d);
  if (o.verbosity > 0)
    for (const verify::Covered& c : outcome.coverage)
      out << "# verified " << verify::coverage_line(c) << "\n";
}

}  // namespace oe
