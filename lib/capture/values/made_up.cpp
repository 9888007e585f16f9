// Values for what no example reaches.
#include "lib/capture/values/made_up.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/capture/executor.h"
#include "lib/support/trial.h"

namespace oe::capture {
namespace {

// The arguments of a call, as far as they may be others: axes and numbers that are not constant.
class Unknowns {
 public:
  Unknowns(Executor& ex, const std::vector<AbstractValue>& args, const torch::jit::Stack& stack)
      : ex_(ex), stack_(stack) {
    for (size_t i = 0; i < args.size(); ++i) add(args[i], {i, -1});
  }

  // The arguments with these sizes of unknown axes and this number for numbers (nullopt: as they
  // are). Tensors of the example keep their elements where their sizes are left alone.
  using Choice = std::map<int, int64_t>;
  torch::jit::Stack arguments(const Choice& sizes, std::optional<int64_t> number) {
    torch::jit::Stack out = stack_;
    for (const Tensor& t : tensors_)
      if (!sizes.empty()) set(out, t.place, made(t, sizes));
    for (const Number& n : numbers_) {
      const auto same = sizes.find(n.axis);
      if (same != sizes.end())
        set(out, n.place, same->second);
      else if (number)
        set(out, n.place, *number);
    }
    return out;
  }

  // All unknown axes at one size each, then every one at its own.
  std::vector<Choice> choices() const {
    std::vector<int64_t> usual = {4, 6, 3, 2, 12, 1};
    for (int64_t s : sizes_)
      if (std::ranges::find(usual, s) == usual.end() && s > 0) usual.push_back(s);
    std::vector<Choice> out = {{}};
    if (axes_.empty()) return out;
    for (int64_t s : usual) {
      Choice c;
      for (int id : axes_) c[id] = s;
      out.push_back(c);
    }
    constexpr size_t kMostAxes = 3;
    if (axes_.size() < 2 || axes_.size() > kMostAxes) return out;
    const std::vector<int> ids(axes_.begin(), axes_.end());
    std::vector<Choice> some = {{}};
    for (int id : ids) {
      std::vector<Choice> more;
      for (const Choice& c : some)
        for (int64_t s : usual) {
          Choice d = c;
          d[id] = s;
          more.push_back(d);
        }
      some = std::move(more);
    }
    out.insert(out.end(), some.begin(), some.end());
    return out;
  }
  // Whether tensors of these sizes can be had: among the numbers that may be sizes are bounds of
  // slices.
  bool within_reason(const Choice& sizes) const {
    constexpr int64_t kMostElements = int64_t{1} << 22;
    return std::ranges::all_of(tensors_, [&](const Tensor& t) {
      int64_t count = 1;
      for (int64_t n : shape_of(t, sizes)) {
        if (n < 0 || (n > 0 && count > kMostElements / n)) return false;
        count *= n;
      }
      return true;
    });
  }
  bool has_numbers() const { return !numbers_.empty(); }
  bool empty() const { return tensors_.empty() && numbers_.empty(); }

  // The tensors of a call that went well.
  void each(const torch::jit::Stack& used,
            const std::function<void(const TensorValuePtr&, const c10::IValue&)>& f) const {
    for (const Tensor& t : tensors_) f(t.value, get(used, t.place));
  }

 private:
  struct Place {
    size_t argument;
    int element;  // of a list; -1: the argument itself
  };
  struct Tensor {
    Place place;
    TensorValuePtr value;
    std::vector<int> axes;  // their ids; 0 where the size never changes
  };
  struct Number {
    Place place;
    int axis;  // that it is the size of; 0: none
  };

  void add(const AbstractValue& s, Place at) {
    if (s.is(K::Tensor)) return add_tensor(ex_.views.read(s.tensor()), at);
    if (s.is(K::Int) && s.taint != Taint::Constant) numbers_.push_back({at, s.axis_id});
    if (s.is(K::Int) && s.taint == Taint::Constant) sizes_.insert(s.c.at(0).toInt());
    if (s.is(K::List) && !s.list()->is_open() && at.element < 0)
      for (size_t k = 0; k < s.list()->items.size(); ++k)
        add(s.list()->items[k], {at.argument, static_cast<int>(k)});
  }

  void add_tensor(const TensorValuePtr& t, Place at) {
    const at::Tensor& now = get(stack_, at).toTensor();
    if (!now.defined()) return;
    Tensor tensor{at, t, {}};
    bool open = false;
    for (int64_t i = 0; i < now.dim(); ++i) {
      const bool known = t->ranked && t->axes.at(static_cast<size_t>(i)).is_static();
      const int id = known ? 0 : t->ranked ? t->axes[static_cast<size_t>(i)].id : --own_;
      if (known) sizes_.insert(now.size(i));
      if (id) axes_.insert(id);
      open = open || id;
      tensor.axes.push_back(id);
    }
    if (t->taint == Taint::Constant && !open) return;
    if (t->c.shared() || now.is_quantized() || now.layout() != c10::kStrided) return;
    tensors_.push_back(std::move(tensor));
  }

  std::vector<int64_t> shape_of(const Tensor& t, const Choice& sizes) const {
    std::vector<int64_t> shape = get(stack_, t.place).toTensor().sizes().vec();
    for (size_t i = 0; i < shape.size(); ++i)
      if (const auto s = sizes.find(t.axes[i]); t.axes[i] && s != sizes.end()) shape[i] = s->second;
    return shape;
  }

  // Indices are in range, and nothing divides by zero.
  at::Tensor made(const Tensor& t, const Choice& sizes) const {
    const at::Tensor& like = get(stack_, t.place).toTensor();
    const std::vector<int64_t> shape = shape_of(t, sizes);
    const bool whole = c10::isIntegralType(like.scalar_type(), false);
    return at::full(shape, whole ? 0 : like.scalar_type() == at::kBool ? 1 : 0.5, like.options());
  }

  static const c10::IValue& get(const torch::jit::Stack& stack, Place at) {
    const c10::IValue& v = stack[at.argument];
    return at.element < 0 ? v : (get_list(v)[static_cast<size_t>(at.element)]);
  }
  static c10::ArrayRef<c10::IValue> get_list(const c10::IValue& v) { return v.toListRef(); }
  static void set(torch::jit::Stack& stack, Place at, c10::IValue by) {
    if (at.element < 0) {
      stack[at.argument] = std::move(by);
      return;
    }
    auto list = stack[at.argument].toList().copy();
    list.set(static_cast<size_t>(at.element), by);
    stack[at.argument] = std::move(list);
  }

  Executor& ex_;
  const torch::jit::Stack& stack_;
  std::vector<Tensor> tensors_;
  std::vector<Number> numbers_;
  std::set<int> axes_;
  std::set<int64_t> sizes_;  // that never change
  int own_ = 0;
};

}  // namespace

bool MadeUp::wanted(size_t w) const {
  return plan_.made_up && ex_.worlds.active() == Worlds::only(w) && !ex_.worlds.real(w) &&
         !ex_.worlds.alone();
}

std::optional<torch::jit::Stack> MadeUp::call(size_t w, const std::vector<AbstractValue>& args,
                                              const torch::jit::Stack& stack, const Run& run) {
  constexpr int kMostTries = 500;
  Unknowns unknowns(ex_, args, stack);
  if (unknowns.empty()) return std::nullopt;
  const Trial trial(kMadeUp);
  std::vector<std::optional<int64_t>> numbers = {std::nullopt};
  if (unknowns.has_numbers()) numbers.insert(numbers.end(), {0, 1, 2, 3});
  int tries = 0;
  for (const auto& sizes : unknowns.choices()) {
    if (!unknowns.within_reason(sizes)) continue;
    for (const auto& number : numbers) {
      if (++tries > kMostTries) return std::nullopt;
      const torch::jit::Stack used = unknowns.arguments(sizes, number);
      auto results = run(used);
      if (!results) continue;
      if (!sizes.empty())
        unknowns.each(used,
                      [&](const TensorValuePtr& t, const c10::IValue& v) { replace(t, w, v); });
      return results;
    }
  }
  return std::nullopt;
}

c10::IValue MadeUp::of(const AbstractValue& number) {
  if (!number.c.empty()) return number.c.any();
  return number.is(K::Int) ? c10::IValue(1) : number.is(K::Float) ? c10::IValue(0.5) : false;
}

c10::IValue MadeUp::of(const TensorValuePtr& t, size_t w) {
  replace(t, w, t->c.any());
  return t->c.at(w);
}

void MadeUp::replace(const TensorValuePtr& t, size_t w, c10::IValue by) {
  replaced_.push_back({t, w, t->c.has(w) ? t->c.at(w) : c10::IValue()});
  t->c.set(w, std::move(by));
}

void MadeUp::take_back(size_t mark) {
  for (; replaced_.size() > mark; replaced_.pop_back()) {
    Replaced& r = replaced_.back();
    r.tensor->c.set(r.world, std::move(r.before));
  }
}

}  // namespace oe::capture
