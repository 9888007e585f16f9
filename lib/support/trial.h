// What the process is trying at the moment, in memory that outlives a crash.
//
// The converter runs a model at sizes of its own choosing, and kernels that do not check their
// sizes may end the process there. The note says at which sizes, and in which operator, so that
// the run can be repeated without them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oe {

// A fixed piece of memory that two processes share; text is cut to what fits.
struct TrialNote {
  char sizes[2048];  // empty: the user's own example, or nothing at all
  char op[128];      // the operator that runs
};

// From now on the note is written into the file open as `descriptor`. Without a call it is private.
// False when that cannot be mapped.
bool share_trial_note(int descriptor);
TrialNote& trial_note();

// The sizes that are tried while the object lives; what was tried before comes back after it.
class Trial {
 public:
  explicit Trial(std::string_view sizes);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

 private:
  std::string outer_;
};
void note_operator(std::string_view op);

// Instead of sizes: an operator alone is asked which sizes it takes (lib/infer).
inline constexpr char kAsked[] = "asked for sizes";
// Instead of sizes: the model runs on inputs that are looked for.
inline constexpr char kLookedFor[] = "inputs looked for";
// Instead of sizes: an operator that no example reaches runs on values that are made up.
inline constexpr char kMadeUp[] = "made-up values";

// "x[3,4] h[1,3]": the sizes of each input, as notes and options name them.
std::string sizes_text(const std::vector<std::string>& names,
                       const std::vector<std::vector<int64_t>>& sizes);

}  // namespace oe
