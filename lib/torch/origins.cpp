// Where the author wrote what a node does.
#include "lib/torch/origins.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>
#include <optional>

#include "lib/support/text.h"

namespace oe::torch_io {
namespace {

// A line of the stack that torch.jit.trace writes down: "model/net.py(12): forward".
struct Frame {
  std::string_view file, function;
  int line = 0;
};

std::optional<Frame> frame_of(std::string_view text) {
  const size_t close = text.rfind("): "), open = text.rfind('(', close);
  if (close == text.npos || open == text.npos || open == 0) return std::nullopt;
  Frame f{text.substr(0, open), text.substr(close + 3)};
  const std::string_view number = text.substr(open + 1, close - open - 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), f.line);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return f;
}

// The innermost frame outside PyTorch, else the innermost of all.
std::optional<Frame> author_of(std::string_view stack) {
  std::optional<Frame> innermost;
  while (!stack.empty()) {
    const std::string_view line = stack.substr(0, stack.find('\n'));
    stack.remove_prefix(std::min(line.size() + 1, stack.size()));
    const std::optional<Frame> f = frame_of(line);
    if (!f) break;
    // The frames behind this one belong to the caller of torch.jit.trace.
    if (f->file.find("/torch/jit/_trace.py") != f->file.npos) break;
    if (f->file.find("/site-packages/torch/") == f->file.npos) return f;
    if (!innermost) innermost = f;
  }
  return innermost;
}

// The line at the beginning of `text`, with those that follow as long as a bracket is open.
std::string whole_condition(std::string_view text) {
  constexpr size_t max_length = 200;
  std::string out;
  int open = 0;
  do {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    for (char c : line) {
      if (c == '(' || c == '[' || c == '{') ++open;
      if (c == ')' || c == ']' || c == '}') --open;
    }
    const bool joins = out.empty() || out.ends_with('(') || strip(line).starts_with(')');
    if (!joins) out += ' ';
    out += strip(line);
  } while (open > 0 && !text.empty() && out.size() < max_length);
  if (out.size() > max_length) out = out.substr(0, max_length) + "...";
  return out;
}

bool is_condition(const torch::jit::Node& n) {
  return n.kind() == c10::prim::If || n.kind() == c10::prim::Loop;
}

}  // namespace

// LibTorch's own get_line() looks through the whole text, which the lines of a long one make slow.
std::string_view Origins::lines_from(const torch::jit::SourceRange& range) {
  const auto& source = range.source();
  auto [it, fresh] = texts_.try_emplace(source.get());
  Text& text = it->second;
  if (fresh) {
    text.source = source;
    text.whole = source->text_str().str();
    text.lines.push_back(0);
    for (size_t i = 0; i < text.whole.size(); ++i)
      if (text.whole[i] == '\n') text.lines.push_back(i + 1);
  }
  const auto next = std::upper_bound(text.lines.begin(), text.lines.end(), range.start());
  return std::string_view(text.whole).substr(*std::prev(next));
}

OriginPtr Origins::of(const torch::jit::Node* n, const std::string& module_path,
                      const ModuleCallPtr& call) {
  const torch::jit::SourceRange range = n->sourceRange();
  OriginPtr& cached = origins_[{range.source().get(), range.start(), call.get(), module_path}];
  if (cached && cached->op == n->kind().toQualString()) return cached;
  auto o = std::make_shared<Origin>();
  o->op = n->kind().toQualString();
  o->module_path = module_path;
  o->call = call;
  torch::jit::SourceRange author = range;
  if (auto generated = range.findSourceRangeThatGenerated()) author = *generated;
  if (auto where = author.file_line_col()) {
    o->file = std::get<0>(*where);
    o->line = static_cast<int>(std::get<1>(*where));
  }
  if (author.source()) {
    const std::string_view lines = lines_from(author);
    o->text = is_condition(*n) ? whole_condition(lines)
                               : std::string(strip(lines.substr(0, lines.find('\n'))));
    if (frame_of(o->text))
      if (const auto frame = author_of(lines)) {
        o->file = frame->file;
        o->line = frame->line;
        o->text = "in " + std::string(frame->function);
      }
  }
  cached = o;
  return o;
}

}  // namespace oe::torch_io
