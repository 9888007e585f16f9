// The chain load > capture > lower > optimize > legalize > check > write > verify, and nothing
// else.
#include "lib/tasks/convert.h"

#include <memory>
#include <optional>

#include "lib/compare/verification.h"
#include "lib/onnx/onnx.h"
#include "lib/pipeline/captured_model.h"
#include "lib/pipeline/onnx_model.h"
#include "lib/support/byte_hash.h"
#include "lib/support/hashed_name.h"
#include "lib/support/npz.h"
#include "lib/support/sha256.h"
#include "lib/support/text.h"
#include "lib/torch/convert.h"

namespace oe {
namespace {

using Arrays = std::vector<std::pair<std::string, TensorPtr>>;

// The saved state. Each leaf is an input of the graph and each port an output, in order.
Arrays saved_state(const ir::Model& m, const torch_io::ExampleInputs& e, const capture::Captured& c,
                   Outcome& out) {
  constexpr int64_t shown = 64;
  Arrays arrays;
  for (const capture::PersistentState& s : c.state) {
    const c10::IValue& v = e.leaves[s.input].value;
    TensorPtr t = torch_io::to_host(v.isTensor() ? v.toTensor() : torch_io::number_tensor(v));
    if (const DType stated = m.graph.inputs.at(s.input)->type.dtype;  // of --to io=half
        t->dtype() == DType::Float && is_float(stated) && byte_size(stated) == 2)
      t = Tensor::rounded(t, stated);
    arrays.emplace_back(m.graph.inputs.at(s.input)->name, t);
    out.state.push_back({s.attribute, arrays.back().first, m.graph.outputs.at(s.output)->name,
                         t->numel() <= shown ? json_text(*t) : ""});
  }
  return arrays;
}

// The file's name, which has a hash of the arrays where the plain one is taken.
std::string state_name(const Arrays& arrays, const Options& o,
                       const std::vector<std::string>& taken) {
  ByteHash hash;
  for (const auto& [name, t] : arrays) {
    hash.add(name);
    t->stream([&](const void* bytes, size_t size) {
      hash.add({static_cast<const char*>(bytes), size});
    });
  }
  return free_name(o.state_file, hash.value(), taken);
}

// Files beside the model that could not have their plain names.
void note_other_names(const Options& o, const Outcome& out, Diagnostics& d) {
  const auto note = [&](const std::string& wanted, const std::string& name, const char* what) {
    if (name.empty() || name == wanted) return;
    d.report({"OE0305", Severity::Note, "",
              wanted + " already exists, and the old model uses it until this one replaces it: " +
                  what + name,
              "", nullptr, 0});
  };
  note(o.write.external_file, out.data_file, "the weights are in ");
  note(o.state_file, out.state_file, "the saved state is in ");
}

// Throws Failure(Usage) where standard output is to have more than one file.
void require_writable(const Options& o, const ir::Model& m, const onnx::WriteOptions& writing,
                      const capture::Captured& captured) {
  if (o.output != "-") return;
  if (onnx::needs_external(m, writing))
    throw Failure(
        ExitCode::Usage, "OE0707",
        "-o -: the model needs a file of external data, which cannot go to standard output",
        "specify a file with -o, or use --external-data=never");
  if (!captured.state.empty())
    throw Failure(ExitCode::Usage, "OE0708",
                  "-o -: the model needs a file with its saved state, which cannot go to standard "
                  "output",
                  "specify a file with -o, or use --state=outputs");
}

// "x:0=batch,2=height y:1=n", as --dynamic-axes takes it.
std::string axes_text(const torch_io::ExampleInputs& inputs) {
  std::vector<std::string> leaves;
  for (const torch_io::InputLeaf& leaf : inputs.leaves) {
    std::vector<std::string> axes;
    for (size_t i = 0; i < leaf.axis_names.size(); ++i)
      if (!leaf.axis_names[i].empty()) axes.push_back(std::to_string(i) + "=" + leaf.axis_names[i]);
    if (!axes.empty()) leaves.push_back(leaf.name + ":" + join(axes, ","));
  }
  return join(leaves, " ");
}

// Tells whoever holds the file which model and which options it was made of.
void add_metadata(const Options& o, const LoadedModel& loaded, std::string source_sha256,
                  ir::Model& file) {
  const auto add = [&](const char* key, std::string value) {
    if (!value.empty()) file.metadata.emplace_back(key, std::move(value));
  };
  add("source_sha256", std::move(source_sha256));
  add("method", loaded.module.method);
  add("dynamic_axes", axes_text(loaded.inputs));
  add("options", o.provenance.options);
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
  // Beside the conversion: a refusal does not wait for it.
  std::optional<DigestRun> digest;
  if (o.provenance.metadata) digest.emplace(loaded.module.file->descriptor());
  std::optional<torch_io::Reference> reference;
  if (ort || !o.test_data.empty()) reference.emplace(loaded.module, o.capture.left_out);
  if (ort && loaded.rules.schemas.empty()) compare_calls(*reference, loaded.inputs, d);
  capture::Captured captured = capture_model(loaded, o, outcome, stages, d);
  if (failed()) return;
  std::optional<OnnxModel> made = onnx_model(loaded, captured, o, loaded.user_rules, stages, d);
  if (failed()) return;
  ir::Model& m = made->model;
  ir::Model& file = made->file();

  stages.begin("write");
  require_writable(o, file, made->writing, captured);
  file.producer_version = o.provenance.version;
  if (digest) add_metadata(o, loaded, digest->finish(), file);
  const Arrays state = saved_state(m, loaded.inputs, captured, outcome);
  if (!state.empty()) {
    outcome.state_file = state_name(state, o, files.taken);
    file.metadata.emplace_back(kStateFileKey, outcome.state_file);
  }
  onnx::DataName data_name{files.taken, {}};
  outcome.written = onnx::write(file, made->writing, loaded.module.file.get(), files.model,
                                files.data, files.shared, &data_name);
  outcome.data_file = data_name.chosen;
  if (o.verbosity > 0) out << ir::print(file) << std::flush;
  describe(*made, loaded, o, outcome);
  if (!state.empty()) write_npz(state, files.state.parent_path() / outcome.state_file);
  note_other_names(o, outcome, d);
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
