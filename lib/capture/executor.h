// The symbolic executor: interprets TorchScript in several worlds at once and records the program.
//
// It wires the objects of a run: the worlds, the heap, the recorder, the running node, and what is
// known of operators. Its own files, each one idea:
//   interpreter.cpp   functions, blocks, lifetimes; instructions.cpp: nodes that are no operators
//   inlined.cpp       what the default executor does to a graph before it runs it
//   values.cpp        inputs, constants, what the model owns, containers and attributes
//   arguments.cpp     values as arguments; taint.cpp: what they may change with
//   calls.cpp         operators: run in every world, typed, recorded or folded
//   axes/             which axes of a result are static
//   strides.cpp       sizes and strides of tensors as numbers of the graph
//   views.cpp         reading and writing through views; which results share memory
//   write_back.cpp    the inverse of every view operator
//   in_place.cpp      in-place and out= operators
//   aliases.cpp       tensors that are one or another, depending on a branch or an iteration
//   containers.cpp    operators that take containers; lists.cpp, dicts.cpp: their methods
//   open_lists.cpp    lists whose length is not known at export: the forms of their content
//   open_elements.cpp, open_list_methods.cpp, open_list_operators.cpp: what is done with it
//   control_flow.cpp  If and Loop: taken, unrolled or kept; kept_if.cpp, kept_loop.cpp
//   iterations.cpp    kept loops run to an iteration, in one world
//   state.cpp         which attributes of the model the run has changed
#pragma once

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/capture/heap.h"
#include "lib/capture/operators.h"
#include "lib/capture/recorder.h"
#include "lib/capture/site.h"
#include "lib/capture/sym.h"
#include "lib/capture/worlds.h"
#include "lib/options.h"
#include "lib/support/diagnostics.h"

namespace oe::capture {

// The model's own `raise`, met while running.
struct Raised {
  std::string message;
};
// The model asks whether a computed tensor requires a gradient: only autograd knows.
struct AsksAutograd {};

// At which iteration a world enters the kept loops: bodies are recorded with the values that worlds
// have there, so that a branch which only later iterations can run is run by somebody.
struct Iterations {
  std::map<const torch::jit::Node*, int64_t> at;
  int64_t otherwise = 0;
  bool later() const { return otherwise > 0 || !at.empty(); }
};

// A branch that no world could run when it was recorded, taken by a later iteration.
struct Missed {
  std::pair<const torch::jit::Node*, size_t> branch;
  size_t world = 0;
  Iterations iterations;  // where that was
  Failure refusal;
};

// A value with everything it refers to read at one moment (see frozen.h).
struct Frozen;
struct Iterated;
struct Slot;
struct Sample;
enum class Form;

class Executor {
 public:
  // `entries[w]`: where world w enters kept loops.
  Executor(program::Program& p, std::vector<Iterations> entries, CaptureMode mode, Diagnostics& d);

  // Loops of a known number of iterations are unrolled up to this many.
  void set_unroll(int64_t most) { unroll_ = most; }
  // Results of constant operands that are larger than these are recorded when they have more bytes
  // than `limit`; nullopt: all that are made of tensors are.
  void set_fold_limit(std::optional<int64_t> limit) { fold_limit_ = limit; }
  // Whether a loop was kept that could have been unrolled.
  bool kept_by_choice() const { return kept_by_choice_; }
  // What each world tries (lib/support/trial.h); empty for the user's own sizes.
  void set_trials(std::vector<std::string> sizes) { trials_ = std::move(sizes); }

  // Runs a method; `args` without self.
  Sym run_method(const Sym& self, const std::string& method, std::vector<Sym> args);

  // --- making values
  Sym wrap_constant(const c10::IValue& v, const std::string& name);
  Sym fresh_tensor(TensorValuePtr v);
  Sym make_list(std::vector<Sym> items, c10::TypePtr element);
  Sym make_dict(std::vector<std::pair<Sym, Sym>> items, c10::TypePtr key, c10::TypePtr value);
  TensorValuePtr input_tensor(program::Value* recorded, PerWorld c, std::vector<Axis> axes);
  Sym input_number(program::Value* recorded, PerWorld c);
  // The content of a tensor now.
  TensorValuePtr read(const std::shared_ptr<TensorHandle>& h);
  c10::IValue to_ivalue(const Sym& s, size_t world);
  program::Arg to_arg(const Sym& s);

  // A list whose length is not known as an output: a sequence, or one tensor of its numbers.
  Sym open_output(const Sym& list, const std::string& name);

  // --- what branches and loops are joined with (frozen.h, join.h, slots.h)
  Heap& heap() { return heap_; }
  Worlds& worlds() { return worlds_; }
  const OpInfo& op_named(const std::string& name) { return operators_.named(name); }
  Sym apply1(const std::string& op, const std::vector<Sym>& args) {
    return apply(op_named(op), args).at(0);
  }
  [[noreturn]] void cannot_join(const std::string& code, const std::string& message,
                                const std::string& hint) {
    site_.cannot_join(code, message, hint);
  }
  [[noreturn]] void refuse(const std::string& code, const std::string& message,
                           const std::string& hint = {}) {
    site_.refuse(code, message, hint);
  }
  Axis fresh_axis(Taint t) { return {t, recorder_.new_axis_id()}; }
  Taint taint_of(const Sym& s);
  bool equal_constants(const Sym& a, const Sym& b);
  Frozen freeze(const Sym& s);
  // `m` is the tensor at `h` when the guard is `when`.
  void may_be(const Sym& m, const Sym& guard, bool when, const TensorHandle& h);
  void relate_slot(Slot& s, const Sym& m, const Sym& guard);
  // The forms of an open list's content (open_lists.cpp).
  bool stackable(const Sym& a, const Sym& b, bool a_stacked, bool b_stacked);
  TensorValue element_type(const Sample& s);
  Sym stack_items(const std::vector<Sym>& items);
  std::optional<Sym> empty_stack(const Sym& element, bool stacked);
  Sym sequence(program::Arg recorded, PerWorld c, TensorValue element);
  TensorValue join_elements(const TensorValue& a, const TensorValue& b);
  Sym sequence_of(const std::vector<Sym>& items, const TensorValue* like);
  Sym sequence_from(const Sym& stack);
  // The content of an open list holds `from`: an element, or other content.
  static void hold(const Sym& content, const Sym& from);

  Recorder& recorder() { return recorder_; }
  const std::vector<std::string>& assumptions() const { return assumptions_; }
  // Worlds the model refused, with the reason; world 0 is never among them.
  const std::unordered_map<size_t, std::string>& dead_worlds() const { return worlds_.dead(); }
  // How many branches could be run with none of the worlds.
  size_t dropped_branches() const { return dropped_.size(); }
  // Those of them that were taken after all.
  std::vector<Missed> missed_branches() const;
  // Buffers and attributes of the model that the run has changed, with their state_dict names.
  std::vector<std::pair<std::string, Sym>> written_state();

 private:
  using JitNode = torch::jit::Node;
  using JitBlock = torch::jit::Block;
  using JitValue = torch::jit::Value;

  struct Frame {
    std::unordered_map<const JitValue*, Sym> values;
    std::string path;  // of the module whose method runs
    // Parameters and results of calls that are constants once LibTorch has inlined the calls.
    std::unordered_map<const JitValue*, JitNode*> constants;
  };

  // --- values.cpp
  Sym once(const void* identity, const std::function<Sym()>& make);
  Sym wrap_tensor(const at::Tensor& t, const std::string& name);
  Sym wrap_list(const c10::List<c10::IValue>& list, const std::string& name);
  Sym wrap_dict(const c10::Dict<c10::IValue, c10::IValue>& dict, const std::string& name);
  Sym wrap_object(c10::intrusive_ptr<c10::ivalue::Object> object, const std::string& name);
  void load_attributes(ObjectCell& o);
  Sym get_attribute(const Sym& object, const std::string& name);

  // --- interpreter.cpp, instructions.cpp
  Sym run_function(torch::jit::Function& f, std::vector<Sym> args, const std::string& path);
  // Refused where the function has no TorchScript code.
  JitBlock* code_of(torch::jit::Function& f);
  Sym run_code(JitBlock* block, std::vector<Sym> args, Frame& frame);
  // The same for a call, whose last inputs are the arguments.
  void run_callee(JitNode* n, Frame& f, torch::jit::Function& callee, std::vector<Sym> args,
                  const std::string& path);
  // The constant that `v` is in the code once calls are inlined; null: none.
  static JitNode* constant_behind(const JitValue* v, const Frame& f);
  const OpInfo& with_number_operand(const OpInfo& op, const JitNode* n, const Frame& f,
                                    std::vector<Sym>& args);
  std::vector<Sym> run_block(JitBlock* b, const std::vector<Sym>& params, Frame& f);
  struct Instruction;
  void run_node(JitNode* n, Frame& f);
  const Sym& get(const JitValue* v, Frame& f) const;
  std::vector<Sym> inputs_of(JitNode* n, Frame& f) const;
  void set(JitNode* n, Frame& f, std::vector<Sym> outputs);
  const std::vector<const JitValue*>& dead_after(const JitNode* n);
  void analyse_lifetimes(JitBlock* b);
  OriginPtr here() const { return site_.here(); }
  Sym constant_node(JitNode* n, Frame& f);

  // --- calls.cpp, arguments.cpp, taint.cpp, strides.cpp
  // A call of an operator as TorchScript makes it: effects included.
  std::vector<Sym> call_operator(const OpInfo& op, const std::vector<Sym>& args, JitNode* n);
  // A functional operator: runs in every active world, types and records (or folds) the results,
  // which are fresh. `list_length`: length a list result must have, -1 when open.
  std::vector<Sym> apply(const OpInfo& op, const std::vector<Sym>& args, int list_length = -1);
  bool rank_known(const OpInfo& op, const std::vector<Sym>& args);
  // A call whose results are made into values.
  struct Call {
    const OpInfo& op;
    const std::vector<Sym>& args;
    Taint taint;
    bool folded = false;
    program::Node* node = nullptr;  // null: nothing is recorded
  };
  Sym make_output(const Call& call, PerWorld c, size_t index);
  Sym tensor_output(const Call& call, PerWorld c, size_t index);
  Sym list_output(const Call& call, const PerWorld& c);
  TensorValuePtr typed(const Call& call, PerWorld c, size_t index);
  std::optional<torch::jit::Stack> run_in(size_t w, const OpInfo& op, const std::vector<Sym>& args,
                                          int list_length);
  std::vector<PerWorld> run_once(const OpInfo& op, const std::vector<Sym>& args, int list_length);
  std::vector<PerWorld> run_in_all(const OpInfo& op, const std::vector<Sym>& args, int list_length);
  std::optional<Sym> known_of_tensor(const OpInfo& op, const std::vector<Sym>& args);
  Taint content_taint(const OpInfo& op, const std::vector<Sym>& args);
  void require_known_types(const OpInfo& op, const std::vector<Sym>& args);
  bool is_random(const OpInfo& op, const std::vector<Sym>& args) const;
  bool stays_computed(const PerWorld& out, const std::vector<Sym>& args);
  Sym size_of(const Sym& tensor, int64_t axis);
  Sym sizes_of(const Sym& tensor);
  Sym numel_of(const Sym& tensor);
  void world_failed(size_t w, const std::string& message);
  std::vector<Axis> infer_axes(const OpInfo& op, const std::vector<Sym>& args, const PerWorld& c,
                               size_t index);

  // --- views.cpp
  void write(const std::shared_ptr<TensorHandle>& h, TensorValuePtr v);
  // Where views of `h` start: its place in the chain, whatever metadata operators do to `h` later.
  std::shared_ptr<TensorHandle> anchor(const std::shared_ptr<TensorHandle>& h);
  // `h` becomes another way to look at memory: that of `as`.
  void look_as(const std::shared_ptr<TensorHandle>& h, const TensorHandle& as);
  void alias_outputs(const OpInfo& op, const std::vector<Sym>& args, std::vector<Sym>& outputs);
  void restride(TensorValue& v, const TensorValue& like);
  Sym as_strided(const OpInfo& op, const std::vector<Sym>& args);
  // Of a tensor with dynamic axes, as products of its sizes.
  std::vector<Sym> strides_of(const Sym& tensor);
  std::optional<Sym> contiguity_of(const Sym& tensor);

  // --- write_back.cpp
  TensorValuePtr write_back(const TensorHandle& h, const TensorValuePtr& parent,
                            const TensorValuePtr& v);
  TensorValuePtr write_back_by_places(const ViewStep& step, const Sym& parent, const Sym& v);
  struct Piece {
    Sym axis, start, end;
  };
  std::optional<Piece> piece_of(const ViewStep& step, const Sym& parent);

  // --- in_place.cpp
  // True when the operator writes one of its arguments; its outputs are in `out`.
  bool writing_call(const OpInfo& op, const std::vector<Sym>& args, std::vector<Sym>& out);
  TensorValuePtr conform(const Sym& v, const TensorValuePtr& target);
  Sym cast_like(const Sym& v, const TensorValuePtr& like);
  std::vector<Sym> call_twin(const OpInfo& op, const std::vector<Sym>& args, const Sym& target);
  std::vector<Sym> call_in_place(const OpInfo& op, const std::vector<Sym>& args);
  std::vector<Sym> call_out(const OpInfo& op, const std::vector<Sym>& args);
  std::vector<Sym> call_with_statistics(const OpInfo& op, const std::vector<Sym>& args);
  void embedding_renorm(const std::vector<Sym>& args);
  void fill_diagonal(const Sym& target, const Sym& value, bool wrap);

  // --- containers.cpp, lists.cpp, dicts.cpp: nothing where the call is none of theirs
  struct ContainerOperators;
  std::optional<std::vector<Sym>> container_call(const OpInfo& op, const std::vector<Sym>& args,
                                                 JitNode* n);
  std::optional<std::vector<Sym>> list_operator(const OpInfo& op, const std::vector<Sym>& args);
  Sym tolist(const std::vector<Sym>& args, JitNode* n);
  struct ListMethods;
  std::optional<std::vector<Sym>> list_call(const OpInfo& op, const std::vector<Sym>& args);
  Sym equal_lists(const ListCell& a, const ListCell& b);
  struct NumberSearch;
  std::optional<std::vector<Sym>> search_numbers(const OpInfo& op, const std::vector<Sym>& args);
  std::vector<Sym> change_constant_list(const OpInfo& op, const std::vector<Sym>& args);
  struct DictMethods;
  std::optional<std::vector<Sym>> dict_call(const OpInfo& op, const std::vector<Sym>& args);
  // What a condition is here, if that is known.
  std::optional<bool> known_condition(const Sym& flag);
  int64_t known_int(const Sym& s, const char* what);

  // --- open_lists.cpp, open_elements.cpp and others: `content` is what ListCell::open holds
  Sym change_sequence(const std::string& op, const Sym& s, const std::vector<Sym>& args,
                      TensorValue element,
                      const std::function<void(c10::impl::GenericList&, size_t)>& change);
  std::optional<Sym> open_content(const std::vector<Sym>& items);
  Sym open_length(const Sym& content);
  // A 0-d tensor as the number that `type` says; itself where that is no number.
  Sym number_in(const Sym& tensor, const c10::TypePtr& type);
  Sym open_element(const Sym& content, const Sym& index, const c10::TypePtr& type);
  Sym open_slice(const Sym& content, const Sym& start, const Sym& end, int64_t step = 1);
  Sym open_concat(Sym a, Sym b);
  Sym backwards(const Sym& sequence);
  Sym rearranged(
      const std::string& op, const Sym& s, const std::vector<Sym>& args,
      const std::function<c10::impl::GenericList(const c10::impl::GenericList&, size_t)>& f);
  Sym open_insert(Sym content, const Sym& item, const Sym* at);
  Sym open_erase(const Sym& content, const Sym& index);
  Sym open_replace(const Sym& content, const Sym& index, const Sym& item);
  Sym content_of(const ListCell& list, const char* why);
  void set_open(ListCell& list, Sym content, const std::vector<Sym>& added);
  struct OpenListMethods;
  std::optional<std::vector<Sym>> open_list_call(const OpInfo& op, const std::vector<Sym>& args);
  struct OpenListOperators;
  std::optional<std::vector<Sym>> call_on_open(const OpInfo& op, const std::vector<Sym>& args);
  c10::IValue open_ivalue(const Sym& content, const c10::TypePtr& type, size_t world);
  bool cuts_dynamic_axis(const OpInfo& op, const std::vector<Sym>& args);
  Sym open_split(const OpInfo& op, const std::vector<Sym>& args);
  Sym tied(Sym element, const Sym& content);
  static std::shared_ptr<StorageCell> storage_of(const Sym& s);  // of a tensor or a sequence

  // --- aliases.cpp
  TensorValuePtr shaped_as(const TensorValuePtr& v, const TensorValue& target,
                           const Alternative& a);
  void conditionally(const Sym& guard, bool when, const std::function<void()>& f);
  void propagate(const std::shared_ptr<StorageCell>& s);
  void tie_wandering(const std::vector<Slot*>& slots);
  // What the ends of a loop's body are in the next iteration; true when that was not known yet.
  bool note_ends(const std::vector<std::pair<Slot*, const Frozen*>>& slots, int first_value);

  // --- state.cpp
  bool as_saved(const Sym& now, const c10::IValue& saved);

  // Runs `f` with its own scope, recording into `block` (null: where it recorded before).
  void in_scope(program::Block* block, const std::function<void()>& f);

  // --- frozen.cpp
  Frozen freeze_cell(Cell& c);
  void freeze_list(const ListCell& list, Frozen& f);
  void set_cell(Cell& c, const Sym& content);

  // --- control_flow.cpp, kept_if.cpp, kept_loop.cpp
  // Whether the If has to be kept; else `taken` is the branch to take.
  bool must_keep(const Sym& cond, size_t& taken);
  // The branches of `n`, each followed by the nodes after it when `tail` is set, as an If. Results
  // are the node's outputs, or the block's. Nothing when the branches' values cannot be joined.
  std::optional<std::vector<Sym>> kept_if(JitNode* n, Frame& f, const Sym& cond, bool tail);
  // Two ways to go on as an If: run(0) where `cond` is true, run(1) where it is not. `permissive`:
  // values that differ in kind or length become a Maybe or an open list; else nothing is given
  // back.
  struct KeptBranches;
  std::optional<std::vector<Sym>> kept_branches(const Sym& cond,
                                                const std::function<std::vector<Sym>(size_t)>& run,
                                                std::array<bool, 2> raises, bool permissive);
  std::vector<Sym> run_branch(JitNode* n, size_t k, const Frame& f, const Sym& cond, bool tail);
  std::vector<Sym> run_nodes(JitBlock* b, JitNode* first, Frame& f);
  void run_loop(JitNode* n, Frame& f);
  // A loop as it stands: its first `first` iterations were unrolled.
  struct Loop {
    JitNode* node;
    int64_t first;
    Sym trip, cond;
    std::vector<Sym> carried;
  };
  struct KeptLoop;
  void kept_loop(Loop loop, Frame& f);
  // The number of iterations where it is a constant that is no larger than `most`.
  std::optional<int64_t> known_iterations(const Loop& loop, Frame& f, int64_t most);
  bool records(const Loop& loop, Frame& f);
  // What was assumed so far; taken back with what assumed it.
  struct Noted {
    std::map<std::pair<const JitNode*, size_t>, std::string> dropped;
    std::vector<std::string> assumptions;
    std::vector<Missed> missed;
  };
  Noted noted() const { return {dropped_, assumptions_, missed_}; }
  void take_back(const Noted& n) {
    dropped_ = n.dropped;
    assumptions_ = n.assumptions;
    missed_ = n.missed;
  }
  bool kept_instead(const Loop& loop, Frame& f);

  // --- iterations.cpp
  // World w runs at most `most` iterations, unrecorded; nothing when LibTorch refuses one.
  std::optional<Iterated> iterate(const Loop& loop, Frame& f, size_t w, int64_t most);
  // What the worlds that enter the loop later have there.
  std::vector<std::optional<Iterated>> later_iterations(const Loop& loop, Frame& f,
                                                        Worlds::Set runs);
  void note_missed(const JitNode* n, size_t branch, const std::string& why);

  bool concrete_bool(const Sym& s, size_t w) { return to_ivalue(s, w).toBool(); }
  // Names something the file takes for granted, with the source line; --strict refuses it.
  void assume(const std::string& what);

  Recorder recorder_;
  Site site_{recorder_};
  Heap heap_{site_};
  Worlds worlds_;
  Operators operators_;
  CaptureMode mode_;
  Diagnostics& diagnostics_;
  int64_t unroll_ = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> fold_limit_;
  int64_t copies_ = 1;  // of the running node, by the loops around it that are unrolled
  bool kept_by_choice_ = false;
  int tails_ = 0;  // kept Ifs around the running node that hold what follows them too
  std::unordered_set<const StorageCell*> spreading_;            // a write to them is on its way
  std::vector<std::pair<const program::Value*, bool>> guards_;  // conditions known to hold
  std::vector<std::string> assumptions_;
  // Branches that no world could run when their If was recorded, with the reason.
  std::map<std::pair<const JitNode*, size_t>, std::string> dropped_;
  std::vector<Missed> missed_;
  std::vector<Iterations> entries_;
  std::vector<std::string> trials_;
  std::vector<std::pair<const JitNode*, int64_t>>
      iterations_;  // that run unrecorded, outermost first

  std::unordered_map<const JitNode*, std::vector<const JitValue*>> dead_after_;
  std::unordered_set<const JitBlock*> analysed_;
  std::unordered_map<const JitNode*, Sym> constants_;
  std::unordered_map<const void*, Sym> wrapped_;  // identity of objects and constant tensors
  struct ModelStorage {
    std::string name;
    std::shared_ptr<StorageCell> cell;
    uint64_t version;  // before the run
  };
  std::vector<ModelStorage> model_storages_;
  std::unordered_map<const void*, std::vector<std::shared_ptr<StorageCell>>> by_memory_;
  std::vector<c10::IValue> kept_alive_;  // constants whose address is their identity in wrapped_
  std::vector<std::shared_ptr<ObjectCell>> model_objects_;
};

}  // namespace oe::capture
