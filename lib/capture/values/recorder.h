// Builds the functional program while the executor runs: blocks, constants, types, origins.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/capture/values/abstract_value.h"
#include "lib/support/origin.h"
#include "lib/torch/origins.h"

namespace oe::capture {

// A dynamic axis the caller declared: its name, its size in every world, and the bounds of its size
// (inclusive).
struct Symbol {
  std::string name;
  int axis_id = 0;
  std::vector<int64_t> sizes;
  int64_t low = 1, high = INT64_MAX;
};

class Recorder {
 public:
  explicit Recorder(program::Program& p) : program_(p) { blocks_.push_back(&p.body); }

  bool on() const { return off_ == 0; }
  // While it lives, nothing is recorded.
  class Paused {
   public:
    explicit Paused(Recorder& r) : recorder_(r) { ++recorder_.off_; }
    ~Paused() { --recorder_.off_; }
    Paused(const Paused&) = delete;
    Paused& operator=(const Paused&) = delete;

   private:
    Recorder& recorder_;
  };
  void enter(program::Block* b) {
    blocks_.push_back(b);
    sizes_.emplace_back();
    sources_.emplace_back();
  }
  void leave() {
    blocks_.pop_back();
    sizes_.pop_back();
    sources_.pop_back();
  }

  program::Node* record(std::string op, program::Args args, OriginPtr origin);
  void append(std::unique_ptr<program::Node> n) { blocks_.back()->nodes.push_back(std::move(n)); }
  program::Value* add_output(program::Node* n, program::Type type, std::string name = {});

  // A tensor as an argument; constants become program constants on first use.
  program::Value* value(const TensorValuePtr& t);
  // The recorded size of the axes with this id, if one is visible from the current block.
  program::Value* size_of(int axis_id) const;
  void remember_size(int axis_id, program::Value* v) { sizes_.back()[axis_id] = v; }

  // A recorded tensor with an axis of this id that is visible from the current block.
  std::pair<program::Value*, size_t> axis_source(int axis_id) const;
  void remember_axes(const TensorValue& t);

  program::Type type_of(const TensorValue& t) const;

  void add_symbol(Symbol s) { symbols_.push_back(std::move(s)); }
  // The declared axis with this id; null where it is none.
  const Symbol* symbol(int axis_id) const;
  int new_axis_id() { return next_axis_id_++; }
  program::Program& program() { return program_; }

  OriginPtr origin(const torch::jit::Node* n, const std::string& module_path,
                   const ModuleCallPtr& call = {}) {
    return origins_.of(n, module_path, call);
  }

 private:
  std::string symbol_name(const TensorValue& t, size_t axis) const;

  program::Program& program_;
  std::vector<program::Block*> blocks_;
  std::vector<std::unordered_map<int, program::Value*>> sizes_{1};
  std::vector<std::unordered_map<int, std::pair<program::Value*, size_t>>> sources_{1};
  std::vector<Symbol> symbols_;
  int next_axis_id_ = 1;
  int off_ = 0;
  torch_io::Origins origins_;
};

}  // namespace oe::capture
