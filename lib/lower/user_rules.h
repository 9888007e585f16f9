// Applies the rules of the user. An operator with a rule becomes a placeholder node until the
// ladder reaches the target opset, for which the rule's body is written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/onnx/rule_body.h"
#include "lib/rules/rules.h"
#include "lib/support/diagnostics.h"

namespace oe::lower {

class UserRules {
 public:
  struct Entry {
    const rules::NodesRule& rule;
    onnx::RuleBody body;
  };

  UserRules() = default;
  // The rules that apply at `opset`. `rules` must outlive this. Throws Failure(Usage) with file,
  // line and column for a body that cannot be parsed.
  UserRules(const rules::Rules& rules, int64_t opset);

  // The rule for "aten::add.Tensor"; null when there is none.
  const Entry* find(std::string_view op) const;

  // The domain of the placeholder nodes; their operator is the one that the rule is for.
  static constexpr std::string_view kDomain = "onnx-export.rule";

  // Replaces the placeholders by the bodies, or by calls of functions. `versions`: of domains, 1 by
  // default.
  void expand(ir::Model& m, const std::map<std::string, int64_t>& versions, Diagnostics& d) const;

 private:
  class Expansion;
  const rules::Rules* rules_ = nullptr;
  int64_t opset_ = 0;
  std::map<const rules::NodesRule*, Entry> entries_;
};

}  // namespace oe::lower
