// The typed functional aten program: what capture hands to lowering.
//
// No mutation, no aliasing, no out=, no objects, no dicts. Numbers are distinct from 0-d tensors.
// A call is named as LibTorch registers it ("aten::add.Tensor") and its arguments follow that
// schema by position, defaults filled in. Control flow that depends on data or on dynamic sizes is
// prim::If and prim::Loop with TorchScript's own conventions:
//   If(cond)                        blocks: then, else; each block's returns are the outputs
//   Loop(max_trip, cond, state...)  block params (i, state...), returns (cond, state...)
// prim::of_rank(tensor) is a tensor without a rank, in a branch where it has one.
// prim::Optional(value) creates an optional, prim::Optional() one without a value.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lib/program/result.h"
#include "lib/support/dtype.h"
#include "lib/support/origin.h"
#include "lib/support/tensor.h"

namespace oe::program {

struct Node;
struct Block;

struct Type {
  // Int is int64, Float is float64, Bool is bool: TorchScript's numbers, not 0-d tensors.
  // List is a list whose length is not known at export (an ONNX sequence).
  enum class Kind { Tensor, Int, Float, Bool, String, List, Optional, None };
  Kind kind = Kind::Tensor;
  // Of a Tensor (Undefined: quantized, or else unknown to ONNX); Int64/Double/Bool for numbers.
  DType dtype = DType::Undefined;
  Shape shape;                          // of a Tensor
  std::shared_ptr<const Type> element;  // of List and Optional

  static Type tensor(DType d, Shape s) { return {Kind::Tensor, d, std::move(s), nullptr}; }
  static Type integer() { return {Kind::Int, DType::Int64, std::vector<Dim>{}, nullptr}; }
  static Type floating() { return {Kind::Float, DType::Double, std::vector<Dim>{}, nullptr}; }
  static Type boolean() { return {Kind::Bool, DType::Bool, std::vector<Dim>{}, nullptr}; }
  static Type list(Type element) {
    return {Kind::List, DType::Undefined, {}, std::make_shared<const Type>(std::move(element))};
  }
  static Type optional(Type element) {
    return {Kind::Optional, DType::Undefined, {}, std::make_shared<const Type>(std::move(element))};
  }
  bool is_number() const { return kind == Kind::Int || kind == Kind::Float || kind == Kind::Bool; }
};
std::string to_string(const Type& t);  // "float32[batch,3]", "int", "list(float32[?])"

struct Value {
  int id = 0;  // unique in its program; printed as %id or %name.id
  Type type;
  std::string name;          // state_dict name of a constant, debug name otherwise; may be empty
  Node* producer = nullptr;  // null for inputs, block parameters and constants
  TensorPtr constant;        // set for constants (parameters, buffers, folded tensors)
};

// Lighter than <complex>: every operator file includes this.
struct ComplexNumber {
  double real = 0, imag = 0;
  bool operator==(const ComplexNumber&) const = default;
};

// One argument of a call: absent, computed, known, or a list of arguments.
struct Arg;
using Args = std::vector<Arg>;
struct Arg {
  std::variant<std::monostate, Value*, int64_t, double, bool, ComplexNumber, std::string, Args> v;

  bool is_none() const { return std::holds_alternative<std::monostate>(v); }
  Value* value() const {
    auto* p = std::get_if<Value*>(&v);
    return p ? *p : nullptr;
  }
};

struct Node {
  std::string op;  // "aten::add.Tensor", "prim::If"
  Args args;
  std::vector<Value*> outputs;
  std::vector<std::unique_ptr<Block>> blocks;
  OriginPtr origin;
};

struct Block {
  std::vector<Value*> params;
  std::vector<std::unique_ptr<Node>> nodes;  // every value is produced before it is used
  std::vector<Arg> returns;                  // a computed value or a known number
};

struct Port {  // one input or output of the model
  std::string name;
  Arg value;
  std::string list{};  // of an output that is an element of a list: the list's name
};

struct Program {
  std::deque<Value> values;  // owns every value; addresses are stable
  std::vector<Port> inputs;  // Arg is always a Value*
  std::vector<Port> outputs;
  Results results;  // how the returned value maps to outputs
  Block body;       // its params and returns are unused; see inputs and outputs above

  Value* new_value(Type type, std::string name = {}) {
    values.push_back(
        {static_cast<int>(values.size()), std::move(type), std::move(name), nullptr, nullptr});
    return &values.back();
  }
};

// A copy with its own nodes and values; the bytes of constants are shared.
Program copy(const Program& p);

// Readable text, one line a node, nested blocks indented (for --print-ir=after:capture).
std::string print(const Program& p);
// Problems of a malformed program (use before definition, untyped tensor, wrong block arity, ...);
// empty when it is well formed. Linear in nodes.
std::vector<std::string> verify(const Program& p);

}  // namespace oe::program
