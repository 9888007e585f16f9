// The chain load > capture > lower > optimize > legalize > check > write > verify, and nothing
// else.
#include "lib/pipeline.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>

#include "lib/capture/capture.h"
#include "lib/example.h"
#include "lib/first_difference.h"
#include "lib/functions/outline.h"
#include "lib/lower/lower.h"
#include "lib/names.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/schema.h"
#include "lib/optimize/optimize.h"
#include "lib/option_text.h"
#include "lib/support/npz.h"
#include "lib/support/text.h"
#include "lib/test_data.h"
#include "lib/to_onnx.h"
#include "lib/torch/convert.h"
#include "lib/torch/inputs.h"
#include "lib/torch/load.h"
#include "lib/torch/module_classes.h"
#include "lib/torch/reference.h"
#include "lib/torch/runtime.h"
#include "lib/torch/state.h"
#include "lib/torch/user_operators.h"
#include "lib/verify/ort.h"
#include "lib/verify/verify_model.h"

namespace oe {
namespace {

// Times the stages; the last one ends with the object.
class Clock {
 public:
  Clock(std::vector<StageTime>& times, const std::function<void(std::string_view)>& on_stage)
      : times_(times), on_stage_(on_stage) {}
  ~Clock() { end(); }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  void stage(const char* name) {
    end();
    times_.push_back({name, 0});
    start_ = Steady::now();
    if (on_stage_) on_stage_(name);
  }
  void end() {
    if (start_)
      times_.back().seconds = std::chrono::duration<double>(Steady::now() - *start_).count();
    start_.reset();
  }

 private:
  using Steady = std::chrono::steady_clock;
  std::vector<StageTime>& times_;
  const std::function<void(std::string_view)>& on_stage_;
  std::optional<Steady::time_point> start_;
};

bool wants(const Options& o, const char* after, const char* before = nullptr) {
  return std::any_of(o.print_ir.begin(), o.print_ir.end(), [&](const std::string& p) {
    return p == std::string("after:") + after || (before && p == std::string("before:") + before);
  });
}

void print_stage(const std::string& text, const char* stage, std::ostream& out) {
  out << "// after " << stage << "\n" << text << (text.ends_with('\n') ? "" : "\n");
  out.flush();
}

// Debug builds check what each stage hands on; a problem there is a bug, not the user's.
void require_well_formed([[maybe_unused]] const char* stage,
                         [[maybe_unused]] const std::vector<std::string>& problems) {
  if (problems.empty()) return;
  std::vector<std::string> first(
      problems.begin(),
      problems.begin() + std::min<std::ptrdiff_t>(5, static_cast<std::ptrdiff_t>(problems.size())));
  throw Failure(
      ExitCode::Internal, "OE0004",
      std::string("the result of stage ") + stage + " is malformed: " + join(first, "; "));
}

#ifdef NDEBUG
constexpr bool kVerifyStages = false;
#else
constexpr bool kVerifyStages = true;
#endif

// Times, prints and checks the stages between capture and the written graph.
StageWatch watch(const Options& o, Clock& clock, std::ostream& out) {
  StageWatch w;
  w.begins = [&](const char* stage) { clock.stage(stage); };
  w.ended = [&](const char* stage, const ir::Model& m) {
    const char* next = std::string_view(stage) == "lower" ? "optimize" : "legalize";
    if (wants(o, stage, next)) print_stage(ir::print(m), stage, out);
    if (kVerifyStages) require_well_formed(stage, ir::verify(m));
  };
  return w;
}

std::string port_text(const ir::Value& v) {
  const ir::Type* t = &v.type;
  std::string prefix;
  while (t->kind == ir::Type::Kind::Sequence || t->kind == ir::Type::Kind::Optional) {
    prefix += t->kind == ir::Type::Kind::Sequence ? "sequence of " : "optional ";
    t = t->element.get();
  }
  return v.name + " " + prefix + std::string(name(t->dtype)) + to_string(t->shape);
}

// Without --export-params every parameter is an input: those that nothing reads go. `own`: inputs
// that are the model's own stay.
void drop_unread_parameters(ir::Model& m, size_t own, const Options& o) {
  if (o.export_params) return;
  std::set<const ir::Value*> read(m.graph.outputs.begin(), m.graph.outputs.end());
  ir::for_each_graph(m.graph, [&](ir::Graph& g) {
    for (const auto& n : g.nodes) read.insert(n->inputs.begin(), n->inputs.end());
    read.insert(g.outputs.begin(), g.outputs.end());
  });
  auto& inputs = m.graph.inputs;
  inputs.erase(std::remove_if(inputs.begin() + static_cast<std::ptrdiff_t>(own), inputs.end(),
                              [&](const ir::Value* v) { return !read.contains(v); }),
               inputs.end());
}

// How the model is written; where its initializers are inputs too, in state_dict order.
onnx::WriteOptions write_options(ir::Model& m, const Options& o,
                                 const std::vector<std::string>& state_names) {
  onnx::WriteOptions w = o.write;
  const bool has_to = m.ir_version < 4;
  if (has_to && o.keep_initializers == KeepInitializers::No)
    throw Failure(ExitCode::Usage, "OE0225",
                  "--keep-initializers-as-inputs=no: below IR version 4 they have to be inputs",
                  "opset " + std::to_string(o.opset) + " can be written with --ir-version 4");
  w.initializers_as_inputs = has_to || o.keep_initializers == KeepInitializers::Yes;
  if (!w.initializers_as_inputs) return w;
  std::map<std::string, size_t> order;
  for (const std::string& name : state_names) order.emplace(name, order.size());
  const auto place = [&](const ir::Value* v) {
    auto it = order.find(v->name);
    // A transposed weight has its name with _t.
    if (it == order.end() && v->name.ends_with("_t"))
      it = order.find(v->name.substr(0, v->name.size() - 2));
    return it == order.end() ? order.size() : it->second;
  };
  std::stable_sort(m.graph.initializers.begin(), m.graph.initializers.end(),
                   [&](const ir::Value* a, const ir::Value* b) { return place(a) < place(b); });
  return w;
}

// `shown`: how many of the inputs are listed by name.
void describe(ir::Model& m, size_t shown, Outcome& out) {
  out.opset = m.opset();
  out.ir_version = m.ir_version;
  const auto count = [&](const ir::Graph& g) { out.nodes += g.nodes.size(); };
  ir::for_each_graph(m.graph, count);
  for (ir::Function& f : m.functions) ir::for_each_graph(f.body, count);
  for (const ir::Value* v : m.graph.initializers) out.parameter_bytes += v->data->nbytes();
  for (const ir::Value* v : m.graph.inputs)
    if (out.inputs.size() < shown) out.inputs.push_back(port_text(*v));
  out.parameter_inputs = m.graph.inputs.size() - out.inputs.size();
  for (const ir::Value* v : m.graph.outputs) out.outputs.push_back(port_text(*v));
}

// The saved state goes to `file`. Each leaf is an input of the graph and each port an output, in
// order.
void write_state(const ir::Model& m, const torch_io::ExampleInputs& e, const capture::Captured& c,
                 const std::filesystem::path& file, Outcome& out) {
  constexpr int64_t shown = 64;
  std::vector<std::pair<std::string, TensorPtr>> arrays;
  for (const capture::CarriedState& s : c.state) {
    const c10::IValue& v = e.leaves[s.input].value;
    const TensorPtr t = torch_io::to_host(v.isTensor() ? v.toTensor() : torch_io::number_tensor(v));
    arrays.emplace_back(m.graph.inputs.at(s.input)->name, t);
    out.state.push_back({s.attribute, arrays.back().first, m.graph.outputs.at(s.output)->name,
                         t->numel() <= shown ? json_text(*t) : ""});
  }
  if (!arrays.empty()) write_npz(arrays, file);
}

// Keys of --dynamic-axes that were no input have to be outputs.
void require_known_axes(const torch_io::ExampleInputs& e, const program::Program& p,
                        const Options& o) {
  std::vector<std::string> known = o.output_names;
  for (const program::Port& port : p.outputs) known.push_back(port.name);
  for (const auto& [from, to] : o.renames) known.push_back(to);
  for (const std::string& key : e.output_axes_unresolved) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    for (const torch_io::InputLeaf& l : e.leaves) known.push_back(l.name);
    std::string hint = did_you_mean(key, known);
    throw Failure(ExitCode::Usage, "OE0211",
                  "--dynamic-axes: the model has no input or output '" + key + "'",
                  hint.empty() ? "it has " + join(known, ", ") : hint);
  }
}

// Classes of --modules-as-functions have to be those of modules.
void require_known_classes(const torch::jit::Module& m, const Options& o) {
  std::vector<std::string> known;
  for (const std::string& name : torch_io::module_classes(m)) {
    known.push_back(name);
    known.push_back(name.substr(name.rfind('.') + 1));
  }
  for (const std::string& name : o.function_classes)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string hint = did_you_mean(name, known);
      throw Failure(ExitCode::Usage, "OE0226",
                    "--modules-as-functions: no module inside the model is a '" + name + "'",
                    hint.empty() && !known.empty() ? "there are " + join(known, ", ") : hint);
    }
}

std::shared_ptr<verify::Ort> load_ort(const Options& o) {
  std::string why;
  std::shared_ptr<verify::Ort> ort = verify::Ort::load(o.ort_lib, why);
  if (!ort)
    throw Failure(ExitCode::MissingPart, "OE0605", "--verify needs ONNX Runtime: " + why,
                  "name its library with --ort-lib, or leave --verify out");
  return ort;
}

verify::Request verification_request(const Options& o, const capture::Captured& c,
                                     torch_io::ExampleInputs& e, const ir::Model& m,
                                     torch_io::Reference::Form& form) {
  verify::Request r;
  r.worlds = c.worlds;
  r.atol = o.atol;
  r.rtol = o.rtol;
  r.runs = o.verify_runs;
  r.threads = o.threads;
  r.seed = o.seed;
  r.assumes = !c.assumptions.empty();
  for (size_t i = 0; i < e.leaves.size(); ++i) {
    torch_io::InputLeaf& leaf = e.leaves[i];
    r.leaf_names.push_back(renamed(leaf.name, o));
    const auto input =
        std::find_if(m.graph.inputs.begin(), m.graph.inputs.end(),
                     [&](const ir::Value* v) { return v->name == r.leaf_names.back(); });
    form.types.push_back(input == m.graph.inputs.end() ? DType::Undefined : (*input)->type.dtype);
    // What the export took as a constant has to stay what it was.
    leaf.fixed = input == m.graph.inputs.end();
    if (leaf.fixed) continue;
    r.free_leaves.push_back(i);
    const Shape& shape = (*input)->type.shape;
    for (size_t d = 0; d < leaf.axis_names.size(); ++d)
      if (!leaf.axis_names[d].empty() && shape && !(*shape)[d].is_number())
        r.axes.push_back({i, d, leaf.axis_names[d], leaf.bounds[d].first, leaf.bounds[d].second});
  }
  for (const ir::Value* v : m.graph.outputs) {
    r.output_names.push_back(v->name);
    r.shapes.push_back(v->type.shape);
    form.sequences.push_back(v->type.kind == ir::Type::Kind::Sequence);
    form.vectors.push_back(v->type.shape && v->type.shape->size() == 1);
  }
  r.lineage = verify::lineage(m);
  for (const program::Port& port : c.program.outputs) form.output_names.push_back(port.name);
  for (const capture::CarriedState& s : c.state) {
    form.output_names[s.output] = s.attribute;
    r.state.push_back({s.input, s.output});
  }
  return r;
}

std::vector<verify::OrtValue> to_ort(std::vector<torch_io::HostValue> values) {
  std::vector<verify::OrtValue> out;
  for (torch_io::HostValue& v : values) {
    verify::OrtValue value;
    if (v.sequence) {
      value.kind = verify::OrtValue::Kind::Sequence;
      value.sequence = std::move(v.tensors);
    } else {
      value.tensor = std::move(v.tensors[0]);
    }
    out.push_back(std::move(value));
  }
  return out;
}

// LibTorch's default executor runs a method by another graph once it has profiled it. Where that
// changes what comes out, the user has to know which of the two the file was compared with.
void compare_calls(torch_io::Reference& reference, const torch_io::ExampleInputs& e,
                   Diagnostics& d) {
  try {
    const auto [first, third] = reference.first_and_third(e);
    std::string what = first.size() == third.size() ? "" : "another number of results";
    for (size_t i = 0; i < first.size() && what.empty(); ++i) {
      const auto &a = first[i].tensors, &b = third[i].tensors;
      if (a.size() != b.size()) what = "result " + std::to_string(i) + ": another length";
      for (size_t k = 0; k < a.size() && what.empty(); ++k)
        if (const verify::Comparison c = verify::compare(*b[k], *a[k]); !c.ok)
          what = "result " + std::to_string(i) + ": " + c.message;
    }
    if (!what.empty())
      d.report({"OE0604", Severity::Warning, "",
                "LibTorch's own third call of the model gives something else than the first (" +
                    what + "); the file is compared with the later calls",
                "", nullptr, 0});
  } catch (const std::runtime_error&) {
    // Capture says what LibTorch refuses, with the source line.
  }
}

// The domains of nodes that ONNX Runtime has no kernels for.
std::set<std::string> foreign_domains(ir::Model& m) {
  std::set<std::string> domains, functions;
  for (const ir::Function& f : m.functions) functions.insert(f.domain);
  ir::for_each_graph(m.graph, [&](ir::Graph& g) {
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

// --save-test-data: the example, and the other sizes that LibTorch ran at.
void save_test_data(const Options& o, const capture::Captured& c, torch_io::ExampleInputs e,
                    const ir::Model& m, torch_io::Reference& reference,
                    const std::filesystem::path& folder) {
  torch_io::Reference::Form form;
  const verify::Request r = verification_request(o, c, e, m, form);
  const auto run = [&](const verify::Sizes& s) { return reference.run(e, {s, o.seed, {}}, form); };
  write_test_sets(m, r, run, folder);
}

void verify_written(const Options& o, const std::filesystem::path& model, verify::Ort& ort,
                    capture::Captured& c, torch_io::ExampleInputs e, ir::Model& m,
                    torch_io::Reference& reference, const lower::UserRules& rules, Outcome& out,
                    Diagnostics& d) {
  if (o.opset > ort.newest_opset()) {
    out.verification = "not verified: ONNX Runtime " + ort.version() + " knows opset " +
                       std::to_string(ort.newest_opset()) + " at most";
    out.exit_code = ExitCode::NotFullyVerified;
    return;
  }
  if (const std::set<std::string> domains = foreign_domains(m); !domains.empty()) {
    out.verification = "not verified: ONNX Runtime has no kernels for the nodes of " +
                       join({domains.begin(), domains.end()}, ", ");
    out.exit_code = ExitCode::NotFullyVerified;
    return;
  }
  if (const std::string op = made_up(c.program.body); !op.empty()) {
    out.verification = "not verified: LibTorch knows nothing of " + op + " but its schema";
    out.exit_code = ExitCode::NotFullyVerified;
    return;
  }
  torch_io::Reference::Form form;
  verify::Request r = verification_request(o, c, e, m, form);
  r.model = model;
  r.inputs = [&](const Draw& draw) { return torch_io::drawn_inputs(e, draw, form); };
  r.reference = [&](const Draw& draw) {
    torch_io::HostRun run = reference.run(e, draw, form);
    return verify::ReferenceRun{std::move(run.inputs), to_ort(std::move(run.outputs))};
  };
  torch_io::ExampleInputs steady = e;  // a number out of range would end a row of calls
  for (torch_io::InputLeaf& leaf : steady.leaves)
    leaf.fixed = leaf.fixed || (leaf.attribute.empty() && !leaf.value.isTensor());
  r.step = [&](const Draw& draw, bool begin) {
    torch_io::HostRun run = reference.step(steady, draw, form, begin);
    return verify::ReferenceRun{std::move(run.inputs), to_ort(std::move(run.outputs))};
  };
  r.exact = [&] { return to_ort(reference.last_in_double(form)); };
  verify::Probe probe;
  std::string unmeasured;
  if (verify::instrument(m, probe)) {
    optimize::cleanup(m);  // leaves what the conditions and trip counts depend on
    if (onnx::needs_external(m, {})) {
      unmeasured = "it depends on more than 2 GiB of weights";
    } else {
      probe.bytes = onnx::write_bytes(m);
      r.probe = &probe;
    }
  }
  verify::Verification v;
  try {
    v = verify::verify_model(ort, r);
  } catch (const std::runtime_error& e) {
    throw Failure(ExitCode::Mismatch, "OE0602",
                  std::string("ONNX Runtime does not take the model: ") + e.what());
  }
  if (!v.mismatch.empty()) {
    // Where numbers are drawn every run differs.
    const std::string first =
        v.drawn.empty() ? first_difference(c.program, v.inputs, o, rules, ort) : std::string();
    throw Failure(ExitCode::Mismatch, "OE0601",
                  v.mismatch + (first.empty() ? "" : "\n  first difference: " + first),
                  !c.assumptions.empty()
                      ? "these inputs may break what the export assumed:\n      " +
                            join(c.assumptions, "\n      ")
                      : "this is a bug in onnx-export, please report it with the model");
  }
  out.verification = v.line();
  if (!o.expected.empty()) {
    const size_t n = compare_expected(o, ort, r, e, form);
    out.verification += ", " + plural(n, "expected output");
  }
  if (v.runs == 0) v.gaps.push_back("LibTorch ran none of the random inputs");
  if (!v.gaps.empty()) {
    out.verification += "; not fully: " + join(v.gaps, "; ");
    out.exit_code = ExitCode::NotFullyVerified;
  }
  if (unmeasured.empty()) unmeasured = v.unmeasured;
  const std::string note = unmeasured.empty()
                               ? verify::unreached_note(v.coverage)
                               : "which branches the verification took is not known: " + unmeasured;
  if (!note.empty()) d.report({"OE0603", Severity::Note, "", note, "", nullptr, 0});
  if (!v.drawn.empty())
    d.report({"OE0606", Severity::Note, "",
              "random numbers determine " + join(v.drawn, ", ") +
                  ": compared were the shape and the element type" +
                  (v.draws ? ", and the moments over " + plural(v.draws, "run") : ""),
              "", nullptr, 0});
  out.coverage = std::move(v.coverage);
}

}  // namespace

void convert(const Options& o, const std::filesystem::path& model_tmp,
             const std::filesystem::path& data_tmp, const std::filesystem::path& state_tmp,
             const std::filesystem::path& test_tmp, Outcome& outcome, Diagnostics& d,
             std::ostream& out, const std::function<void(std::string_view)>& on_stage) {
  outcome.opset = o.opset;
  Clock clock(outcome.times, on_stage);
  const auto failed = [&] {
    if (!d.has_errors()) return false;
    if (o.strict) d.warnings_are_errors();
    outcome.exit_code = ExitCode::Unsupported;
    clock.end();
    return true;
  };

  clock.stage("load");
  const std::shared_ptr<verify::Ort> ort = o.verify ? load_ort(o) : nullptr;
  torch_io::configure(o);
  const rules::Rules rules = rules::read(o.symbolics, o.custom_schemas);
  const lower::UserRules user_rules(rules, o.opset);
  const auto writable = [&](std::string_view op) {
    return user_rules.find(op) || lower::has_row(op);
  };
  const torch_io::Loaded loaded = torch_io::load(o, rules);
  for (const torch_io::Loaded::Note& note : loaded.notes)
    d.report({note.code, Severity::Warning, "", note.text, "", nullptr, 0});
  require_known_classes(loaded.module, o);
  infer::Found found;
  torch_io::ExampleFiles files;
  torch_io::ExampleInputs inputs = example_inputs(o, loaded, files, found);
  std::optional<torch_io::Reference> reference;
  if (ort || !o.test_data.empty()) reference.emplace(loaded, o.left_out);
  if (ort && rules.schemas.empty()) compare_calls(*reference, inputs, d);
  find_free_axes(o, loaded, found, inputs, outcome, out);

  const size_t own_inputs = inputs.leaves.size();
  if (!o.export_params) torch_io::add_parameters(o, loaded.module, inputs);

  clock.stage("capture");
  capture::Captured captured;
  try {
    captured = capture::capture(loaded, inputs, o, writable, d);
  } catch (const Failure& f) {
    // Found without data: with data LibTorch refuses them.
    if (!found.guessed || (f.diagnostic_code != "OE2101" && f.diagnostic_code != "OE2102")) throw;
    const infer::Found refused = found;
    inputs = example_inputs(o, loaded, files, found, &refused);
    find_free_axes(o, loaded, found, inputs, outcome, out);
    if (!o.export_params) torch_io::add_parameters(o, loaded.module, inputs);
    captured = capture::capture(loaded, inputs, o, writable, d);
  }
  outcome.assumptions = captured.assumptions;
  for (const std::string& a : captured.assumptions)
    d.report({"OE0301", Severity::Warning, "", "assumed: " + a, "", nullptr, 0});
  if (failed()) return;
  if (wants(o, "capture", "lower")) print_stage(program::print(captured.program), "capture", out);
  if (kVerifyStages) require_well_formed("capture", program::verify(captured.program));
  require_known_axes(inputs, captured.program, o);

  ir::Model m = to_onnx(captured.program, o, user_rules, watch(o, clock, out), d);
  if (failed()) return;
  m.ir_version = o.ir_version.value_or(onnx::ir_version_for_opset(o.opset));
  for (const auto& [domain, version] : o.custom_opsets)
    if (!m.opsets.contains(domain))
      d.report(
          {"OE0303", Severity::Warning, "",
           "--custom-opset " + domain + "=" + std::to_string(version) + ": no node has that domain",
           "", nullptr, 0});
  if (o.write.external == onnx::WriteOptions::External::InPlace)
    optimize::keep_stored(m, [&](const Tensor& t) {
      return loaded.file->place_of(t.data(), t.nbytes()).has_value();
    });
  drop_unread_parameters(m, own_inputs, o);
  apply_names(m, o, torch_io::state_names(loaded.module), inputs.leaves.size(), d);
  const onnx::WriteOptions writing = write_options(m, o, torch_io::state_names(loaded.module));
  // Not before: a strict run lists every warning.
  if (o.strict) d.warnings_are_errors();
  if (failed()) return;
  if (wants(o, "legalize")) print_stage(ir::print(m), "legalize", out);
  if (kVerifyStages) require_well_formed("legalize", ir::verify(m));
  // The flat model is what verification looks into.
  std::optional<ir::Model> with_functions;
  if (o.modules_as_functions) {
    with_functions = ir::copy(m);
    functions::outline_modules(*with_functions, o.function_classes);
    outcome.functions = with_functions->functions.size();
    if (kVerifyStages) require_well_formed("functions", ir::verify(*with_functions));
  }
  ir::Model& file = with_functions ? *with_functions : m;

  clock.stage("check");
  if (o.checker != Checker::Off) {
    const std::string problem = onnx::check(file, o.checker == Checker::Full);
    if (!problem.empty())
      throw Failure(ExitCode::Internal, "OE0005", "the ONNX checker refuses the result: " + problem,
                    "this is a bug in onnx-export, please report it with the model");
  }

  clock.stage("write");
  if (o.output == "-" && onnx::needs_external(file, writing))
    throw Failure(
        ExitCode::Usage, "OE0707",
        "-o -: the model needs a file of external data, which cannot go to standard output",
        "name a file with -o, or use --external-data=never");
  if (o.output == "-" && !captured.state.empty())
    throw Failure(ExitCode::Usage, "OE0708",
                  "-o -: the model needs a file with its saved state, which cannot go to standard "
                  "output",
                  "name a file with -o, or use --state=outputs");
  outcome.written = onnx::write(file, writing, loaded.file.get(), model_tmp, data_tmp);
  if (o.verbosity > 0) out << ir::print(file) << std::flush;
  describe(file, o.export_params ? m.graph.inputs.size() : own_inputs, outcome);
  write_state(m, inputs, captured, state_tmp, outcome);
  if (!o.test_data.empty()) save_test_data(o, captured, inputs, m, *reference, test_tmp);

  if (ort) {
    clock.stage("verify");
    verify_written(o, model_tmp, *ort, captured, inputs, m, *reference, user_rules, outcome, d);
    if (o.verbosity > 0)
      for (const verify::Covered& c : outcome.coverage)
        out << "# verified " << verify::coverage_line(c) << "\n";
  }
  clock.end();
}

}  // namespace oe
