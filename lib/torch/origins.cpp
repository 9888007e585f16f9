// Where the author wrote what a node does.
#include "lib/torch/origins.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace oe::torch_io {

// LibTorch's own get_line() looks through the whole text, which the lines of a long one make slow.
std::string_view Origins::line_of(const torch::jit::SourceRange& range) {
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
  const size_t begin = *std::prev(next);
  const size_t end = next == text.lines.end() ? text.whole.size() : *next;
  return std::string_view(text.whole).substr(begin, end - begin);
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
    const std::string_view line = line_of(author);
    const char* blank = " \t\r\n";
    const auto first = line.find_first_not_of(blank);
    if (first != std::string::npos)
      o->text = line.substr(first, line.find_last_not_of(blank) - first + 1);
  }
  cached = o;
  return o;
}

}  // namespace oe::torch_io
