// Times, prints (--print-ir) and checks the stages. Checks run in debug builds and where the
// environment has ONNX_EXPORT_VERIFY_STAGES.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/options/options.h"
#include "lib/pipeline/outcome.h"
#include "lib/pipeline/to_onnx.h"
#include "lib/program/program.h"

namespace oe {

// Thrown where --stop-after ends the chain.
struct StoppedAfter {
  std::string stage;
};

class Stages {
 public:
  // Hears of each stage as it begins; may be empty.
  using OnStage = std::function<void(std::string_view)>;

  // --print-ir and -v text goes to `out`. All of these have to last.
  Stages(const Options& o, std::vector<StageTime>& times, std::ostream& out, OnStage on_stage);
  ~Stages() { end(); }
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  // And ends the one before. Throws StoppedAfter where that was to be the last.
  void begin(const char* stage);
  void end();
  // The result of a stage. Throws Failure(Internal) if stages are checked and it is malformed.
  void made(const program::Program& p);
  void made(const char* stage, const ir::Model& m);
  // The two for the stages from lower on. Refers to this object.
  StageWatch watch();
  std::ostream& out() { return out_; }

 private:
  using Steady = std::chrono::steady_clock;
  bool wanted(const std::string& stage, const std::string& next) const;
  void print(const std::string& text, const char* stage);

  const Options& o_;
  std::vector<StageTime>& times_;
  std::ostream& out_;
  OnStage on_stage_;
  const bool verify_;
  std::optional<Steady::time_point> start_;
  size_t running_ = 0;  // its place in times_
};

}  // namespace oe
