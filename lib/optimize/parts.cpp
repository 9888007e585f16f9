// A Slice, Split or Gather of one position along the axis of a Concat reads the inputs of the
// Concat, and a Slice that is a result of an earlier Split is that result.
//
//   c = Concat <axis = 1> (x, y, z)           # x is [N,2], y and z are [N,3]
//   a = Slice (c, {2}, {5}, {1})         =>   a = y
//   b = Slice (c, {2}, {8}, {1})         =>   b = Concat <axis = 1> (y, z)
//   p, q, r = Split (c, {2, 1, 5})       =>   p = x, q = Slice (y, {0}, {1}, {1})   # r is not read
//
//   c = Concat <axis = 1> (Unsqueeze (x, {1}), Unsqueeze (y, {1}))
//   a = Gather <axis = 1> (c, 1)         =>   a = y
//
//   p, q = Split <axis = 1> (x, {2, 3})
//   a = Slice (x, {2}, {5}, {1})         =>   a = q
#include "lib/optimize/parts.h"

#include <algorithm>
#include <map>
#include <unordered_set>

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
  explicit Parts(Model& m) : r_(m), uses_(use_counts(m)) {
    for (const auto& n : m.graph.nodes) outermost_.insert(n.get());
  }

  bool run() {
    return r_.walk([this](Node& n) {
      if (n.is("Slice"))
        slice(n);
      else if (n.is("Split"))
        split(n);
      else if (n.is("Gather"))
        gather(n);
    });
  }

 private:
  // The results of a Split with constant sizes: where each begins and ends along the axis.
  struct Cut {
    Value* value;
    int64_t begin, end;
  };
  using Axis = std::pair<const Value*, int64_t>;  // a tensor, and an axis from 0

  Rewriter r_;
  std::unordered_map<const Value*, size_t> uses_;  // before the pass
  std::unordered_set<const Node*> outermost_;      // nodes of the outermost graph
  std::map<Axis, std::vector<Cut>> cuts_;          // of its Splits that were visited

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
    const auto rank = n.inputs[0]->rank();
    const auto own = rank ? normalized(*axis, *rank) : std::nullopt;
    if (!own) return;
    const Dim& d = (*n.inputs[0]->type.shape)[static_cast<size_t>(*own)];
    if (!d.is_number()) return;
    const int64_t begin = slice_bound(*start, d.number), end = slice_bound(*stop, d.number);
    if (Value* v = result_of_split(n.inputs[0], *own, begin, end)) return r_.forward(n, v);
    const auto parts = parts_of(n.inputs[0], *axis);
    if (parts.empty() || parts.back().end != d.number) return;
    const Part* p = containing(parts, begin, end);
    if (!p) return join(n, parts, begin, end, *own);
    if (p->begin == begin && p->end == end) return r_.forward(n, p->value);
    n.inputs[0] = p->value;
    n.inputs[1] = r_.new_ints(n.name + "_starts", {begin - p->begin});
    n.inputs[2] = r_.new_ints(n.name + "_ends", {end - p->begin});
    r_.mark_changed();
  }

  void gather(Node& n) {
    const int64_t axis = n.attributes.get_or<int64_t>("axis", 0);
    const auto parts = parts_of(n.inputs[0], axis);
    const TensorPtr index = r_.constant(n.inputs[1]);
    if (parts.empty() || !index || index->numel() != 1) return;
    int64_t at = index->as_int64()[0];
    if (at < 0) at += parts.back().end;
    const Part* p = containing(parts, at, at + 1);
    if (!p) return;
    const int64_t own = *normalized(axis, *n.inputs[0]->rank());
    const bool whole = p->end == p->begin + 1;
    if (whole && index->dims().size() == 1) return r_.forward(n, p->value);
    if (whole && index->dims().empty()) {  // of an Unsqueeze: the pass `reshapes` takes both away
      n.op = "Squeeze";
      n.inputs = {p->value, r_.new_ints(n.name + "_axes", {own})};
      n.attributes = {};
    } else {
      n.inputs[0] = p->value;
      n.inputs[1] = r_.model().new_initializer(
          n.name + "_index", Tensor::of<int64_t>(DType::Int64, index->dims(), {at - p->begin}));
    }
    r_.mark_changed();
  }

  // Of whole parts.
  void join(Node& n, const std::vector<Part>& parts, int64_t begin, int64_t end, int64_t axis) {
    const auto first = std::ranges::find(parts, begin, &Part::begin);
    const auto last = std::ranges::find(parts, end, &Part::end);
    if (first == parts.end() || last == parts.end() || last <= first) return;
    n.op = "Concat";
    n.inputs.clear();
    for (auto p = first; p <= last; ++p) n.inputs.push_back(p->value);
    n.attributes = {{"axis", axis}};
    r_.mark_changed();
  }

  void remember(const Node& n, int64_t axis, const Ints& sizes) {
    const auto rank = n.inputs[0]->rank();
    const auto own = rank ? normalized(axis, *rank) : std::nullopt;
    if (!own || !outermost_.contains(&n)) return;
    int64_t at = 0;
    for (size_t i = 0; i < sizes.size(); at += sizes[i++])
      if (n.outputs[i]) cuts_[{n.inputs[0], *own}].push_back({n.outputs[i], at, at + sizes[i]});
  }

  // The result of an earlier Split that has the elements begin..end of `v` along the axis, also of
  // the tensor that `v` was cut from; null: there is none.
  Value* result_of_split(const Value* v, int64_t axis, int64_t begin, int64_t end) const {
    for (;;) {
      if (const auto cuts = cuts_.find({v, axis}); cuts != cuts_.end())
        for (const Cut& c : cuts->second)
          if (c.begin == begin && c.end == end) return c.value;
      const Node* from = has_rank(v) ? produced_by(v, "Slice") : nullptr;
      const auto start = from ? number(from->input(1)) : std::nullopt;
      const auto along = from && from->input(3) ? number(from->input(3)) : std::nullopt;
      if (!start || *start < 0 || !along || normalized(*along, *v->rank()) != axis ||
          (from->input(4) && number(from->input(4)) != 1))
        return nullptr;
      v = from->inputs[0];
      begin += *start;
      end += *start;
    }
  }

  // Only where each result that is read is one part, or lies in one.
  void split(Node& n) {
    const int64_t axis = n.attributes.get_or<int64_t>("axis", 0);
    const auto parts = parts_of(n.inputs[0], axis);
    const auto sizes = r_.ints(n.input(1));
    if (!sizes || sizes->size() != n.outputs.size()) return;
    if (parts.empty()) return remember(n, axis, *sizes);
    const auto own = normalized(axis, *n.inputs[0]->rank());
    std::vector<const Part*> of;
    std::vector<Value*> by;  // that the results are, where no node is needed
    size_t cut = 0;
    int64_t at = 0;
    for (size_t i = 0; i < n.outputs.size(); at += (*sizes)[i++]) {
      const Value* out = uses_.contains(n.outputs[i]) ? n.outputs[i] : nullptr;
      of.push_back(out ? containing(parts, at, at + (*sizes)[i]) : nullptr);
      by.push_back(nullptr);
      if (!out) continue;
      if (!of[i] || r_.is_output(out)) return;
      const int64_t begin = at - of[i]->begin, end = begin + (*sizes)[i];
      by[i] = begin == 0 && at + (*sizes)[i] == of[i]->end
                  ? of[i]->value
                  : result_of_split(of[i]->value, *own, begin, end);
      cut += by[i] == nullptr;
    }
    if (cut > 1) return;  // it would be more nodes than one
    at = 0;
    for (size_t i = 0; i < n.outputs.size(); at += (*sizes)[i++]) {
      if (!of[i]) continue;
      Value* v = by[i];
      if (!v)
        v = r_.insert(n, "Slice",
                      {of[i]->value, r_.new_ints(n.name + "_starts", {at - of[i]->begin}),
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
