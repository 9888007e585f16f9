// Which inputs may drive a branch or a trip count that no run has reached yet.
#include "lib/verify/explore.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "lib/support/text.h"

namespace oe::verify {
namespace {

using Kind = Variation::Kind;

// What to try on an input, the likeliest first.
std::vector<Variation> variations(const Tensor& t) {
  if (t.dtype() == DType::Bool) return {{Kind::Fill, 0}, {Kind::Fill, 1}};
  if (is_float(t.dtype()))
    return {{Kind::Negative, 0}, {Kind::Positive, 0}, {Kind::Fill, 0},
            {Kind::Scale, 10},   {Kind::Scale, 0.1},  {Kind::Fill, 1},
            {Kind::Fill, 2},     {Kind::Fill, 7},     {Kind::Fill, -1}};
  std::vector<Variation> list = {
      {Kind::Fill, 0}, {Kind::Fill, 1}, {Kind::Fill, 2}, {Kind::Fill, 7}, {Kind::Fill, 3}};
  if (is_signed_integer(t.dtype())) {
    list.push_back({Kind::Fill, -1});
    list.push_back({Kind::Scale, 10});
    for (const double n : {4, 5, 6, -2}) list.push_back({Kind::Fill, n});
  } else if (t.dtype() != DType::UInt8 && t.dtype() != DType::UInt16 &&
             t.dtype() != DType::UInt32 && t.dtype() != DType::UInt64) {
    list.clear();  // strings, complex numbers
  }
  return list;
}

std::string number_text(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", v);
  return text;
}

}  // namespace

CoverageMeter::CoverageMeter(Ort& ort, const Request& r)
    : r_(r),
      session_(ort.open_bytes(r.probe->bytes, r.threads, /*optimize=*/false)),
      names_(session_->input_names()),
      wanted_(r.probe->flags, false),
      seen_(r.probe->flags, false),
      refused_(r.probe->flags, false),
      refusals_(r.probe->flags, 0) {
  for (const Construct& c : r.probe->constructs)
    for (size_t k = 0; k < c.possible.size(); ++k) wanted_[c.first + k] = c.possible[k];
}

std::vector<bool> CoverageMeter::flags(const std::vector<TensorPtr>& leaves, double limit) {
  std::vector<HostValue> inputs;
  for (const std::string& name : names_) {
    HostValue v;
    const auto at = std::find(r_.leaf_names.begin(), r_.leaf_names.end(), name);
    if (name == r_.probe->limit_input)
      v.tensor = Tensor::of<float>(DType::Float, {}, {static_cast<float>(limit)});
    else if (at != r_.leaf_names.end())
      v.tensor = leaves[static_cast<size_t>(at - r_.leaf_names.begin())];
    else
      throw std::runtime_error("the model has an input '" + name + "' without a value");
    inputs.push_back(std::move(v));
  }
  const std::vector<HostValue> outputs = session_->run(inputs);
  if (std::isinf(limit)) longest_ = std::max(longest_, outputs.at(1).tensor->as_double()[0]);
  std::vector<bool> flags;
  for (const uint8_t bit : outputs.at(0).tensor->values<uint8_t>()) flags.push_back(bit != 0);
  return flags;
}

std::vector<bool> CoverageMeter::flags(const std::vector<TensorPtr>& leaves) {
  constexpr double kLeast = 1000;
  return flags(leaves, std::max(kLeast, 2 * longest_));
}

void CoverageMeter::measure(const std::vector<TensorPtr>& leaves) {
  keep(flags(leaves, std::numeric_limits<double>::infinity()));
}

bool CoverageMeter::is_news(const std::vector<bool>& flags) const {
  constexpr int kPatience = 10;  // LibTorch's refusals are slow
  for (size_t i = 1; i < flags.size(); ++i)
    if (flags[i] && wanted_[i] && !seen_[i] && refusals_[i] < kPatience) return true;
  return false;
}

void CoverageMeter::keep(const std::vector<bool>& flags) {
  for (size_t i = 1; i < flags.size(); ++i) seen_[i] = seen_[i] || flags[i];
}

void CoverageMeter::refuse(const std::vector<bool>& flags) {
  for (size_t i = 1; i < flags.size(); ++i) {
    if (!flags[i]) continue;
    refused_[i] = true;
    ++refusals_[i];
  }
}

bool CoverageMeter::complete() const {
  for (size_t i = 1; i < wanted_.size(); ++i)
    if (wanted_[i] && !seen_[i]) return false;
  return true;
}

Candidates::Candidates(const Request& r, const std::vector<TensorPtr>& leaves) : r_(r) {
  std::vector<size_t> floats, integers;
  for (const size_t i : r.free_leaves) {
    if (is_float(leaves[i]->dtype())) floats.push_back(i);
    if (is_signed_integer(leaves[i]->dtype())) integers.push_back(i);
  }
  const auto vary = [&](const std::vector<size_t>& which) {
    if (which.empty()) return;
    for (const Variation& v : variations(*leaves[which[0]])) steps_.push_back({which, v, {}});
  };
  // Numbers first: they are trip counts and switches.
  for (const bool scalars : {true, false})
    for (const size_t i : r.free_leaves)
      if (leaves[i]->dims().empty() == scalars) vary({i});
  std::set<std::string> axes;
  for (const Axis& a : r.axes) axes.insert(a.name);
  const auto resize = [&](int64_t n) {
    for (const std::string& name : axes) add_axis(name, n);
    if (axes.size() > 1) add_axis("", n);
  };
  for (const int64_t n : {0, 1, 2, 7, 3}) resize(n);
  for (const auto& all : {floats, integers})
    if (all.size() > 1) vary(all);
  // Around the numbers that the model compares with; multiples where it divides.
  for (const int64_t mark : r.probe->landmarks)
    for (const int64_t n : {mark, mark + 1, mark - 1, 2 * mark, 7 * mark}) {
      for (const size_t i : r.free_leaves)
        if (is_float(leaves[i]->dtype()) || is_signed_integer(leaves[i]->dtype()))
          steps_.push_back({{i}, {Kind::Fill, static_cast<double>(n)}, {}});
      resize(n);
    }
  bases_.push_back({r.worlds[0], r.seed, {}});
  tried_.insert(key(bases_.front()));
}

void Candidates::add_axis(const std::string& name, int64_t n) {
  std::vector<size_t> which;
  for (size_t i = 0; i < r_.axes.size(); ++i) {
    const Axis& a = r_.axes[i];
    if (!name.empty() && a.name != name) continue;
    if (a.low <= a.high && (n < a.low || n > a.high)) return;
    which.push_back(i);
  }
  steps_.push_back({{}, {}, std::move(which), n});
}

Draw Candidates::apply(Draw d, const Step& s) const {
  if (!s.leaves.empty()) {
    d.variations.resize(r_.leaf_names.size());
    for (const size_t i : s.leaves) d.variations[i] = s.variation;
  }
  for (const size_t i : s.axes) d.sizes[r_.axes[i].leaf][r_.axes[i].axis] = s.size;
  return d;
}

Draw Candidates::next() {
  constexpr int kPatience = 2;
  for (;;) {
    while (step_ < steps_.size()) {
      const Step& s = steps_[step_++];
      Draw d = apply(bases_[base_], s);
      if (s.endless < kPatience && affordable(d) && tried_.insert(key(d)).second) return d;
    }
    step_ = 0;
    if (++base_ < bases_.size()) continue;
    // Nothing left to build on: values drawn anew.
    bases_.push_back({r_.worlds[0], r_.seed + ++seeds_, {}});
    if (tried_.insert(key(bases_.back())).second) return bases_.back();
  }
}

bool Candidates::affordable(const Draw& d) {
  constexpr double kElements = 1 << 22;
  return std::all_of(d.sizes.begin(), d.sizes.end(), [](const std::vector<int64_t>& sizes) {
    double n = 1;
    for (const int64_t s : sizes) n *= static_cast<double>(s);
    return n <= kElements;
  });
}

void Candidates::was_endless() {
  if (step_ > 0) ++steps_[step_ - 1].endless;
}

void Candidates::build_on(const Draw& d) { bases_.push_back(d); }

std::string Candidates::key(const Draw& d) {
  std::string text = std::to_string(d.seed);
  for (const auto& sizes : d.sizes) {
    text += ";";
    for (const int64_t n : sizes) text += std::to_string(n) + ",";
  }
  for (size_t i = 0; i < d.variations.size(); ++i)
    if (const Variation& v = d.variations[i]; v.kind != Kind::None)
      text += "|" + std::to_string(i) + ":" + std::to_string(static_cast<int>(v.kind)) + ":" +
              number_text(v.value);
  return text;
}

std::string Candidates::text(const Draw& d) const {
  std::vector<std::string> parts;
  for (size_t i = 0; i < d.variations.size(); ++i) {
    const Variation& v = d.variations[i];
    if (v.kind == Kind::None) continue;
    parts.push_back(r_.leaf_names[i] + (v.kind == Kind::Fill       ? " = " + number_text(v.value)
                                        : v.kind == Kind::Positive ? " not negative"
                                        : v.kind == Kind::Negative
                                            ? " not positive"
                                            : " times " + number_text(v.value)));
  }
  return join(parts, ", ");
}

}  // namespace oe::verify
