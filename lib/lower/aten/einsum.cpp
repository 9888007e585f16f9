// Einstein summation: ATen's equations as ONNX has them.
// https://onnx.ai/onnx/operators/onnx__Einsum.html
#include <algorithm>
#include <map>
#include <string>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// What "..." stands for: letters that the equation does not use, the last axis first. ONNX wants it
// to be as many axes everywhere, ATen does not.
std::string free_letters(const std::string& equation) {
  std::string free;
  for (char from : {'a', 'A'})
    for (char c = from; c < from + 26; ++c)
      if (equation.find(c) == std::string::npos) free += c;
  return free;
}

std::string spelled_out(const std::string& term, const std::string& free, int64_t axes) {
  const size_t dots = term.find("...");
  if (dots == std::string::npos) return term;
  std::string letters = free.substr(0, static_cast<size_t>(axes));
  std::reverse(letters.begin(), letters.end());
  return term.substr(0, dots) + letters + term.substr(dots + 3);
}

// ATen repeats an axis of size 1 along the other axes of its label, ONNX does not: it goes where it
// is known to be one, and is repeated where another may be longer.
void agree(Values& operands, std::vector<std::string>& terms, char label) {
  std::vector<std::pair<size_t, int64_t>> places;
  bool others = false;
  for (size_t i = 0; i < terms.size(); ++i)
    for (size_t k = 0; k < terms[i].size(); ++k)
      if (terms[i][k] == label) {
        places.emplace_back(i, static_cast<int64_t>(k));
        others = others || operands[i].dim(static_cast<int64_t>(k)) != 1;
      }
  if (!others) return;
  Int size = known(1);
  for (size_t p = places.size(); p-- > 0;) {  // from the back: axes in front stay where they are
    const auto [i, axis] = places[p];
    if (operands[i].dim(axis) == 1) {
      operands[i] = squeeze(operands[i], {axis});
      terms[i].erase(static_cast<size_t>(axis), 1);
      places.erase(places.begin() + static_cast<int64_t>(p));
    }
  }
  const auto [first, at] = places[0];
  const bool same = std::ranges::all_of(places, [&, first = first, at = at](const auto& p) {
    return same_dim(operands[p.first], p.second, operands[first], at);
  });
  if (same) return;
  for (const auto& [i, axis] : places) size = broadcast_size(size, size_of(operands[i], axis));
  for (const auto& [i, axis] : places) operands[i] = widened(operands[i], axis, size);
}

T einsum(Call& g, std::string equation, const Values& tensors, Rest) {
  std::erase(equation, ' ');
  const std::string free = free_letters(equation);
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::string output = "...";
  std::vector<std::string> terms;
  int64_t widest = 0;
  std::map<char, int> uses;
  Values operands;
  for (size_t i = 0, from = 0; i < tensors.size(); ++i) {
    const size_t to = std::min(left.find(',', from), left.size());
    const std::string term = left.substr(from, to - from);
    from = to + 1;
    const int64_t axes = tensors[i].rank() - static_cast<int64_t>(term.size()) + 3;
    if (term.find('.') != std::string::npos) widest = std::max(widest, axes);
    for (char c : term) ++uses[c];
    terms.push_back(spelled_out(term, free, axes));
    operands.push_back(with_dims(cast(tensors[i], g.result_dtype()), *tensors[i]->type.shape));
  }
  if (arrow != std::string::npos)
    output = equation.substr(arrow + 2);
  else  // the ellipsis, then every label used once, in alphabetical order
    for (const auto& [c, count] : uses)
      if (count == 1 && c != '.') output += c;
  std::string labels;
  for (const std::string& term : terms)
    for (char c : term)
      if (labels.find(c) == std::string::npos) labels += c;
  for (char c : labels) agree(operands, terms, c);
  std::string result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) result += "," + terms[i];
  result += "->" + spelled_out(output, free, widest);
  return node("Einsum", operands, {{"equation", result}});
}

constexpr Lowering table[] = {
    // The contraction order in `path` changes rounding only.
    op<einsum>("aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor"),
};

}  // namespace

Table einsum_rows() { return table; }

}  // namespace oe::lower
