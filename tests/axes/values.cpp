// Arguments at a choice of sizes, and their text.
#include "tests/axes/values.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

namespace oe::axes {
namespace {

// Floats lie between 0 and 1, so that they are probabilities and places in an image too.
void fill(at::Tensor& t, Random random, int64_t high) {
  const int64_t n = t.numel();
  if (t.scalar_type() == c10::kFloat || t.scalar_type() == c10::kComplexFloat) {
    auto* p = static_cast<float*>(t.data_ptr());
    const int64_t parts = t.is_complex() ? 2 * n : n;
    for (int64_t i = 0; i < parts; ++i)
      p[i] = 0.05F + 0.009F * static_cast<float>(random.below(100));
  } else if (t.scalar_type() == c10::kBool) {
    bool* p = t.data_ptr<bool>();
    for (int64_t i = 0; i < n; ++i) p[i] = random.chance(60);
  } else {
    int64_t* p = t.data_ptr<int64_t>();
    for (int64_t i = 0; i < n; ++i) p[i] = random.below(high);
  }
}

void add_leaves(const Value& v, std::vector<const Value*>& out) {
  if (v.kind == Value::Kind::List)
    for (const Value& item : v.items) add_leaves(item, out);
  else if (v.kind != Value::Kind::Fixed)
    out.push_back(&v);
}

class Arguments {
 public:
  Arguments(const std::vector<Role>& roles, const Base& base) : roles_(roles), base_(base) {}

  c10::IValue of(const Value& v) {
    if (v.kind == Value::Kind::Fixed) return v.fixed;
    if (v.kind == Value::Kind::List) {
      c10::impl::GenericList list(v.element);
      for (const Value& item : v.items) list.push_back(of(item));
      return list;
    }
    const Role role = roles_.at(next_++);
    const Base& base = role == Role::Constant ? kBase : base_;
    if (v.kind == Value::Kind::Int) {
      if (role == Role::Computed) return computed_from(v.size).at(base);
      return v.size.at(base);
    }
    if (v.kind == Value::Kind::Bool) {
      if (role == Role::Constant) return v.fixed;
      const bool greater = base[kNumbers] > kBase[kNumbers];
      return is_greater(v) ? greater : !greater;
    }
    if (role == Role::Input) return v.tensor.at(base);
    const at::Tensor t = v.tensor.at(kBase);
    if (role == Role::Constant) return t;
    if (t.scalar_type() == c10::kBool) return t.logical_not().to(c10::kLong).lt(base[kElements]);
    return t.mul(base[kElements]);
  }

 private:
  const std::vector<Role>& roles_;
  const Base& base_;
  size_t next_ = 0;
};

}  // namespace

std::string Size::text() const {
  if (letter < 0) return std::to_string(plus);
  std::string out = times == 1 ? "" : std::to_string(times);
  out += static_cast<char>('a' + letter);
  if (plus) out += (plus > 0 ? "+" : "") + std::to_string(plus);
  return out;
}

at::Tensor TensorSpec::at(const Base& base) const {
  if (!values.empty()) return at::tensor(values, c10::kLong).to(dtype);
  std::vector<int64_t> sizes;
  for (const Size& s : shape) sizes.push_back(s.at(base));
  at::Tensor t = at::empty(sizes, dtype);
  fill(t, Random(seed), high);
  return t;
}

std::string text(const Value& v) {
  std::string out;
  switch (v.kind) {
    case Value::Kind::Fixed:
    case Value::Kind::Bool:
      return v.fixed.isNone()     ? "None"
             : v.fixed.isString() ? "'" + v.fixed.toStringRef() + "'"
             : v.fixed.isBool()   ? (v.fixed.toBool() ? "True" : "False")
             : v.fixed.isDouble() ? std::to_string(v.fixed.toDouble())
             : v.fixed.isInt()    ? std::to_string(v.fixed.toInt())
                                  : v.fixed.tagKind();
    case Value::Kind::Int:
      return v.size.text();
    case Value::Kind::List:
      for (const Value& item : v.items) out += (out.empty() ? "" : ", ") + text(item);
      return "[" + out + "]";
    case Value::Kind::Tensor:
      break;
  }
  for (const Size& s : v.tensor.shape) out += (out.empty() ? "" : ",") + s.text();
  for (const int64_t n : v.tensor.values) out += (out.empty() ? "" : " ") + std::to_string(n);
  const char* type = v.tensor.dtype == c10::kFloat  ? "f"
                     : v.tensor.dtype == c10::kBool ? "b"
                     : v.tensor.dtype == c10::kLong ? "i"
                                                    : "c";
  return v.tensor.values.empty() ? type + ("[" + out + "]") : "{" + out + "}";
}

std::string text(const Sample& sample) {
  std::string out;
  for (const Value& v : sample) out += (out.empty() ? "" : ", ") + text(v);
  return out;
}

std::vector<const Value*> leaves(const Sample& sample) {
  std::vector<const Value*> out;
  for (const Value& v : sample) add_leaves(v, out);
  return out;
}

Size computed_from(const Size& size) {
  if (size.letter >= 0) return size;
  return {kNumbers, 1, size.plus - kBase[kNumbers]};
}

std::vector<c10::IValue> arguments(const Sample& sample, const std::vector<Role>& roles,
                                   const Base& base) {
  Arguments at_base(roles, base);
  std::vector<c10::IValue> out;
  for (const Value& v : sample) out.push_back(at_base.of(v));
  return out;
}

}  // namespace oe::axes
