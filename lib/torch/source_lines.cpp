// The pickle is a tuple of (offset in the code, (source, begin, end), tag), in older files without
// the tag, sorted by offset. A source is (text, file, first line); newer files begin with a table
// of strings, and a source names its lines and its file by their places in it:
//
//   ("FORMAT_WITH_STRING_TABLE", (string, ...), ((offset, (([i, ...], i, line), begin, end), tag),
//   ...))
#include "lib/torch/source_lines.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lib/archive/pickle.h"

namespace oe::torch_io {
namespace {

using archive::Value;
using archive::ValuePtr;
using torch::jit::Source;
using torch::jit::SourceRange;

class Malformed {};

// Bytes of one author's file: a table of strings can make much of little.
constexpr size_t kMostSource = 64 << 20;

template <class T>
const T& as(const ValuePtr& v) {
  const T* is = v ? v->as<T>() : nullptr;
  if (!is) throw Malformed();
  return *is;
}

const ValuePtr& item(const ValuePtr& tuple, size_t i) {
  const std::vector<ValuePtr>& items = as<archive::Tuple>(tuple).items;
  if (i >= items.size()) throw Malformed();
  return items[i];
}

// A list, also where a function of torch.jit gives it its element type.
const archive::List& list(const ValuePtr& v) {
  if (const auto* call = v ? v->as<archive::Called>() : nullptr)
    return list(item(call->arguments, 0));
  return as<archive::List>(v);
}

class Lines : public torch::jit::SourceRangeUnpickler {
 public:
  explicit Lines(std::string pickle) : pickle_(std::move(pickle)) {}

  std::optional<SourceRange> findSourceRangeThatGenerated(const SourceRange& range) override {
    if (!read_) read();
    const auto after = std::ranges::upper_bound(ranges_, range.start(), {}, &Range::offset);
    if (after == ranges_.begin()) return std::nullopt;
    return std::prev(after)->range;
  }

 private:
  struct Range {
    size_t offset;
    SourceRange range;
  };

  void read() {
    read_ = true;
    try {
      ValuePtr all = archive::read_pickle(pickle_);
      const std::vector<ValuePtr>& top = as<archive::Tuple>(all).items;
      if (top.size() == 3 && top[0]->as<std::string>()) {
        strings_ = top[1];
        all = top[2];
      }
      for (const ValuePtr& entry : as<archive::Tuple>(all).items) read_entry(entry);
    } catch (const Malformed&) {
      ranges_.clear();
    } catch (const archive::BadPickle&) {
    }
    pickle_.clear();
  }

  void read_entry(const ValuePtr& entry) {
    // In between there were files with the tag before the range.
    const ValuePtr& second = item(entry, 1);
    const ValuePtr& range = second->as<archive::Tuple>() ? second : item(entry, 2);
    const std::shared_ptr<Source>& source = source_of(item(range, 0));
    // PyTorch writes ranges behind the end of a source that has no text.
    const auto at = [&](size_t i) {
      return std::min(static_cast<size_t>(as<int64_t>(item(range, i))), source->size());
    };
    const size_t begin = at(1), end = std::max(begin, at(2));
    ranges_.push_back({static_cast<size_t>(as<int64_t>(item(entry, 0))), {source, begin, end}});
  }

  const std::string& text(const ValuePtr& place) const {
    return as<std::string>(item(strings_, static_cast<size_t>(as<int64_t>(place))));
  }

  const std::shared_ptr<Source>& source_of(const ValuePtr& v) {
    std::shared_ptr<Source>& source = sources_[v.get()];
    if (source) return source;
    std::string code;
    std::optional<std::string> file;
    if (strings_) {
      for (const ValuePtr& place : list(item(v, 0)).items) {
        code += text(place);
        if (code.size() > kMostSource) throw Malformed();
      }
      file = text(item(v, 1));
    } else {
      code = as<std::string>(item(v, 0));
      if (!item(v, 1)->as<archive::None>()) file = as<std::string>(item(v, 1));
    }
    source = std::make_shared<Source>(code, file, static_cast<size_t>(as<int64_t>(item(v, 2))));
    return source;
  }

  std::string pickle_;
  bool read_ = false;
  ValuePtr strings_;                                                   // null: none
  std::unordered_map<const Value*, std::shared_ptr<Source>> sources_;  // many ranges share one
  std::vector<Range> ranges_;
};

}  // namespace

std::shared_ptr<torch::jit::SourceRangeUnpickler> source_lines(std::string pickle) {
  return std::make_shared<Lines>(std::move(pickle));
}

}  // namespace oe::torch_io
