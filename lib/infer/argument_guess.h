// The arguments of a method as far as they are known, and a guess of the rest.
#pragma once

#include <ATen/core/ivalue.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/infer/shape_run.h"
#include "lib/torch/input_tree.h"

namespace oe::infer {

// What can be unknown of a place; an axis is its number.
constexpr int kRank = -1, kType = -2, kValue = -3, kLength = -4, kPresence = -5;

struct ArgumentGuess {
  enum class Kind { Given, Tensor, Number, String, List, Tuple, Dict };
  Kind kind = Kind::Given;
  std::string path;
  c10::TypePtr type;      // inside of any Optional
  bool optional = false;  // may be None
  bool present = true;    // is not
  size_t index = 0;       // in pre-order: its bit of a Mask

  c10::IValue value;  // Given, Number, String
  std::vector<int64_t> sizes;
  c10::ScalarType dtype = c10::ScalarType::Float;
  int64_t low = 0, high = 2;              // of random integers: low <= n < high
  bool unit = false;                      // random floats are from 0 to 1
  std::shared_ptr<const InputSpec> spec;  // that describes it, shared by all guesses

  std::vector<ArgumentGuess> children;
  std::vector<c10::IValue> keys;  // of a Dict

  std::map<int, bool> fixed;          // said by the user: kRank, kType, an axis
  std::map<int, std::string> reason;  // why the guess is what it is
  std::map<int, std::string> others;  // of kRank and kType: what else the method runs on

  // All sizes at once. False where they are not what is fixed.
  bool assign(const std::vector<int64_t>& to, const std::string& why);
  bool is_fixed(int what) const { return fixed.contains(what); }
  bool floating() const { return c10::isFloatingType(dtype); }
};

// A guess of all arguments.
struct Guess {
  std::vector<ArgumentGuess> arguments;

  // Every place that is a part of a call now, in pre-order.
  std::vector<ArgumentGuess*> places();
  std::vector<const ArgumentGuess*> places() const;
  // What tells two guesses apart.
  std::string key() const;
};

// The bit of a place.
Mask bit_of(size_t index);

// What a SPEC, a file or the signature says, and usual values for what nothing says. `weights`: the
// element type that most parameters have.
Guess first_guess(const std::vector<torch_io::Slot>& slots, c10::ScalarType weights, uint64_t seed,
                  torch_io::ExampleFiles& files);
// Nothing in it is guessed; `but_types`: nothing but element types.
bool is_complete(const Guess& g, bool but_types = false);

// A list's, dict's or Optional's further place of type `type`.
ArgumentGuess new_place(const c10::TypePtr& type, const std::string& path, c10::ScalarType weights);
// Numbers the places anew after some came or went.
void number(Guess& g);

// Sizes that are usual for a rank: of a batch of one.
std::vector<int64_t> usual_sizes(size_t rank);

// The arguments: tensors of more than kComputed elements without data, unless `computed`.
// `draw`: which random numbers.
Arguments arguments_of(const Guess& g, bool computed, int draw = 0);

// The SPECs that make the same arguments, all named.
std::vector<InputSpec> specs_of(const Guess& g);

}  // namespace oe::infer
