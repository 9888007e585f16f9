// Counts what the expansion of a model's functions would give, without expanding one.
#include "lib/onnx/bounds.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"

namespace oe::onnx {
namespace {

// A model made of functions is expanded once for each call; none that was seen grows tenfold.
constexpr uint64_t kGrowth = 10;
constexpr uint64_t kNodesAtLeast = 100'000;
constexpr uint64_t kBytesAtLeast = uint64_t{64} << 20;
// Calls inside calls. Whoever expands or infers them calls itself for each.
constexpr int kDepth = 200;

struct Size {
  uint64_t nodes = 0, bytes = 0;

  void add(const Size& s) {
    if (__builtin_add_overflow(nodes, s.nodes, &nodes)) nodes = UINT64_MAX;
    if (__builtin_add_overflow(bytes, s.bytes, &bytes)) bytes = UINT64_MAX;
  }
};

using Key = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

template <class Named>
Key key_of(const Named& n, const std::string& name) {
  return {n.domain() == "ai.onnx" ? "" : n.domain(), name, n.overload()};
}

class Counter {
 public:
  Counter(const pb::ModelProto& m, const std::string& what) : what_(what) {
    for (const auto& f : m.functions()) functions_[key_of(f, f.name())] = &f;
  }

  // Nodes of nested graphs are counted one by one; their bytes are part of the outermost node's.
  template <class Nodes>
  Size own(const Nodes& nodes, bool outermost = true) const {
    Size s;
    for (const auto& n : nodes) {
      s.add({1, outermost ? n.ByteSizeLong() : 0});
      for (const auto& a : n.attribute()) {
        if (a.has_g()) s.add(own(a.g().node(), false));
        for (const auto& g : a.graphs()) s.add(own(g.node(), false));
      }
    }
    return s;
  }
  template <class Nodes>
  Size expanded(const Nodes& nodes, int depth, bool outermost = true) {
    Size s;
    for (const auto& n : nodes) {
      s.add({1, outermost ? n.ByteSizeLong() : 0});
      const auto f = functions_.find(key_of(n, n.op_type()));
      if (f != functions_.end()) s.add(call(f->first, *f->second, depth + 1));
      for (const auto& a : n.attribute()) {
        if (a.has_g()) s.add(expanded(a.g().node(), depth, false));
        for (const auto& g : a.graphs()) s.add(expanded(g.node(), depth, false));
      }
    }
    return s;
  }

  // `own`: of the file.
  void judge(const Size& s, const Size& own, const std::string& of) const {
    const uint64_t nodes = std::max(kNodesAtLeast, kGrowth * own.nodes);
    const uint64_t bytes = std::max(kBytesAtLeast, kGrowth * own.bytes);
    if (s.nodes <= nodes && s.bytes <= bytes) return;
    const bool many = s.nodes > nodes;
    refuse(of + " would have more than " + std::to_string(many ? nodes : bytes) +
           (many ? " nodes" : " bytes") + " once the functions that it calls are expanded");
  }
  // The first function in the file that is too large by itself, else the graph.
  void judge_all(const pb::ModelProto& m, const Size& own) {
    for (const auto& f : m.functions())
      judge(call(key_of(f, f.name()), f, 1), own, "function '" + f.name() + "'");
    judge(expanded(m.graph().node(), 0), own, "the graph");
  }

 private:
  Size call(const Key& key, const pb::FunctionProto& f, int depth) {
    const auto [it, fresh] = sizes_.try_emplace(key, Known{});
    if (!fresh && it->second.open) refuse("function '" + f.name() + "' calls itself");
    if (depth + it->second.height > kDepth)
      refuse("function '" + f.name() + "': functions call each other deeper than " +
             std::to_string(kDepth) + " levels");
    if (!fresh) {
      height_ = std::max(height_, it->second.height + 1);
      return it->second.size;
    }
    const int before = std::exchange(height_, 0);
    const Size s = expanded(f.node(), depth);
    sizes_[key] = {s, height_, false};
    height_ = std::max(before, height_ + 1);
    return s;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Failure(ExitCode::Limit, "OE3005", safe_line(what_ + ": " + why));
  }

  struct Known {
    Size size;
    int height = 0;    // levels of calls below it
    bool open = true;  // it is being counted
  };
  const std::string& what_;
  std::map<Key, const pb::FunctionProto*> functions_;
  std::map<Key, Known> sizes_;
  int height_ = 0;  // of what is being counted
};

}  // namespace

void check_bounds(const pb::ModelProto& m, const std::string& what) {
  if (m.functions_size() == 0) return;
  Counter counter(m, what);
  Size own = counter.own(m.graph().node());
  for (const auto& f : m.functions()) own.add(counter.own(f.node()));
  counter.judge_all(m, own);
}

}  // namespace oe::onnx
