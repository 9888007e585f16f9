// The result of a conversion as text.
#include "app/report.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

using Strings = std::vector<std::string>;

// "in float16: 53 of 60 nodes; kept in float32: 5 Softmax, 2 ReduceMean"
std::string precision_text(const precision::Summary& s) {
  std::string text = ", in " + std::string(name(s.half)) + ": " + std::to_string(s.nodes) + " of " +
                     plural(s.of, "node");
  std::map<std::string, size_t> count;
  for (const precision::Kept& k : s.kept) count[k.op] += k.nodes;
  std::vector<std::pair<std::string, size_t>> ops(count.begin(), count.end());
  std::ranges::stable_sort(ops, std::ranges::greater{}, [](const auto& o) { return o.second; });
  constexpr size_t shown = 8;
  size_t rest = 0;
  Strings kept;
  for (const auto& [op, nodes] : ops)
    if (kept.size() < shown)
      kept.push_back(std::to_string(nodes) + " " + op);
    else
      rest += nodes;
  if (rest > 0) kept.push_back(std::to_string(rest) + (rest == 1 ? " other" : " others"));
  return text + (kept.empty() ? "" : "; kept in float32: " + join(kept, ", "));
}

std::string some_ports(const char* one, const std::vector<Port>& list) {
  if (list.empty()) return {};
  constexpr size_t shown = 4;
  Strings head;
  for (size_t i = 0; i < std::min(shown, list.size()); ++i) head.push_back(to_string(list[i]));
  std::string text = std::string(", ") + one + (list.size() > 1 ? "s " : " ") + join(head, " ");
  if (list.size() > shown) text += " and " + std::to_string(list.size() - shown) + " more";
  return text;
}

std::string ports(const Outcome& out) {
  std::string text = some_ports("input", out.inputs);
  if (out.parameter_inputs > 0) text += " and " + plural(out.parameter_inputs, "parameter");
  return text + some_ports("output", out.outputs);
}

}  // namespace

bool usable(ExitCode code) { return code == ExitCode::Ok || code == ExitCode::NotFullyVerified; }

bool weights_outside(const Outcome& out, const Options& o) {
  return out.written.external || o.write.external == onnx::WriteOptions::External::InPlace;
}

Stop stop_of(const Failure& f) {
  return {f.exit_code, f.diagnostic_code, f.what(), f.hint, f.origin};
}

std::string stop_text(const Stop& s, size_t most) {
  std::string text = "error: " + safe_block(cut_text(s.message, most));
  if (!s.code.empty()) text += "  [" + s.code + "]";
  text += "\n";
  if (s.origin && s.origin->line > 0)
    text += "      " +
            safe_line((s.origin->module_path.empty() ? "" : s.origin->module_path + "    ") +
                      s.origin->file + ":" + std::to_string(s.origin->line) + "    " +
                      cut_text(s.origin->text, kShownMessage)) +
            "\n";
  if (!s.hint.empty()) text += "hint: " + safe_block(cut_text(s.hint, most)) + "\n";
  return text;
}

std::string summary(const Report& r, const Options& o) {
  const Outcome& out = r.outcome;
  if (!out.stopped_after.empty())
    return safe_line("(not written) " + o.output + ": stopped after " + out.stopped_after);
  std::string text = (o.dry_run ? "(not written) " : "") + o.output + ": opset " +
                     std::to_string(out.opset) + ", " + plural(out.nodes, "node");
  if (out.functions) text += ", " + plural(*out.functions, "function");
  text += ", " + human_bytes(out.written.model_bytes + out.written.data_bytes);
  if (weights_outside(out, o)) text += " (weights in " + out.data_file + ")";
  text += ports(out);
  if (out.precision) text += precision_text(*out.precision);
  if (!out.state.empty()) text += ", saved state in " + out.state_file;
  if (!out.assumptions.empty()) text += ", " + plural(out.assumptions.size(), "assumption");
  if (!out.verification.empty()) text += ", " + out.verification;
  return safe_line(text);
}

std::string verdict(const Report& r, const Options& o) {
  const Outcome& out = r.outcome;
  std::string text = safe_line(
      o.load.model + (o.load.methods.empty() ? ": " : ", method " + o.load.method + ": "));
  if (r.stop)
    return text + "not known: the first obstacle ended the run, and the rest was not checked";
  const auto lowest = [&] {
    return out.lowest_opset ? "; it does from opset " + std::to_string(out.lowest_opset) + " on"
                            : std::string();
  };
  const std::string opset = "at opset " + std::to_string(out.opset);
  if (!r.diagnostics.has_errors())
    return text + "converts " + opset + ", " + plural(out.nodes, "node") + safe_line(ports(out));
  return text + "does not convert " + opset + lowest();
}

std::string opset_table(const Outcome& o) {
  std::string text = "opset  converts  obstacles  nodes\n";
  for (const AtOpset& at : o.opsets) {
    char line[64];
    if (at.converts)
      std::snprintf(line, sizeof line, "%5d  yes       %9s  %5zu\n", static_cast<int>(at.opset), "",
                    at.nodes);
    else
      std::snprintf(line, sizeof line, "%5d  no        %9zu\n", static_cast<int>(at.opset),
                    at.obstacles);
    text += line;
  }
  return text +
         (o.lowest_opset ? "lowest opset that works: " + std::to_string(o.lowest_opset)
                         : "no opset works") +
         "\n";
}

std::string found_line(const Outcome& o) {
  if (o.found.empty()) return {};
  Strings texts;
  for (const infer::FoundInput& in : o.found) texts.push_back(infer::short_text(in));
  return safe_line("inputs found: " + join(texts, " ") + "; --input changes them") + "\n";
}

std::string time_table(const Outcome& o) {
  std::string text;
  StageTime total{"total", 0, 0};
  const auto row = [&](const StageTime& t) {
    char line[96];
    std::snprintf(line, sizeof line, "%-10s %8.3f s  %8s\n", safe_line(t.stage).c_str(), t.seconds,
                  human_bytes(t.peak_bytes).c_str());
    text += line;
  };
  for (const StageTime& t : o.times) {
    row(t);
    total.seconds += t.seconds;
    total.peak_bytes = std::max(total.peak_bytes, t.peak_bytes);
  }
  row(total);
  return text;
}

}  // namespace oe::app
