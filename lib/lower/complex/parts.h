// The two parts of a complex value of the program, as values of their own.
#pragma once

#include <deque>
#include <unordered_map>

#include "lib/program/program.h"

namespace oe::lower {

bool is_complex(const program::Type& t);
bool is_complex(const program::Arg& a);  // also a list with such an element

class Parts {
 public:
  struct Pair {
    program::Value *re, *im;
  };
  // Of a value of complex type; made when first asked for.
  const Pair& of(const program::Value* v);
  // A value that is none of the program's, for a call of its parts.
  program::Value* made(program::Type type);

 private:
  std::deque<program::Value> values_;
  std::unordered_map<const program::Value*, Pair> pairs_;
};

}  // namespace oe::lower
