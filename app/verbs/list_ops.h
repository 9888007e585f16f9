// `list-ops`: every operator, the opset from which it converts, and what it becomes.
#pragma once

#include "app/verbs/verb.h"
#include "opsets/operators.h"

namespace oe::app {

class ListOps : public Verb {
 public:
  void options(CLI::App& app) override;
  void read() override;
  std::optional<ExitCode> run(std::ostream& out) override;

 private:
  std::string since_, format_;
  int64_t opset_ = 0;  // 0: all
  enum class Format { Text, Markdown, Json } as_ = Format::Text;
};

// What it is and becomes, for `explain`.
std::string operator_text(const opsets::OperatorFacts& f);

}  // namespace oe::app
