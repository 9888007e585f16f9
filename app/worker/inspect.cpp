// `inspect FILE`: the inputs of a TorchScript file; all of an ONNX model.
#include "app/document.h"
#include "app/verbs/archive_text.h"
#include "app/worker/verbs.h"
#include "lib/onnx/summary.h"
#include "lib/pipeline/example.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

using onnx::ModelSummary;

Strings port_lines(const std::vector<ModelSummary::Port>& ports) {
  size_t width = 0;
  for (const ModelSummary::Port& p : ports) width = std::max(width, p.name.size());
  Strings lines;
  for (const ModelSummary::Port& p : ports)
    lines.push_back(p.name + std::string(width - p.name.size() + 2, ' ') + p.type);
  return lines;
}

Strings weight_lines(const ModelSummary& s, bool every) {
  if (s.weights.empty()) return {};
  uint64_t bytes = 0;
  std::map<std::string, size_t> types;
  std::vector<ModelSummary::Port> each;
  for (const ModelSummary::Tensor& w : s.weights) {
    bytes += w.bytes;
    ++types[w.type];
    each.push_back({w.name, w.type + sizes_text(w.sizes) + "  " + human_bytes(w.bytes)});
  }
  Strings names;
  for (const auto& [type, count] : types)
    names.push_back(type + (types.size() > 1 ? " " + std::to_string(count) : ""));
  Strings lines = {plural(s.weights.size(), "tensor") + ", " + human_bytes(bytes) + ", " +
                   join(names, ", ")};
  if (every)
    for (const std::string& line : port_lines(each)) lines.push_back("  " + line);
  return lines;
}

Strings data_lines(const ModelSummary& s) {
  Strings lines;
  for (const ModelSummary::DataFile& f : s.data_files) {
    std::string line = f.location + ": " + plural(f.tensors, "tensor") + ", ";
    if (!f.size)
      line += "missing";
    else if (*f.size < f.needed)
      line +=
          human_bytes(*f.size) + ", too short: " + std::to_string(f.needed) + " bytes are needed";
    else
      line += human_bytes(*f.size);
    lines.push_back(line);
  }
  for (const std::string& p : s.problems) lines.push_back(p);
  return lines;
}

std::string model_text(const Inspect& verb, const ModelSummary& s) {
  Strings opsets, functions, metadata;
  for (const auto& [domain, version] : s.opsets)
    opsets.push_back((domain.empty() ? "ai.onnx" : domain) + " " + std::to_string(version));
  for (const ModelSummary::Function& f : s.functions)
    functions.push_back(f.name + ", " + plural(f.nodes, "node"));
  for (const auto& [key, value] : s.metadata) metadata.push_back(key + "=" + value);
  const std::string producer =
      s.producer_name + (s.producer_version.empty() ? "" : " " + s.producer_version);
  return safe_line(verb.file + ": ONNX, IR version " + std::to_string(s.ir_version) + ", " +
                   human_bytes(s.bytes) + (producer.empty() ? "" : ", by " + producer)) +
         "\n" + labelled("opsets", {join(opsets, ", ")}) +
         labelled("inputs", port_lines(s.inputs)) + labelled("outputs", port_lines(s.outputs)) +
         labelled("weights", weight_lines(s, verb.tensors)) +
         labelled("data files", data_lines(s)) + labelled("functions", functions) +
         labelled("metadata", metadata) + labelled("operators", counted(s.operators));
}

ordered_json ports_json(const std::vector<ModelSummary::Port>& ports) {
  ordered_json list = ordered_json::array();
  for (const ModelSummary::Port& p : ports) list.push_back({{"name", p.name}, {"type", p.type}});
  return list;
}

ordered_json model_json(const std::string& file, const ModelSummary& s) {
  ordered_json opsets = ordered_json::object(), operators = opsets, metadata = opsets,
               weights = ordered_json::array(), files = weights, functions = weights;
  for (const auto& [domain, version] : s.opsets)
    opsets[domain.empty() ? "ai.onnx" : domain] = version;
  for (const auto& [name, count] : s.operators) operators[name] = count;
  for (const auto& [key, value] : s.metadata) metadata[key] = value;
  uint64_t bytes = 0;
  for (const ModelSummary::Tensor& w : s.weights) {
    bytes += w.bytes;
    weights.push_back({{"name", w.name},
                       {"type", w.type},
                       {"sizes", w.sizes},
                       {"bytes", w.bytes},
                       {"file", w.file}});
  }
  for (const ModelSummary::DataFile& f : s.data_files)
    files.push_back({{"location", f.location},
                     {"tensors", f.tensors},
                     {"needed", f.needed},
                     {"size", f.size ? ordered_json(*f.size) : ordered_json()}});
  for (const ModelSummary::Function& f : s.functions)
    functions.push_back({{"name", f.name}, {"nodes", f.nodes}});
  return {{"file", file},
          {"kind", "onnx"},
          {"bytes", s.bytes},
          {"ir_version", s.ir_version},
          {"producer_name", s.producer_name},
          {"producer_version", s.producer_version},
          {"domain", s.domain},
          {"model_version", s.model_version},
          {"graph", s.graph_name},
          {"doc", s.doc},
          {"opsets", opsets},
          {"inputs", ports_json(s.inputs)},
          {"outputs", ports_json(s.outputs)},
          {"operators", operators},
          {"weights", weights},
          {"weight_bytes", bytes},
          {"data_files", files},
          {"data_problems", s.problems},
          {"functions", functions},
          {"metadata", metadata}};
}

}  // namespace

void inspect(const Inspect& verb, std::ostream& out, Report& r) {
  if (!verb.onnx) {
    Options o;
    o.load.model = verb.file;
    if (!verb.method.empty()) o.load.method = verb.method;
    tell_inputs(o, r.outcome);
    return;
  }
  const ModelSummary s = onnx::summarise(verb.file);
  if (verb.json)
    out << dump(verb_document("inspect", model_json(verb.file, s), ExitCode::Ok), 2) << "\n";
  else
    out << model_text(verb, s);
}

}  // namespace oe::app
