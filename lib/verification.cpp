// --verify and --save-test-data: the converted model beside LibTorch's own runs.
#include "lib/verification.h"

#include <algorithm>
#include <set>

#include "lib/first_difference.h"
#include "lib/names.h"
#include "lib/onnx/onnx.h"
#include "lib/optimize/optimize.h"
#include "lib/support/text.h"
#include "lib/test_data.h"
#include "lib/torch/user_operators.h"
#include "lib/verify/verify_model.h"

namespace oe {
namespace {

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

bool trains_batches(ir::Model& m) {
  bool found = false;
  ir::for_each_graph(m.graph, [&](ir::Graph& g) {
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
           "it is said in other operators";
  if (const std::string op = made_up(what.captured.program.body); !op.empty())
    return "LibTorch knows nothing of " + op + " but its schema";
  return {};
}

// Makes `m` the model that says which branches and trips its inputs drive. Returns why that cannot
// be known; the probe has no bytes then, or where there are no branches.
std::string make_probe(ir::Model& m, verify::Probe& probe) {
  if (!verify::instrument(m, probe)) return {};
  optimize::cleanup(m);  // leaves what the conditions and trip counts depend on
  if (onnx::needs_external(m, {})) return "it depends on more than 2 GiB of weights";
  probe.bytes = onnx::write_bytes(m);
  return {};
}

// Throws Failure(MissingPart).
void use_cuda(const Options& o, verify::Ort& ort) {
  const std::vector<std::string> there = ort.providers();
  const std::string wanted = "CUDAExecutionProvider", about = "ONNX Runtime " + ort.version();
  if (std::ranges::find(there, wanted) == there.end())
    throw Failure(ExitCode::MissingPart, "OE0613",
                  "--provider cuda: " + about + " has no " + wanted + ", only " + join(there, ", "),
                  "the onnxruntime-gpu wheel has it: name its library with --ort-lib");
  const size_t colon = o.device.find(':');
  try {
    ort.use_cuda(colon == std::string::npos ? 0 : std::stoi(o.device.substr(colon + 1)));
  } catch (const std::runtime_error& e) {
    throw Failure(ExitCode::MissingPart, "OE0614", "--provider cuda: " + about + ": " + e.what(),
                  "leave --provider out, and it runs on the CPU");
  }
}

}  // namespace

std::shared_ptr<verify::Ort> load_ort(const Options& o) {
  std::string why;
  std::shared_ptr<verify::Ort> ort = verify::Ort::load(o.ort_lib, why);
  if (!ort)
    throw Failure(ExitCode::MissingPart, "OE0605", "--verify needs ONNX Runtime: " + why,
                  "name its library with --ort-lib, or leave --verify out");
  if (o.provider == Provider::Cuda) use_cuda(o, *ort);
  return ort;
}

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

void save_test_data(const Converted& what, const std::filesystem::path& folder) {
  torch_io::Reference::Form form;
  torch_io::ExampleInputs e = what.inputs;
  const verify::Request r = verification_request(what.options, what.captured, e, what.model, form);
  const auto run = [&](const verify::Sizes& s) {
    return what.reference.run(e, {s, what.options.seed, {}}, form);
  };
  write_test_sets(what.model, r, run, folder);
}

void verify_written(const Converted& what, const std::filesystem::path& file, verify::Ort& ort,
                    const lower::UserRules& rules, Outcome& out, Diagnostics& d) {
  if (const std::string why = unverifiable(what, ort); !why.empty()) {
    out.verification = "not verified: " + why;
    out.exit_code = ExitCode::NotFullyVerified;
    return;
  }
  const Options& o = what.options;
  const capture::Captured& c = what.captured;
  torch_io::Reference& reference = what.reference;
  torch_io::ExampleInputs e = what.inputs;
  torch_io::Reference::Form form;
  verify::Request r = verification_request(o, c, e, what.model, form);
  r.model = file;
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
  std::string unmeasured = make_probe(what.model, probe);
  if (!probe.bytes.empty()) r.probe = &probe;
  verify::Verification v;
  try {
    v = verify::verify_model(ort, r);
  } catch (const std::runtime_error& e) {
    throw Failure(ExitCode::Mismatch, "OE0602",
                  std::string("ONNX Runtime does not take the model: ") + e.what());
  }
  if (!v.mismatch.empty()) {
    // Where numbers are drawn every run differs.
    const std::string first = v.drawn.empty()
                                  ? first_difference(what.captured.program, v.inputs, o, rules, ort)
                                  : std::string();
    throw Failure(ExitCode::Mismatch, "OE0601",
                  v.mismatch + (first.empty() ? "" : "\n  first difference: " + first),
                  !c.assumptions.empty()
                      ? "these inputs may break what the export assumed:\n      " +
                            join(c.assumptions, "\n      ")
                  : !o.symbolics.empty()
                      ? "a rule of --symbolics may say something else than its operator computes"
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

}  // namespace oe
