// Rules of the user at work: an operator with one becomes a node that stands for the rule until the
// ladder has reached the target opset, for which the rule's body is written.
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
  // Those that hold at `opset`. `rules` has to last. Throws Failure(Usage) with file, line and
  // column for a body that cannot be read.
  UserRules(const rules::Rules& rules, int64_t opset);

  // The rule for "aten::add.Tensor"; null when there is none.
  const Entry* find(std::string_view op) const;

  // The domain of the nodes that stand for rules; their operator is the one that the rule is for.
  static constexpr std::string_view kDomain = "onnx-export.rule";

  // Puts the bodies, or calls of functions, in the place of those nodes. `versions`: of domains, 1
  // where none is said.
  void expand(ir::Model& m, const std::map<std::string, int64_t>& versions, Diagnostics& d) const;

 private:
  class Expansion;
  const rules::Rules* rules_ = nullptr;
  int64_t opset_ = 0;
  std::map<const rules::NodesRule*, Entry> entries_;
};

}  // namespace oe::lower
