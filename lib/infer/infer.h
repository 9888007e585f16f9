// Inference of inputs that are not described, from the file itself.
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
  std::vector<InputSpec> specs;  // of all inputs: the given ones, completed
  bool guessed = false;          // some parts were inferred
  bool described = false;        // only element types were described
  std::map<std::string, std::map<int, std::string>>
      reasons;  // by path, then by property (argument_guess.h)
  std::map<std::string, std::map<int, std::string>> others;  // likewise: other choices that run
  // If nothing was found: why and where the nearest guess (in `specs`) fails.
  std::string problem;
  OriginPtr origin;
  bool exhausted = true;  // every candidate was tried
  std::shared_ptr<const Guess> guess;
};

// Completes the inputs. Tensors are tried without data, which takes milliseconds. `refused`: an
// earlier result that LibTorch refused with data; the search continues from it with data. Throws
// Failure(Usage) as make_inputs() does.
Found find_inputs(const InputOptions& o, const torch_io::Loaded& m, torch_io::ExampleFiles& files,
                  const std::vector<LeftOut>& left_out, const Found* refused = nullptr);

// "\n  x, axis 1: a (linear) takes ?x5, model.py:20": the reasons of the nearest guess.
std::string reasons_text(const Found& f);

// An axis of an input at other sizes.
struct Freedom {
  bool free = false;
  std::string symbol;  // shared by all axes that must be equal
  std::string reason;  // why the method fails at another size
  int64_t most = 0;    // the largest size that runs; 0: no limit was met
};

// The axes of the example that can have other sizes, by leaf and axis: alone, or together with axes
// of other inputs with the same position and size (x + y needs both). Symbols are those that the
// axes already have, or are made from the first axis's name and position.
std::vector<std::vector<Freedom>> free_axes(const torch_io::Loaded& m,
                                            const torch_io::ExampleInputs& e);

// Names the axes whose sizes differ between the example and e.alternatives and that have no name:
// axes that must be equal share a name. Throws Failure(Usage) if axes with the same name have
// different sizes in one example, or sizes outside their bounds.
void name_differing_axes(torch_io::ExampleInputs& e,
                         const std::vector<std::vector<Freedom>>& freedom);

// LibTorch's reason for rejecting the example with data; empty: it runs.
std::string refusal(const torch_io::Loaded& m, const torch_io::ExampleInputs& e);

// The --input options for a complete example.
std::vector<InputSpec> specs_of(const torch_io::ExampleInputs& e);

// One line each for reports.
std::vector<FoundInput> told(const Found& f, const torch_io::ExampleInputs& e,
                             const std::vector<std::vector<Freedom>>& freedom);

}  // namespace oe::infer
