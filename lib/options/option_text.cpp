// Texts of the command line that have a grammar of their own: input SPECs, dynamic axes, sizes.
#include "lib/options/option_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>

#include "lib/support/diagnostics.h"
#include "lib/support/files.h"
#include "lib/support/text.h"

namespace oe {
namespace {

[[noreturn]] void usage(const std::string& message, const std::string& hint = {}) {
  throw Failure(ExitCode::Usage, "OE0010", message, hint);
}

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

constexpr std::pair<const char*, DType> kDTypes[] = {{"f32", DType::Float},
                                                     {"float32", DType::Float},
                                                     {"fp32", DType::Float},
                                                     {"float", DType::Float},
                                                     {"f16", DType::Float16},
                                                     {"float16", DType::Float16},
                                                     {"half", DType::Float16},
                                                     {"bf16", DType::BFloat16},
                                                     {"bfloat16", DType::BFloat16},
                                                     {"f64", DType::Double},
                                                     {"float64", DType::Double},
                                                     {"double", DType::Double},
                                                     {"i8", DType::Int8},
                                                     {"int8", DType::Int8},
                                                     {"i16", DType::Int16},
                                                     {"int16", DType::Int16},
                                                     {"i32", DType::Int32},
                                                     {"int32", DType::Int32},
                                                     {"int", DType::Int32},
                                                     {"i64", DType::Int64},
                                                     {"int64", DType::Int64},
                                                     {"long", DType::Int64},
                                                     {"u8", DType::UInt8},
                                                     {"uint8", DType::UInt8},
                                                     {"bool", DType::Bool},
                                                     {"c64", DType::Complex64},
                                                     {"complex64", DType::Complex64},
                                                     {"c128", DType::Complex128},
                                                     {"complex128", DType::Complex128}};

class SpecParser {
 public:
  SpecParser(const std::string& text, const std::string& option)
      : text_(text), option_(option), rest_(strip(text)) {}

  InputSpec parse() {
    InputSpec spec;
    if (name_equals_value(spec)) return spec;
    const size_t colon = rest_.find(':');
    if (colon != std::string_view::npos && is_path(rest_.substr(0, colon))) {
      spec.name = rest_.substr(0, colon);
      rest_.remove_prefix(colon + 1);
    }
    spec.shape = shape();
    if (rest_.starts_with('@')) {
      const size_t end = std::min(rest_.find('='), rest_.size());
      spec.dtype = dtype(std::string(rest_.substr(1, end - 1)));
      rest_.remove_prefix(end);
    }
    if (rest_.starts_with('=')) {
      spec.value = rest_.substr(1);
      if (spec.value.empty()) fail("a value is missing after '='");
      rest_ = {};
    }
    if (!rest_.empty()) fail("cannot read '" + std::string(rest_) + "'");
    return spec;
  }

 private:
  static constexpr const char* kForm =
      "write an input as [NAME:]SHAPE[@TYPE][=VALUE] or NAME=VALUE, as in x:batch=2x3x224x224@f32";
  [[noreturn]] void fail(const std::string& what, const std::string& hint = kForm) const {
    usage(option_ + " '" + text_ + "': " + what, hint);
  }

  DType dtype(const std::string& text) const {
    std::vector<std::string> names;
    for (const auto& [name, type] : kDTypes) {
      if (text == name) return type;
      names.emplace_back(name);
    }
    const std::string hint = did_you_mean(text, names);
    fail(text.empty() ? "an element type is missing after '@'"
                      : "unknown element type '" + text + "'",
         hint.empty() ? "use one of f32 f16 bf16 f64 i8 i16 i32 i64 u8 bool c64 c128" : hint);
  }

  static bool is_path(std::string_view s) {
    return !s.empty() && std::all_of(s.begin(), s.end(),
                                     [](char c) { return letter(c) || digit(c) || c == '.'; });
  }

  // n=5 is a value, batch=2x3 a shape: the text after '=' decides.
  bool name_equals_value(InputSpec& spec) {
    const size_t equals = rest_.find('=');
    if (equals == std::string_view::npos || !is_path(rest_.substr(0, equals)) || !letter(rest_[0]))
      return false;
    const std::string value(rest_.substr(equals + 1));
    if (value.empty()) fail("a value is missing after '='");
    const bool shape_like = digit(value[0]) && (value.find('x') != std::string::npos ||
                                                value.find("..") != std::string::npos ||
                                                value.find('@') != std::string::npos);
    if (shape_like) return false;
    spec.name = rest_.substr(0, equals);
    spec.value = value;
    return true;
  }

  std::vector<DimSpec> shape() {
    // Also the beginning of an axis name: scalars=2x3.
    constexpr std::string_view scalar = "scalar";
    if (rest_.starts_with(scalar) &&
        (rest_.size() == scalar.size() || !(letter(rest_[6]) || digit(rest_[6])))) {
      rest_.remove_prefix(scalar.size());
      return {};
    }
    const bool brackets = rest_.starts_with('[');
    if (brackets) rest_.remove_prefix(1);
    std::vector<DimSpec> dims;
    if (brackets) blanks();
    if (brackets && rest_.starts_with(']')) {
      rest_.remove_prefix(1);
      return dims;
    }
    for (;;) {
      if (brackets) blanks();
      dims.push_back(dim(brackets));
      if (brackets) blanks();
      // 1,3,224,224 is a shape too: its first comma says what separates.
      const bool comma = brackets || commas_;
      if (!comma && rest_.starts_with(',')) commas_ = dims.size() == 1;
      if (rest_.starts_with(comma || commas_ ? ',' : 'x')) {
        rest_.remove_prefix(1);
        continue;
      }
      if (!brackets) return dims;
      if (!rest_.starts_with(']')) fail("']' is missing" + at());
      rest_.remove_prefix(1);
      return dims;
    }
  }

  void blanks() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }

  int64_t number() {
    size_t n = 0;
    while (n < rest_.size() && digit(rest_[n])) ++n;
    const std::string digits(rest_.substr(0, n));
    const auto v = whole_number(digits);
    if (!v) fail(n == 0 ? "a size is missing" + at() : "the size " + digits + " is too large");
    rest_.remove_prefix(n);
    return *v;
  }
  std::string at() const {
    return rest_.empty() ? " at the end" : " before '" + std::string(rest_) + "'";
  }

  // 224 or 1..8
  void size_or_bounds(DimSpec& d) {
    const int64_t first = number();
    if (!rest_.starts_with("..")) {
      d.size = first;
      return;
    }
    rest_.remove_prefix(2);
    d.low = first;
    d.high = number();
    d.dynamic = true;
    if (*d.low > *d.high)
      fail("the bounds " + std::to_string(*d.low) + ".." + std::to_string(*d.high) +
           " are in the wrong order");
  }

  DimSpec dim(bool brackets) {
    DimSpec d;
    if (rest_.starts_with('?')) {
      rest_.remove_prefix(1);
      d.dynamic = true;
      return d;
    }
    if (rest_.empty() || !letter(rest_[0])) {
      size_or_bounds(d);
      return d;
    }
    size_t n = 0;  // without brackets an x separates
    while (n < rest_.size() && (letter(rest_[n]) || digit(rest_[n])) &&
           (brackets || rest_[n] != 'x'))
      ++n;
    d.symbol = rest_.substr(0, n);
    d.dynamic = true;
    if (n == 0 || d.symbol[0] == '_')
      fail("an axis name contains an x" + at(), "write the shape in brackets, as in [max_len=5,3]");
    rest_.remove_prefix(n);
    // An '=' here is a size (batch=2) unless no number follows: x:batch=zeros is a value.
    if (rest_.size() > 1 && rest_[0] == '=' && digit(rest_[1])) {
      rest_.remove_prefix(1);
      size_or_bounds(d);
    }
    return d;
  }

  const std::string &text_, &option_;
  std::string_view rest_;
  bool commas_ = false;  // separate sizes without brackets
};

using Axes = std::map<int64_t, std::string>;

[[noreturn]] void bad_axes(const std::string& text, const std::string& what) {
  usage("--dynamic-axes '" + text + "': " + what,
        "write x:0=batch,2=height or x:0,2, several inputs in one quoted argument, or JSON: "
        "{\"x\": {\"0\": \"batch\"}}");
}

// Names for axes without one, as torch numbers them. '*' and positions are named when the inputs
// are known.
void add_entry(const std::string& key, const std::vector<std::pair<int64_t, std::string>>& list,
               const std::string& text, AxesSpec& axes) {
  const bool named = key != "*" && !whole_number(key);
  Axes entry;
  size_t automatic = 0;
  for (const auto& [axis, name] : list) {
    std::string own = name;
    if (name.empty() && named) own = key + "_dynamic_axes_" + std::to_string(++automatic);
    if (!entry.emplace(axis, own).second)
      bad_axes(text, "axis " + std::to_string(axis) + " of '" + key + "' is given twice");
  }
  for (const auto& [other, known] : axes.entries)
    for (const auto& [axis, name] : entry)
      if (other == key && known.contains(axis) && known.at(axis) != name)
        bad_axes(text, "axis " + std::to_string(axis) + " of '" + key + "' is called '" +
                           known.at(axis) + "' already");
  axes.entries.emplace_back(key, std::move(entry));
}

// Python's {'x': {0: 'batch'}} as JSON: {"x":{"0":"batch"}}.
std::string json_of_python(const std::string& text) {
  std::string json;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      json += c == quote ? '"' : c;
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
      json += '"';
    } else if ((digit(c) || c == '-') && !json.empty() && !digit(json.back())) {
      size_t end = i + 1;
      while (end < text.size() && digit(text[end])) ++end;
      const std::string number = text.substr(i, end - i);
      i = end - 1;
      while (end < text.size() && text[end] == ' ') ++end;
      const bool key = end < text.size() && text[end] == ':';
      json += key ? '"' + number + '"' : number;
    } else if (c != ' ' && c != '\n') {
      json += c;
    }
  }
  return json;
}

void axes_from_json(const std::string& text, AxesSpec& axes) {
  using nlohmann::ordered_json;
  const bool python = !ordered_json::accept(text);
  const ordered_json j = ordered_json::parse(python ? json_of_python(text) : text, nullptr,
                                             /*allow_exceptions=*/false);
  if (!j.is_object()) bad_axes(text, "is not a JSON object");
  for (const auto& [key, value] : j.items()) {
    std::vector<std::pair<int64_t, std::string>> list;
    if (value.is_array()) {
      for (const auto& axis : value) {
        if (!axis.is_number_integer()) bad_axes(text, "the axes of '" + key + "' are not integers");
        list.emplace_back(axis.get<int64_t>(), "");
      }
    } else if (value.is_object()) {
      for (const auto& [axis, name] : value.items()) {
        const auto number = whole_number(axis);
        if (!number || !name.is_string())
          bad_axes(text, "'" + key + "' must map axis numbers to names");
        list.emplace_back(*number, name.get<std::string>());
      }
    } else {
      bad_axes(text, "'" + key + "' needs an object or a list");
    }
    add_entry(key, list, text, axes);
  }
}

void axes_from_short(const std::string& text, AxesSpec& axes) {
  std::string spaced = text;
  std::replace(spaced.begin(), spaced.end(), '\t', ' ');
  for (const std::string& entry : split(spaced, ' ')) {
    if (entry.empty()) continue;
    const size_t colon = entry.find(':');
    if (colon == std::string::npos || colon == 0) bad_axes(text, "'" + entry + "' names no axis");
    std::vector<std::pair<int64_t, std::string>> list;
    for (const std::string& axis : split(entry.substr(colon + 1), ',')) {
      const size_t equals = axis.find('=');
      const auto number = whole_number(axis.substr(0, equals));
      if (!number) bad_axes(text, "'" + axis.substr(0, equals) + "' is not an axis number");
      const std::string name = equals == std::string::npos ? "" : axis.substr(equals + 1);
      if (equals != std::string::npos && name.empty()) bad_axes(text, "a name is missing");
      list.emplace_back(*number, name);
    }
    add_entry(entry.substr(0, colon), list, text, axes);
  }
}

}  // namespace

std::string spec_type(DType t) {
  for (const auto& [word, type] : kDTypes)
    if (type == t) return word;
  return {};
}

std::string spec_text(const InputSpec& s) {
  if (!s.shape) return s.name + "=" + s.value;
  std::string text = (s.name.empty() ? "" : s.name + ":") + (s.shape->empty() ? "scalar" : "");
  for (size_t i = 0; i < s.shape->size(); ++i) {
    const DimSpec& d = (*s.shape)[i];
    text += (i ? "x" : "") + d.symbol + (d.symbol.empty() ? "" : "=") +
            std::to_string(d.size.value_or(1));
  }
  if (const std::string type = spec_type(s.dtype); !type.empty()) text += "@" + type;
  return text + (s.value.empty() ? "" : "=" + s.value);
}

InputSpec parse_input_spec(const std::string& text, const std::string& option) {
  return SpecParser(text, option).parse();
}

void parse_dynamic_axes(const std::string& text, AxesSpec& axes) {
  const std::string stripped(strip(text));
  if (stripped.starts_with('@')) {
    const std::string file = stripped.substr(1);
    try {
      return axes_from_json(read_whole_file(file), axes);
    } catch (const std::system_error& e) {
      usage("--dynamic-axes: " + file + ": " + e.code().message());
    }
  }
  if (stripped.starts_with('{')) return axes_from_json(stripped, axes);
  axes_from_short(stripped, axes);
}

int64_t parse_size(const std::string& text, const std::string& option) {
  static constexpr std::pair<const char*, int64_t> units[] = {
      {"", 1},         {"B", 1},       {"k", 1000},      {"kB", 1000},
      {"K", 1024},     {"KiB", 1024},  {"M", 1 << 20},   {"MiB", 1 << 20},
      {"MB", 1000000}, {"G", 1 << 30}, {"GiB", 1 << 30}, {"GB", 1000000000}};
  size_t digits = 0;
  while (digits < text.size() && digit(text[digits])) ++digits;
  const auto n = whole_number(text.substr(0, digits));
  for (const auto& [unit, factor] : units)
    if (n && *n <= INT64_MAX / factor && text.substr(digits) == unit) return *n * factor;
  usage(option + ": '" + text + "' is not a size", "write 1024, 1KiB, 4MiB or 1GB");
}

}  // namespace oe
