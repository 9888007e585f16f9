// Times, prints (--print-ir) and checks the stages.
#include "lib/pipeline/stages.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>

#include "lib/support/text.h"

namespace oe {
namespace {

uint64_t peak_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<uint64_t>(used.ru_maxrss) << 10;
}

// A problem of what a stage hands on is a bug, not the user's.
void require_well_formed(const char* stage, const std::vector<std::string>& problems) {
  if (problems.empty()) return;
  std::vector<std::string> first(
      problems.begin(),
      problems.begin() + std::min<std::ptrdiff_t>(5, static_cast<std::ptrdiff_t>(problems.size())));
  throw Failure(
      ExitCode::Internal, "OE0004",
      std::string("the result of stage ") + stage + " is malformed: " + join(first, "; "));
}

// The tests set the variable, so that one run of the release build has what a debug build has.
bool stages_are_verified() {
#ifdef NDEBUG
  const char* wanted = std::getenv("ONNX_EXPORT_VERIFY_STAGES");
  return wanted && *wanted;
#else
  return true;
#endif
}

}  // namespace

Stages::Stages(const Options& o, std::vector<StageTime>& times, std::ostream& out, OnStage on_stage)
    : o_(o),
      times_(times),
      out_(out),
      on_stage_(std::move(on_stage)),
      verify_(stages_are_verified()) {}

void Stages::begin(const char* stage) {
  end();
  if (!o_.stop_after.empty() && !times_.empty() && times_[running_].stage == o_.stop_after &&
      o_.stop_after != stage)
    throw StoppedAfter{o_.stop_after};
  const auto known = std::ranges::find(times_, stage, &StageTime::stage);
  running_ = static_cast<size_t>(known - times_.begin());
  if (known == times_.end()) times_.push_back({stage, 0, 0});
  start_ = Steady::now();
  if (on_stage_) on_stage_(stage);
}

void Stages::end() {
  if (!start_) return;
  times_[running_].seconds += std::chrono::duration<double>(Steady::now() - *start_).count();
  times_[running_].peak_bytes = peak_bytes();
  start_.reset();
}

bool Stages::wanted(const std::string& stage, const std::string& next) const {
  return std::ranges::any_of(o_.print_ir, [&](const std::string& point) {
    return point == "after:" + stage || point == "before:" + next;
  });
}

void Stages::print(const std::string& text, const char* stage) {
  out_ << "// after " << stage << "\n" << text << (text.ends_with('\n') ? "" : "\n");
  out_.flush();
}

void Stages::made(const program::Program& p) {
  if (wanted("capture", "lower")) print(program::print(p), "capture");
  if (verify_) require_well_formed("capture", program::verify(p));
}

void Stages::made(const char* stage, const ir::Model& m) {
  const std::string_view s = stage;
  const char* next = s == "lower"               ? "optimize"
                     : s == "optimize"          ? "legalize"
                     : s == "legalize" && o_.to ? "precision"
                     : s == "name"              ? "check"
                                                : "name";
  if (wanted(stage, next)) print(ir::print(m), stage);
  if (verify_) require_well_formed(stage, ir::verify(m));
}

StageWatch Stages::watch() {
  return {[this](const char* stage) { begin(stage); },
          [this](const char* stage, const ir::Model& m) { made(stage, m); },
          [this](std::string_view pass, const ir::Model& m) {
            const std::string name(pass);
            if (wanted(name, {})) print(ir::print(m), name.c_str());
            if (verify_) require_well_formed(name.c_str(), ir::verify(m));
          }};
}

}  // namespace oe
