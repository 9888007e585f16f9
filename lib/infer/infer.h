// Inputs that nobody described, found in the file itself.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/infer/found.h"
#include "lib/support/left_out.h"
#include "lib/support/origin.h"
#include "lib/torch/inputs.h"
#include "lib/torch/load.h"

namespace oe::infer {

struct Guess;

struct Found {
  std::vector<InputSpec> specs;  // of all inputs: what was given, completed
  bool guessed = false;          // some of it is nobody's word
  bool described = false;        // only element types are
  std::map<std::string, std::map<int, std::string>>
      reasons;  // by path, then by what (argument_guess.h)
  std::map<std::string, std::map<int, std::string>> others;  // likewise: what else runs
  // Where nothing was found: what stops the nearest guess (which `specs` is), and where.
  std::string problem;
  OriginPtr origin;
  bool exhausted = true;  // all was tried
  std::shared_ptr<const Guess> guess;
};

// What is known of the inputs, completed. Tensors are tried without data, so that it takes
// milliseconds. `refused`: what was found so, and LibTorch refused with data: the search goes on
// from there with data. Throws Failure(Usage) as make_inputs() does.
Found find_inputs(const InputOptions& o, const torch_io::Loaded& m, torch_io::ExampleFiles& files,
                  const std::vector<LeftOut>& left_out, const Found* refused = nullptr);

// "\n  x, axis 1: a (linear) takes ?x5, model.py:20": why the nearest guess is what it is.
std::string reasons_text(const Found& f);

// An axis of an input at other sizes.
struct Freedom {
  bool free = false;
  std::string symbol;  // one for all axes that have to be equal
  std::string reason;  // what stops the method at another size
  int64_t most = 0;    // the largest size that runs; 0: no limit was met
};

// Which axes of the example can have other sizes, alone or together with those of other inputs that
// have the same position and size (x + y needs both): by leaf and axis. Symbols are those that
// axes have already, else made of the first one's name and position.
std::vector<std::vector<Freedom>> free_axes(const torch_io::Loaded& m,
                                            const torch_io::ExampleInputs& e);

// Names the axes whose sizes differ between the example and e.alternatives and that have no name:
// axes that have to agree share one. Throws Failure(Usage) where axes of one name have different
// sizes in one example, or sizes outside of their bounds.
void name_differing_axes(torch_io::ExampleInputs& e,
                         const std::vector<std::vector<Freedom>>& freedom);

// What LibTorch says against the example once it has data; empty: it runs.
std::string refusal(const torch_io::Loaded& m, const torch_io::ExampleInputs& e);

// Of a complete example: what --input would have to say.
std::vector<InputSpec> specs_of(const torch_io::ExampleInputs& e);

// One line each for reports.
std::vector<FoundInput> told(const Found& f, const torch_io::ExampleInputs& e,
                             const std::vector<std::vector<Freedom>>& freedom);

}  // namespace oe::infer
