// Inputs that nobody described, found in the file itself.
#include "lib/infer/infer.h"

#include <algorithm>
#include <map>

#include "lib/infer/search.h"
#include "lib/options/option_text.h"
#include "lib/support/tensor.h"
#include "lib/support/trial.h"
#include "lib/torch/convert.h"
#include "lib/torch/input_tree.h"
#include "lib/torch/reference.h"
#include "lib/torch/runtime.h"

namespace oe::infer {
namespace {

c10::ScalarType type_of_weights(const torch::jit::Module& m) {
  std::map<c10::ScalarType, int64_t> elements;
  for (const at::Tensor& t : m.parameters())
    if (c10::isFloatingType(t.scalar_type())) elements[t.scalar_type()] += t.numel();
  const auto most =
      std::max_element(elements.begin(), elements.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == elements.end() ? c10::ScalarType::Float : most->first;
}

// Float32, which a SPEC without a type means where nothing is looked for.
bool types_as_usual(const Guess& g) {
  return std::ranges::all_of(g.places(), [](const ArgumentGuess* p) {
    return p->kind != ArgumentGuess::Kind::Tensor || p->is_fixed(kType) ||
           p->dtype == c10::ScalarType::Float;
  });
}

}  // namespace

Found find_inputs(const InputOptions& o, const torch_io::Loaded& m, torch_io::ExampleFiles& files,
                  const std::vector<LeftOut>& left_out, const Found* refused) {
  Found f;
  std::vector<InputSpec> given;
  const c10::ScalarType weights = type_of_weights(m.module);
  const Guess start =
      refused ? *refused->guess
              : first_guess(torch_io::argument_slots(o, m, files, given), weights, o.seed, files);
  f.specs = o.specs;
  if (is_complete(start)) return f;
  std::set<std::string> silent;
  for (const LeftOut& l : left_out) {
    if (l.sizes == kLookedFor) return f;  // it ended the process: the user has to say
    if (l.sizes == kAsked) silent.insert(l.op);
  }
  const Trial trial(kLookedFor);
  f.described = is_complete(start, /*but_types=*/true);
  Searched s;
  try {
    s = search(m, start, weights, refused != nullptr, silent);
  } catch (const c10::Error& e) {  // of LibTorch, outside of what a run does
    f.specs = specs_of(start);
    f.problem = torch_io::message_of(e);
    return f;
  }
  f.guessed = true;
  if (f.described && !s.stop && types_as_usual(s.guess)) {
    f.guessed = false;
    return f;
  }
  f.specs = specs_of(s.guess);
  f.exhausted = s.exhausted;
  for (const ArgumentGuess* p : s.guess.places()) {
    f.reasons[p->path] = p->reason;
    f.others[p->path] = p->others;
    // A word, a flag or a number that nobody said.
    const bool plain =
        p->kind == ArgumentGuess::Kind::String || p->kind == ArgumentGuess::Kind::Number;
    if (plain && !p->spec && p->present) f.others[p->path][kValue] = "guessed";
  }
  if (s.stop) {
    f.problem = s.stop->message;
    f.origin = std::make_shared<const Origin>(s.stop->origin);
  }
  f.guess = std::make_shared<const Guess>(std::move(s.guess));
  return f;
}

std::string reasons_text(const Found& f) {
  constexpr size_t shown = 6;
  std::string text;
  size_t lines = 0;
  for (const auto& [path, reasons] : f.reasons)
    for (const auto& [what, reason] : reasons) {
      if (++lines > shown) continue;
      text += "\n      " + path +
              (what >= 0         ? ", axis " + std::to_string(what)
               : what == kRank   ? ", rank"
               : what == kType   ? ", type"
               : what == kLength ? ", length"
                                 : "") +
              ": " + reason;
    }
  return text;
}

std::string refusal(const torch_io::Loaded& m, const torch_io::ExampleInputs& e) {
  Draw draw;
  draw.seed = e.options.seed;
  for (const torch_io::InputLeaf& l : e.leaves)
    draw.sizes.push_back(l.value.isTensor() ? l.value.toTensor().sizes().vec()
                                            : std::vector<int64_t>{});
  try {
    torch_io::Reference(m).run(e, draw, {});
  } catch (const std::exception& problem) {
    return torch_io::message_of(problem);
  }
  return {};
}

std::vector<InputSpec> specs_of(const torch_io::ExampleInputs& e) {
  std::vector<InputSpec> specs;
  for (const torch_io::InputLeaf& l : e.leaves) {
    InputSpec s;
    s.name = l.path;
    if (l.value.isTensor()) {
      const at::Tensor t = l.value.toTensor();
      s.shape.emplace();
      for (const int64_t n : t.sizes()) s.shape->push_back({n, "", false, {}, {}});
      s.dtype = torch_io::to_dtype(t.scalar_type());
    } else {
      s.value = json_text(*torch_io::to_host(torch_io::number_tensor(l.value)));
    }
    specs.push_back(std::move(s));
  }
  return specs;
}

std::vector<FoundInput> told(const Found& f, const torch_io::ExampleInputs& e,
                             const std::vector<std::vector<Freedom>>& freedom) {
  std::vector<FoundInput> all;
  for (const InputSpec& s : f.specs) {
    FoundInput in;
    in.name = s.name;
    in.spec = spec_text(s);
    const auto reasons = f.reasons.find(s.name);
    const auto reason = [&](int what) -> std::string {
      if (reasons == f.reasons.end()) return {};
      const auto it = reasons->second.find(what);
      return it == reasons->second.end() ? std::string() : it->second;
    };
    in.rank = reason(kRank);
    in.type = reason(kType);
    in.value = reason(kValue);
    if (in.value.empty()) in.value = reason(kPresence);
    if (const auto others = f.others.find(s.name); others != f.others.end()) {
      const auto other = [&](int what) {
        const auto it = others->second.find(what);
        return it == others->second.end() ? std::string() : it->second;
      };
      in.other_ranks = other(kRank);
      in.other_types = other(kType);
      const bool input = std::ranges::any_of(
          e.leaves, [&](const auto& leaf) { return leaf.path == s.name && !leaf.fixed; });
      if (!other(kValue).empty() && !input) in.baked = "value " + s.value;
    }
    for (size_t leaf = 0; leaf < e.leaves.size(); ++leaf) {
      if (e.leaves[leaf].path != s.name || !e.leaves[leaf].value.isTensor()) continue;
      for (size_t i = 0; i < freedom[leaf].size(); ++i) {
        const Freedom& free = freedom[leaf][i];
        in.axes.push_back({e.leaves[leaf].value.toTensor().size(static_cast<int64_t>(i)), free.free,
                           free.symbol, free.free ? "" : reason(static_cast<int>(i))});
        if (in.axes.back().reason.empty()) in.axes.back().reason = free.reason;
      }
    }
    all.push_back(std::move(in));
  }
  return all;
}

}  // namespace oe::infer
