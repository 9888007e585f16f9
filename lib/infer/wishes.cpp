// What an operator that refused its arguments would have taken.
#include "lib/infer/wishes.h"

#include <ATen/core/List.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

#include "lib/infer/argument_guess.h"
#include "lib/infer/shadow.h"
#include "lib/support/trial.h"
#include "lib/torch/runtime.h"

namespace oe::infer {
namespace {

using Sizes = std::vector<int64_t>;

constexpr size_t kEnough = 16;                  // wishes of one operand
constexpr size_t kAttempts = 1500;              // about one operand
constexpr double kMostAsked = double{1 << 30};  // elements

class Asked {
 public:
  Asked(const Stop& stop, Mask unknown)
      : op_(*stop.site.node->maybeOperator()), operands_(stop.operands), unknown_(unknown) {
    name_ = stop.site.node->kind().toQualString();
    complaint_ = outline(stop.message);
  }

  size_t attempts() const { return all_attempts_; }

  std::vector<Wish> wishes() {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!(operands_[i].mask & unknown_)) continue;
      const c10::IValue& v = operands_[i].value;
      if (v.isTensor() && v.toTensor().defined()) {
        ask(i, -1, v.toTensor());
      } else if (v.isTensorList()) {
        const auto list = v.toListRef();
        // A cell's two states have to be right at once.
        if (list.size() > 1 && list.size() < 4 && list[0].toTensor().defined())
          ask(i, kEach, list[0].toTensor());
        for (size_t e = 0; e < list.size(); ++e)
          if (list[e].isTensor() && list[e].toTensor().defined())
            ask(i, static_cast<int>(e), list[e].toTensor());
      }
    }
    // Where two operands are wrong, what makes the operator complain of something else is a step.
    constexpr size_t kSteps = 6;
    if (wishes_.empty()) {
      partial_.resize(std::min(partial_.size(), kSteps));
      return std::move(partial_);
    }
    return std::move(wishes_);
  }

 private:
  void ask(size_t operand, int element, const at::Tensor& t) {
    operand_ = operand;
    element_ = element;
    found_ = attempts_ = 0;
    gather(operand, element);
    if (element < 0 && operand == 0) ask_for_elements(t);
    const std::vector<c10::ScalarType> all = types(t);
    for (size_t i = 1; i < all.size(); ++i) {
      type_ = all[i];
      attempt(t.sizes().vec());
    }
    if (found_) return;  // only its type was wrong
    for (const c10::ScalarType type : all) {
      type_ = type;
      const size_t before = wishes_.size();
      pairs_ = type == t.scalar_type();  // many attempts: not for every type
      change_one(t.sizes().vec());
      change_everywhere(t.sizes().vec());
      align(t.sizes().vec());
      change_two(t.sizes().vec());
      grow(t.sizes().vec());
      change_rank(t);
      // Another type is asked for only where its own does not do.
      if (wishes_.size() > before) return;
    }
  }

  // view, reshape and their kin look at the number of elements.
  void ask_for_elements(const at::Tensor& t) {
    static const std::set<std::string> reshapes = {"aten::view", "aten::reshape",
                                                   "aten::_unsafe_view", "aten::unflatten"};
    if (!reshapes.contains(name_)) return;
    int64_t product = 1;
    bool rest = name_ == "aten::unflatten";
    for (const Sizes& list : lists_)
      for (const int64_t n : list) {
        rest = rest || n < 0;
        if (n > 0 && product < int64_t{1} << 31) product *= std::min(n, int64_t{1} << 31);
      }
    if (product > 1) wishes_.push_back({operand_, element_, {}, t.scalar_type(), product, rest});
  }

  // Sizes and numbers that the other operands have.
  void gather(size_t operand, int element) {
    pool_.clear();
    lists_.clear();
    ranks_.clear();
    std::vector<int64_t> numbers;
    // Nearest first: sizes of what inputs were made of, numbers, then weights.
    for (size_t i = 0; i < operands_.size(); ++i)
      if (i != operand && operands_[i].mask)
        for_each_tensor(operands_[i].value, [&](const at::Tensor& t) {
          if (t.defined())
            for (const int64_t n : t.sizes()) add_number(n);
        });
    for (const Cell& c : operands_)
      if (c.value.isInt()) add_number(c.value.toInt());
    const auto add_list = [&](const Sizes& s) {
      if (!s.empty() && std::find(lists_.begin(), lists_.end(), s) == lists_.end())
        lists_.push_back(s);
    };
    for (size_t i = 0; i < operands_.size(); ++i) {
      const c10::IValue& v = operands_[i].value;
      if (v.isInt()) numbers.push_back(v.toInt());
      if (v.isIntList()) {
        add_list(v.toIntVector());
        for (const int64_t n : v.toIntVector()) numbers.push_back(n);
      }
      if (v.isObject())  // weights that were packed
        for (const c10::IValue& slot : v.toObjectRef().slots())
          for_each_tensor(slot, [&](const at::Tensor& t) {
            if (t.defined()) add_list(t.sizes().vec());
          });
      int k = 0;
      for_each_tensor(v, [&](const at::Tensor& t) {
        const bool itself = i == operand && (element < 0 || k == element);
        ++k;
        if (itself || !t.defined()) return;
        add_highest(t);
        add_list(t.sizes().vec());
        ranks_.insert(t.dim());
        others_.insert(t.scalar_type());
      });
    }
    for (const Sizes& s : lists_)
      for (const int64_t n : s) add_number(n);
    for (const int64_t n : numbers) add_number(n);
    const Sizes plain = pool_;
    // Grouped convolutions and stacked gates: a product or a quotient of a size and a number.
    for (const int64_t a : plain)
      for (const int64_t b : numbers)
        if (b > 1 && b <= 4096) {
          add_number(a * b);
          if (a % b == 0) add_number(a / b);
        }
    for (const int64_t a : plain)
      for (const int64_t gates : {3, 4})
        if (a % gates == 0) add_number(a / gates);
    for (const int64_t n : numbers)
      if (n >= 0 && n < 1 << 20) add_number(n + 1);
    // 1 goes with everything, and is seldom meant.
    if (const auto one = std::find(pool_.begin(), pool_.end(), 1); one != pool_.end())
      std::rotate(one, one + 1, pool_.end());
  }

  // What indices choose from has to be as long.
  void add_highest(const at::Tensor& t) {
    if (c10::isIntegralType(t.scalar_type(), /*includeBool=*/false) && !t.is_meta() &&
        t.numel() > 0)
      add_number(t.max().item().toLong() + 1);
  }

  void add_number(int64_t n) {
    if (n > 0 && n < (1 << 26) && pool_.size() < 40 &&
        std::find(pool_.begin(), pool_.end(), n) == pool_.end())
      pool_.push_back(n);
  }

  std::vector<c10::ScalarType> types(const at::Tensor& t) const {
    std::vector<c10::ScalarType> all = {t.scalar_type()};
    const auto add = [&](c10::ScalarType s) {
      if (std::find(all.begin(), all.end(), s) == all.end()) all.push_back(s);
    };
    for (const c10::ScalarType s : others_) add(s);
    for (const c10::ScalarType s :
         {c10::ScalarType::Float, c10::ScalarType::Long, c10::ScalarType::Bool,
          c10::ScalarType::Double, c10::ScalarType::Byte, c10::ScalarType::Int,
          c10::ScalarType::Half, c10::ScalarType::BFloat16, c10::ScalarType::ComplexFloat})
      add(s);
    return all;
  }

  void attempt(const Sizes& sizes) {
    if (found_ >= kEnough || attempts_ >= kAttempts) return;
    if (!everywhere_ && !tried_.insert({operand_, element_, type_, sizes}).second) return;
    double n = 1;
    for (const int64_t s : sizes) n *= static_cast<double>(s);
    if (n > kMostAsked) return;
    ++attempts_;
    ++all_attempts_;
    // Without numbers first, however small: kernels that compute may not check what they are given.
    const auto options = at::TensorOptions().dtype(type_);
    try {
      run_with(at::empty(sizes, options.device(c10::kMeta)));
      // Which types a kernel takes only the kernel knows.
      if (n <= kComputed && !everywhere_) run_with(with_numbers(sizes));
    } catch (const std::exception& e) {
      if (single_ && outline(torch_io::message_of(e)) != complaint_)
        partial_.push_back({operand_, element_, sizes, type_, 0, false});
      return;
    }
    ++found_;
    wishes_.push_back({operand_, element_, sizes, type_, 0, false});
  }

  // The operand's own numbers, as many as it takes: an index stays as large as it is. Floats say
  // nothing of the integers that should be there.
  at::Tensor with_numbers(const Sizes& sizes) const {
    const at::Tensor old = tensor_at(operands_, operand_, element_ == kEach ? 0 : element_);
    const bool floating = c10::isFloatingType(type_);
    if (old.is_meta() || old.numel() == 0 || old.is_floating_point() != floating)
      return at::zeros(sizes, at::TensorOptions().dtype(type_));
    const int64_t n = c10::multiply_integers(sizes);
    const at::Tensor flat = old.detach().reshape({-1}).to(type_);
    return flat.repeat({n / flat.numel() + 1}).slice(0, 0, n).reshape(sizes);
  }

  void run_with(const at::Tensor& t) const {
    torch::jit::Stack stack;
    for (const Cell& c : operands_) stack.push_back(c.value);
    put(stack, t);
    if (op_.schema().is_vararg()) stack.emplace_back(static_cast<int64_t>(operands_.size()));
    run_operator(op_, stack);
  }

  // Where the same tensor stands twice (as query, key and value), it changes everywhere.
  void put(torch::jit::Stack& stack, const at::Tensor& t) const {
    const at::Tensor old = tensor_at(operands_, operand_, element_ == kEach ? 0 : element_);
    for (c10::IValue& v : stack)
      if (v.isTensor() && v.toTensor().is_same(old)) v = t;
    if (everywhere_)
      for (size_t i = 0; i < operands_.size(); ++i)
        if (i != operand_ && operands_[i].mask) stack[i] = map_tensors(stack[i], everywhere_);
    if (element_ == -1) return;
    auto list = stack[operand_].toTensorList().copy();
    for (size_t i = 0; i < list.size(); ++i)
      if (element_ == kEach || static_cast<int>(i) == element_) list.set(i, t);
    stack[operand_] = std::move(list);
  }

  void change_one(const Sizes& sizes) {
    single_ = pairs_;
    change_each(sizes);
    single_ = false;
  }

  void change_each(const Sizes& sizes) {
    for (size_t k = sizes.size(); k-- > 0;)
      for (const int64_t n : pool_) {
        Sizes s = sizes;
        s[k] = n;
        attempt(s);
      }
  }

  // A size that the others made of inputs have too (queries and keys) changes in all of them. The
  // wish is about this one: the others follow from the same input.
  void change_everywhere(const Sizes& sizes) {
    if (found_ || element_ != -1) return;
    for (const int64_t from : std::set<int64_t>(sizes.rbegin(), sizes.rend()))
      for (const int64_t to : pool_) {
        if (from == to) continue;
        const auto changed = [&](Sizes s) {
          std::replace(s.begin(), s.end(), from, to);
          return s;
        };
        everywhere_ = [&](const at::Tensor& t) {
          return at::empty(changed(t.sizes().vec()), t.options().device(c10::kMeta));
        };
        attempt(changed(sizes));
        everywhere_ = nullptr;
        if (found_) return;
      }
  }

  void change_two(const Sizes& sizes) {
    if (found_ || !pairs_) return;
    std::vector<int64_t> near(
        pool_.begin(),
        pool_.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(pool_.size(), 12)));
    near.push_back(1);
    for (size_t k = sizes.size(); k-- > 0;)
      for (size_t j = k; j-- > 0;)
        for (const int64_t n : near)
          for (const int64_t m : near) {
            Sizes s = sizes;
            s[k] = n;
            s[j] = m;
            attempt(s);
            if (found_ >= 4) return;
          }
  }

  // Its last axes, or its first, are those of another operand.
  void align(const Sizes& sizes) {
    for (const Sizes& other : lists_) {
      if (std::any_of(other.begin(), other.end(), [](int64_t n) { return n <= 0; })) continue;
      const size_t n = std::min(other.size(), sizes.size());
      Sizes s = sizes;
      std::copy(other.end() - static_cast<std::ptrdiff_t>(n), other.end(),
                s.end() - static_cast<std::ptrdiff_t>(n));
      attempt(s);
      s = sizes;
      std::copy_n(other.begin(), n, s.begin());
      attempt(s);
      if (n >= 2) {  // all but the batch, or all but the channels
        s = sizes;
        std::copy(other.end() - static_cast<std::ptrdiff_t>(n - 1), other.end(),
                  s.end() - static_cast<std::ptrdiff_t>(n - 1));
        attempt(s);
      }
    }
  }

  void grow(const Sizes& sizes) {
    if (found_) return;
    for (const int64_t factor : {2, 4, 16, 64, 1024})
      for (size_t from = sizes.size(); from-- > 0;) {
        Sizes s = sizes;
        s[from] = std::max<int64_t>(s[from], 1) * factor;
        attempt(s);
        if (found_) return;
        for (size_t k = from + 1; k < s.size(); ++k) s[k] = std::max<int64_t>(s[k], 1) * factor;
        attempt(s);
        if (found_) return;
      }
  }

  void change_rank(const at::Tensor& t) {
    std::vector<int64_t> ranks;
    const auto add = [&](int64_t r) {
      if (r >= 0 && r <= 6 && r != t.dim() &&
          std::find(ranks.begin(), ranks.end(), r) == ranks.end())
        ranks.push_back(r);
    };
    for (auto it = ranks_.rbegin(); it != ranks_.rend(); ++it) add(*it);
    for (const Sizes& list : lists_) add(static_cast<int64_t>(list.size()));
    for (const int64_t d : {1, 2, -1, -2, 3}) add(t.dim() + d);
    const size_t mine = found_;
    for (const int64_t r : ranks) {
      if (found_ > mine + 4) return;
      found_ = std::min(found_, kEnough - 5);
      const Sizes base = usual_sizes(static_cast<size_t>(r));
      const size_t before = found_;
      attempt(base);
      if (found_ > before) continue;
      change_one(base);
      if (found_ > before) continue;
      align(base);
      if (found_ == before) {
        found_ = 0;
        change_two(base);
      }
    }
  }

  const torch::jit::Operator& op_;
  const std::vector<Cell>& operands_;
  const Mask unknown_;
  std::string name_;
  size_t operand_ = 0;
  int element_ = -1;
  c10::ScalarType type_ = c10::ScalarType::Float;
  Sizes pool_;
  std::vector<Sizes> lists_;
  std::set<int64_t> ranks_;
  std::set<c10::ScalarType> others_;
  std::set<std::tuple<size_t, int, c10::ScalarType, Sizes>> tried_;
  bool pairs_ = true;
  std::function<at::Tensor(const at::Tensor&)> everywhere_;
  size_t found_ = 0, attempts_ = 0, all_attempts_ = 0;
  std::string complaint_;
  bool single_ = false;
  std::vector<Wish> wishes_, partial_;
};

}  // namespace

std::string outline(const std::string& message) {
  std::string text;
  for (const char c : message)
    if (!std::isdigit(static_cast<unsigned char>(c))) text += c;
  return text;
}

std::vector<Wish> wishes_of(const Stop& stop, Mask unknown, int64_t& attempts) {
  if (!stop.site.node->maybeOperator()) return {};
  const Trial trial(kAsked);
  note_operator(stop.site.node->kind().toQualString());
  Asked asked(stop, unknown);
  std::vector<Wish> wishes = asked.wishes();
  attempts += static_cast<int64_t>(asked.attempts());
  return wishes;
}

at::Tensor tensor_at(const std::vector<Cell>& operands, size_t operand, int element) {
  if (operand >= operands.size()) return {};
  const c10::IValue& v = operands[operand].value;
  if (element < 0) return v.isTensor() ? v.toTensor() : at::Tensor();
  if (!v.isTensorList() || v.toListRef().size() <= static_cast<size_t>(element)) return {};
  return v.toListRef()[static_cast<size_t>(element)].toTensor();
}

std::string takes(const Stop& stop, const std::string& what) {
  return who(stop) + " takes " + what + place_in(stop.origin);
}

std::string takes(const Stop& stop, const Wish& w) {
  if (w.elements)
    return takes(stop,
                 (w.multiple ? "a multiple of " : "") + std::to_string(w.elements) + " elements");
  const at::Tensor now = tensor_at(stop.operands, w.operand, w.element == kEach ? 0 : w.element);
  if (w.dtype != now.scalar_type()) return takes(stop, c10::toString(w.dtype));
  const bool same_rank = now.dim() == static_cast<int64_t>(w.sizes.size());
  const Sizes were = same_rank ? now.sizes().vec() : usual_sizes(w.sizes.size());
  std::string sizes;
  for (size_t i = 0; i < w.sizes.size(); ++i)
    sizes += (i ? "x" : "") + (w.sizes[i] == were[i] ? "?" : std::to_string(w.sizes[i]));
  return takes(stop, sizes.empty() ? "a number" : sizes);
}

}  // namespace oe::infer
