// Equal initializers become one, under the first one's name: tied weights, and small constants.
// A parameter that happens to equal another one (a bias of zeros) keeps its own name and place
// unless it is large: whoever changes one of them in the file does not mean the other.
//
//   <float[2] a = {1.0, 2.0}, float[2] b = {1.0, 2.0}>       <float[2] a = {1.0, 2.0}>
//   y = Add (a, x)                                       =>  y = Add (a, x)
//   z = Mul (b, y)                                           z = Mul (a, y)
#include <unordered_map>
#include <unordered_set>

#include "lib/optimize/passes.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

constexpr size_t kSample = 64;         // bytes of each sampled place
constexpr size_t kPlaces = 16;         // places sampled in a large tensor
constexpr size_t kSmall = 1 << 16;     // bytes: up to this a parameter keeps its name
constexpr size_t kMostCandidates = 8;  // full comparisons a tensor, so that the pass stays linear

uint64_t hash_bytes(uint64_t h, const void* data, size_t size) {  // FNV-1a
  for (const auto *p = static_cast<const unsigned char*>(data), *end = p + size; p != end; ++p)
    h = (h ^ *p) * 0x100000001b3ull;
  return h;
}

// Type, dims and some of the content: weights that differ differ nearly everywhere, and equal
// hashes are followed by a full comparison.
uint64_t sample_hash(const Tensor& t) {
  const auto type = static_cast<int32_t>(t.dtype());
  uint64_t h = hash_bytes(0xcbf29ce484222325ull, &type, sizeof type);
  h = hash_bytes(h, t.dims().data(), t.dims().size() * sizeof(int64_t));
  if (t.dtype() == DType::String) {
    for (const auto& s : t.strings()) h = hash_bytes(h, s.c_str(), s.size() + 1);
    return h;
  }
  const bool deferred = t.base() != nullptr;  // compared by what it is made of
  h = hash_bytes(h, &deferred, sizeof deferred);
  const Tensor* stored = &t;
  while (stored->base()) stored = stored->base().get();
  const auto* bytes = static_cast<const unsigned char*>(stored->data());
  const size_t size = stored->nbytes();
  if (size <= kSample * kPlaces) return hash_bytes(h, bytes, size);
  for (size_t i = 0; i < kPlaces; ++i)
    h = hash_bytes(h, bytes + (size - kSample) / (kPlaces - 1) * i, kSample);
  return h;
}

}  // namespace

bool share_initializers(Model& m, const Options&) {
  // Inputs can be overridden by a caller; outputs keep their name.
  std::unordered_set<const Value*> kept(m.graph.inputs.begin(), m.graph.inputs.end());
  for_each_graph(m.graph, [&](Graph& g) { kept.insert(g.outputs.begin(), g.outputs.end()); });
  std::unordered_map<uint64_t, std::vector<Value*>> firsts;
  std::unordered_map<const Value*, Value*> replaced;
  const auto share = [&](Value* v) {
    if (!v->data || kept.contains(v)) return;
    auto& candidates = firsts[sample_hash(*v->data)];
    Value* equal = nullptr;
    for (Value* c : candidates) {
      const bool tied = c->data->memory() == v->data->memory();
      if ((tied || !c->state || v->data->nbytes() > kSmall) && same_content(*c->data, *v->data)) {
        equal = c;
        break;
      }
    }
    if (equal)
      replaced[v] = equal;
    else if (candidates.size() < kMostCandidates)
      candidates.push_back(v);
  };
  for (Value* v : m.graph.initializers)  // first, so that their names last
    if (v->state) share(v);
  for (Value* v : m.graph.initializers)
    if (!v->state) share(v);
  if (replaced.empty()) return false;
  for_each_graph(m.graph, [&](Graph& g) {
    for (auto& n : g.nodes)
      for (Value*& v : n->inputs)
        if (auto it = replaced.find(v); it != replaced.end()) v = it->second;
  });
  std::erase_if(m.graph.initializers, [&](Value* v) {
    if (!replaced.contains(v)) return false;
    v->data = nullptr;  // releases the second copy of a folded weight
    return true;
  });
  return true;
}

}  // namespace oe::optimize
