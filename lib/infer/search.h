// The search for arguments that a method runs on.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "lib/infer/argument_guess.h"

namespace oe::infer {

struct Searched {
  Guess guess;               // the answer; else the guess that came furthest
  std::optional<Stop> stop;  // where that one stopped
  bool exhausted = true;     // all was tried; false: a limit ended the search
};

// Runs the method on `start`, asks what stops it what it would take, changes what is not fixed, and
// goes on from what came further. The order is fixed and so is the limit (nodes that run), so that
// it finds the same everywhere.
// `silent`: operators that are not asked, because that ended the process once.
Searched search(const torch_io::Loaded& m, const Guess& start, c10::ScalarType weights,
                bool computed, const std::set<std::string>& silent);

}  // namespace oe::infer
