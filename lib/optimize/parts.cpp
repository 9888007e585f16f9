// A Slice or Split along the axis of a Concat reads the inputs of the Concat.
//
//   c = Concat <axis = 1> (x, y)              # x is [N,2], y is [N,3]
//   a = Slice (c, {2}, {5}, {1})         =>   a = y
//   p, q, r = Split (c, {2, 1, 2})       =>   p = x, q, r = Split (y, {1, 2})
#include "lib/optimize/parts.h"

#include <algorithm>

#include "lib/optimize/rewriter.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

// An input of a Concat and where it begins along the axis.
struct Part {
  Value* value;
  int64_t begin, end;
};

class Parts {
 public:
  explicit Parts(Model& m) : r_(m) {}

  bool run() {
    return r_.walk([this](Node& n) {
      if (n.is("Slice"))
        slice(n);
      else if (n.is("Split"))
        split(n);
    });
  }

 private:
  Rewriter r_;

  // The inputs of the Concat along `axis` that makes `v`; empty where a size is not known.
  static std::vector<Part> parts_of(const Value* v, int64_t axis) {
    const Node* n = produced_by(v, "Concat");
    const auto rank = v->rank();
    if (!n || !rank) return {};
    const auto own = normalized(n->attributes.get_or<int64_t>("axis", 0), *rank);
    const auto wanted = normalized(axis, *rank);
    if (!own || own != wanted) return {};
    std::vector<Part> parts;
    int64_t at = 0;
    for (Value* part : n->inputs) {
      if (!has_rank(part) || part->rank() != rank) return {};
      const Dim& d = (*part->type.shape)[static_cast<size_t>(*own)];
      if (!d.is_number()) return {};
      parts.push_back({part, at, at + d.number});
      at += d.number;
    }
    return parts;
  }
  static const Part* containing(const std::vector<Part>& parts, int64_t begin, int64_t end) {
    for (const Part& p : parts)
      if (p.begin <= begin && end <= p.end && begin < end) return &p;
    return nullptr;
  }

  std::optional<int64_t> number(const Value* v) const {
    const auto list = r_.ints(v);
    return list && list->size() == 1 ? std::optional((*list)[0]) : std::nullopt;
  }

  void slice(Node& n) {
    const auto start = number(n.input(1)), stop = number(n.input(2));
    const auto axis = n.input(3) ? number(n.input(3)) : 0;
    if (!start || !stop || !axis || (n.input(4) && number(n.input(4)) != 1)) return;
    const auto parts = parts_of(n.inputs[0], *axis);
    if (parts.empty()) return;
    const int64_t size = parts.back().end;
    const auto bound = [&](int64_t v) {
      return std::clamp<int64_t>(v < 0 ? v + size : v, 0, size);
    };
    const int64_t begin = bound(*start), end = bound(*stop);
    const Part* p = containing(parts, begin, end);
    if (!p) return;
    if (p->begin == begin && p->end == end) return r_.forward(n, p->value);
    n.inputs[0] = p->value;
    n.inputs[1] = r_.new_ints(n.name + "_starts", {begin - p->begin});
    n.inputs[2] = r_.new_ints(n.name + "_ends", {end - p->begin});
    r_.mark_changed();
  }

  // Only where each result is one part, or lies in one.
  void split(Node& n) {
    const int64_t axis = n.attributes.get_or<int64_t>("axis", 0);
    const auto parts = parts_of(n.inputs[0], axis);
    const auto sizes = r_.ints(n.input(1));
    if (parts.empty() || !sizes || sizes->size() != n.outputs.size()) return;
    std::vector<const Part*> of;
    size_t cut = 0;
    int64_t at = 0;
    for (size_t i = 0; i < n.outputs.size(); at += (*sizes)[i++]) {
      const Value* out = n.outputs[i];
      of.push_back(out ? containing(parts, at, at + (*sizes)[i]) : nullptr);
      if (!out) continue;
      if (!of[i] || r_.is_output(out)) return;
      cut += of[i]->end - of[i]->begin != (*sizes)[i];
    }
    if (cut > 1) return;  // it would be more nodes than one
    at = 0;
    for (size_t i = 0; i < n.outputs.size(); at += (*sizes)[i++]) {
      if (!of[i]) continue;
      Value* v = of[i]->value;
      if (of[i]->end - of[i]->begin != (*sizes)[i])
        v = r_.insert(n, "Slice",
                      {v, r_.new_ints(n.name + "_starts", {at - of[i]->begin}),
                       r_.new_ints(n.name + "_ends", {at + (*sizes)[i] - of[i]->begin}),
                       r_.new_ints(n.name + "_axis", {axis})},
                      n.outputs[i]->type);
      r_.replace_output(n, i, v);
    }
    r_.drop();
  }
};

}  // namespace

bool read_parts(Model& m) { return Parts(m).run(); }

}  // namespace oe::optimize
