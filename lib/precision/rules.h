// What an operator does to the size of its numbers: which may be rounded to 16 bits. The table is
// the one that docs/precision.md states.
#pragma once

#include <span>
#include <string_view>

#include "lib/ir/ir.h"

namespace oe::precision {

enum class Part {
  Pointwise,  // the rest: 16 bits, but float32 where it reads what has to stay float32
  Bounded,    // the same, with results of moderate size whatever it reads
  Quotient,   // the same, but what is made of integers alone goes on being that
  Mover,      // gives elements of what it reads: of the type that these have
  Product,    // 16 bits whatever it reads: adds up in wider accumulators in every runtime
  Carrier,    // any type as it comes: Cast, Shape, ...
  Float32,    // stays float32, with results of moderate size
  Mean,       // stays float32, with results about as large as what it reads
  Wide,       // stays float32, and its results may be beyond the range of 16 bits
  Position,   // stays float32: makes numbers of integers, to count or to index with
};

struct Rule {
  std::string_view op;
  Part part;
  std::string_view why;  // where it stays float32
};

std::span<const Rule> rules();  // sorted by operator

// The rule of the node; one without operator where it has none.
const Rule& rule_of(const ir::Node& n);

}  // namespace oe::precision
