// What the process is trying at the moment, in memory that outlives a crash.
#include "lib/support/trial.h"

#include <sys/mman.h>

#include <algorithm>

namespace oe {
namespace {

TrialNote*& note() {
  static TrialNote own{};
  static TrialNote* n = &own;
  return n;
}

template <size_t N>
void put(char (&to)[N], std::string_view text) {
  const size_t n = std::min(text.size(), N - 1);
  std::copy_n(text.data(), n, to);
  to[n] = 0;
}

}  // namespace

bool share_trial_note(int descriptor) {
  void* memory =
      mmap(nullptr, sizeof(TrialNote), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return false;
  note() = static_cast<TrialNote*>(memory);
  return true;
}

TrialNote& trial_note() { return *note(); }

Trial::Trial(std::string_view sizes) : outer_(note()->sizes) { put(note()->sizes, sizes); }
Trial::~Trial() { put(note()->sizes, outer_); }

void note_operator(std::string_view op) { put(note()->op, op); }

std::string sizes_text(const std::vector<std::string>& names,
                       const std::vector<std::vector<int64_t>>& sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += (text.empty() ? "" : " ") + names[i] + "[";
    for (size_t d = 0; d < sizes[i].size(); ++d)
      text += (d ? "," : "") + std::to_string(sizes[i][d]);
    text += "]";
  }
  return text;
}

}  // namespace oe
