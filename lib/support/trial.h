// The sizes that the process is trying, in memory that survives a crash.
//
// The converter runs a model at sizes that it chooses, and kernels that do not check their sizes
// may crash there. The note records the sizes and the running operator, so that the run can be
// repeated without them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oe {

// A fixed block of memory that two processes share; longer text is cut.
struct TrialNote {
  char sizes[2048];  // empty: the user's own example, or nothing at all
  char op[128];      // the operator that runs
};

// Maps the file open as `descriptor` as the note's memory. Without a call the note is private.
// Returns false if the file cannot be mapped.
bool share_trial_note(int descriptor);
TrialNote& trial_note();

// Sets the sizes that are tried during the object's lifetime; its end restores the earlier ones.
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
