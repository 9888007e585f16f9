// Operators that write their arguments: in place, and into out=.
#pragma once

#include <optional>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/sym.h"

namespace oe::capture {

class Executor;

class Writes {
 public:
  explicit Writes(Executor& ex) : ex_(ex) {}

  // The results of an operator that writes one of its arguments; nothing for other operators.
  std::optional<std::vector<Sym>> call(const OpInfo& op, const std::vector<Sym>& args);

 private:
  TensorValuePtr conform(const Sym& v, const TensorValuePtr& target);
  Sym cast_like(const Sym& v, const TensorValuePtr& like);
  std::vector<Sym> call_twin(const OpInfo& op, const std::vector<Sym>& args, const Sym& target);
  std::vector<Sym> call_in_place(const OpInfo& op, const std::vector<Sym>& args);
  std::vector<Sym> call_out(const OpInfo& op, const std::vector<Sym>& args);
  std::vector<Sym> call_with_statistics(const OpInfo& op, const std::vector<Sym>& args);
  void embedding_renorm(const std::vector<Sym>& args);
  // --- resize.cpp
  bool has_sizes(const Sym& tensor, const std::vector<Sym>& sizes);
  void move(const Sym& target, const Sym& now, bool kept);
  void resize(const Sym& target, const std::vector<Sym>& sizes);
  bool resizes(const OpInfo& op, const std::vector<Sym>& args);
  void fill_diagonal(const Sym& target, const Sym& value, bool wrap);

  Executor& ex_;
};

}  // namespace oe::capture
