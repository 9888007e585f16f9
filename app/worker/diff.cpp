// `diff A B`: what differs between two ONNX models. Exit code 6 where something does.
#include "lib/ir/diff.h"

#include "app/document.h"
#include "app/worker/verbs.h"
#include "lib/onnx/onnx.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

std::string line_of_difference(const ir::Difference& d) {
  std::string text = d.kind + " " + d.name + ": ";
  if (d.kind == "weight" && d.largest)
    return text + d.left + ", largest difference " + float_text(*d.largest);
  if (d.left.empty()) return text + "only in B: " + d.right;
  if (d.right.empty()) return text + "only in A: " + d.left;
  if (d.kind == "weight" && d.left == d.right) return text + d.left + ", other elements";
  return text + d.left + " | " + d.right;
}

}  // namespace

void diff(const Diff& verb, std::ostream& out, Report& r) {
  ir::Model left = onnx::read_file(verb.left), right = onnx::read_file(verb.right);
  const std::vector<ir::Difference> found = ir::diff(left, right);
  if (!found.empty()) r.outcome.exit_code = ExitCode::Mismatch;
  if (!verb.json) {
    for (const ir::Difference& d : found) out << safe_line(line_of_difference(d)) << "\n";
    return;
  }
  ordered_json list = ordered_json::array();
  for (const ir::Difference& d : found)
    list.push_back({{"kind", d.kind},
                    {"name", d.name},
                    {"a", d.left},
                    {"b", d.right},
                    {"largest", d.largest ? ordered_json(*d.largest) : ordered_json()}});
  const ordered_json members = {{"a", verb.left}, {"b", verb.right}, {"differences", list}};
  out << dump(verb_document("diff", members, r.outcome.exit_code), 2) << "\n";
}

}  // namespace oe::app
