// What `verify` found, as text.
#include "app/verify_text.h"

#include <algorithm>
#include <cstdio>

#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

std::string verdict_of(const Report& r, const Options& o) {
  if (r.stop) return safe_line(o.onnx_file + ": differs from " + o.load.model) + "\n";
  const bool compared = r.outcome.verification.starts_with("verified");
  const std::string verb =
      r.outcome.exit_code == ExitCode::Ok ? "agrees with " : "not fully compared with ";
  return safe_line(o.onnx_file + ": " + (compared ? verb + o.load.model + ", " : std::string()) +
                   r.outcome.verification) +
         "\n";
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", v);
  return text;
}

// Columns of texts, the first two to the left.
std::string error_table(const std::vector<verify::OutputErrors>& errors) {
  if (errors.empty()) return {};
  std::vector<std::vector<std::string>> rows = {
      {"output", "type", "largest", "ORT - LibTorch", "LibTorch - float64", "ORT - float64"}};
  for (const verify::OutputErrors& e : errors)
    rows.push_back({safe_line(e.name), safe_line(e.type), number(e.largest), number(e.between),
                    number(e.of_libtorch), number(e.of_onnx_runtime)});
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      line += (i ? "  " : "") + (i < 2 ? row[i] + blanks : blanks + row[i]);
    }
    text += line + "\n";
  }
  return text;
}

std::string special_line(const std::vector<verify::SpecialRun>& special) {
  std::vector<std::string> agree, differ, refused;
  for (const verify::SpecialRun& s : special) {
    if (!s.ran)
      refused.push_back(s.values);
    else if (s.difference.empty())
      agree.push_back(s.values);
    else
      differ.push_back(s.values + ": " + s.difference);
  }
  std::vector<std::string> parts;
  if (!agree.empty()) parts.push_back(join(agree, ", ") + " agree");
  parts.insert(parts.end(), differ.begin(), differ.end());
  if (!refused.empty()) parts.push_back("LibTorch refuses " + join(refused, ", "));
  return parts.empty() ? "" : safe_line("special values: " + join(parts, "; ")) + "\n";
}

}  // namespace

std::string verify_text(const Report& r, const Options& o) {
  if (r.stop && r.stop->exit_code != ExitCode::Mismatch) return {};
  return verdict_of(r, o) + error_table(r.outcome.errors) + special_line(r.outcome.special);
}

}  // namespace oe::app
