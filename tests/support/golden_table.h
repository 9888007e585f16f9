// opsets/operators.tsv: what every operator was seen to become, measured by the golden cases.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/program/program.h"

namespace oe::golden {

// What one case showed.
struct Seen {
  std::string label;            // orders cases that show the same
  std::vector<int64_t> opsets;  // asked of it; `-- opsets` may leave some out
  std::set<std::string> calls;  // the program's: "aten::add.Tensor"
  // Opset -> operator of the model ("aten::add") -> ONNX operators that came of it.
  std::map<int64_t, std::map<std::string, std::set<std::string>>> made;
  size_t nodes = 0;                             // at the newest opset
  std::map<std::string, std::string> refusals;  // operator -> why not at the newest opset
};

// How a call of complex numbers is called there, which has rows of its own.
std::string complex_call(std::string_view op);
void add_calls(const program::Block& b, std::set<std::string>& calls);
void add_model(int64_t opset, const ir::Model& m, Seen& seen);
// From the text of render_text().
void add_refusals(const std::string& error, Seen& seen);

std::string to_json(const Seen& s);
Seen seen_from_json(const std::string& text);

// The file: a line for each overload that is lowered and each operator made of others, with tabs
// between name, signature, kind ("lowered", "composed", "library"), the lowest opset at which a
// case converted, the lowest at which all cases of it alone did (0: none is), ONNX operators
// ("7-12 Mul Sub;13-28 Mul") and what is refused. Of the cases that reach the lowest opset, the one
// in which it becomes the fewest kinds of operators says what that is.
std::string operator_table(const std::vector<Seen>& all);
// The part of it that the code alone determines: names, signatures and kinds.
std::string without_measures(const std::string& table);
// "aten::exp: opset 12" of the lines that the cases contradict or do not show, of a table with the
// same operators. A case says nothing of opsets that were not asked of it; the newest was of all.
std::vector<std::string> contradicted(const std::string& table, const std::vector<Seen>& all);

}  // namespace oe::golden
