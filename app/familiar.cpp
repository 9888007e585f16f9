#include "app/familiar.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "lib/support/text.h"

namespace oe::app {
namespace {

enum class Become {
  Option,      // the same under our name
  Shapes,      // --input, one for each input that the value names
  Given,       // stands for a whole argument of ours; has no value
  On,          // a truth value: what we do anyway, or with false the option
  Positional,  // the value is MODEL
  Profile,     // trtexec's minShapes, optShapes, maxShapes
  Refused,     // `ours` is the hint
};

struct Known {
  std::string_view theirs;  // with '-' for '_', in lower case
  Become become;
  const char* ours;
};

constexpr Known kKnown[] = {
    {"--opset-version", Become::Option, "--opset"},
    {"--target-opset", Become::Option, "--opset"},
    {"--onnx-opset", Become::Option, "--opset"},
    {"--out", Become::Option, "--output"},
    {"--output-file", Become::Option, "--output"},
    {"--output-path", Become::Option, "--output"},
    {"--output-model", Become::Option, "--output"},
    {"--onnx", Become::Option, "--output"},
    {"--onnx-path", Become::Option, "--output"},
    {"--model", Become::Positional, ""},
    {"--model-path", Become::Positional, ""},
    {"--input-model", Become::Positional, ""},
    {"--input-shape", Become::Shapes, ""},
    {"--input-shapes", Become::Shapes, ""},
    {"--inputshape", Become::Shapes, ""},
    {"--shapes", Become::Shapes, ""},
    {"--minshapes", Become::Profile, ""},
    {"--optshapes", Become::Profile, ""},
    {"--maxshapes", Become::Profile, ""},
    {"--dynamic", Become::Option, "--dynamic-axes"},
    {"--half", Become::Given, "--to=fp16"},
    {"--fp16", Become::Given, "--to=fp16"},
    {"--float16", Become::Given, "--to=fp16"},
    {"--compress-to-fp16", Become::Given, "--to=fp16"},
    {"--extension", Become::Option, "--custom-op-lib"},
    {"--bf16", Become::Given, "--to=bf16"},
    {"--bfloat16", Become::Given, "--to=bf16"},
    {"--gpu", Become::Given, "--device=cuda"},
    {"--cuda", Become::Given, "--device=cuda"},
    {"--validate", Become::Given, "--verify"},
    {"--export-params", Become::On, "--no-export-params"},
    {"--do-constant-folding", Become::On, "--no-constant-folding"},
    {"--check", Become::Refused, "type: onnx-export check MODEL"},
    {"--simplify", Become::Refused,
     "the graph is optimized without an option; --optimize=none turns that off"},
    {"--int8", Become::Refused,
     "convert first, then quantize the ONNX file with onnxruntime.quantization"},
    {"--fp32", Become::Refused, "remove it: the model keeps its own element types"},
    {"--float32", Become::Refused, "remove it: the model keeps its own element types"},
    {"--dtype", Become::Refused, "type --to fp16 or --to bf16, or remove it"},
    {"--precision", Become::Refused, "type --to fp16 or --to bf16, or remove it"},
    {"--saveengine", Become::Refused,
     "convert first, then build the engine: trtexec --onnx=MODEL.onnx --saveEngine=FILE"},
    {"--batch-size", Become::Refused,
     "the sizes are those of the example: --input 8x3x224x224; --dynamic-batch makes the batch "
     "axis dynamic"},
    {"--imgsz", Become::Refused, "the sizes are those of the example: --input 1x3x640x640"},
    {"--img-size", Become::Refused, "the sizes are those of the example: --input 1x3x640x640"},
    {"--batch", Become::Refused,
     "type: onnx-export batch FOLDER -o OUT; --dynamic-batch for an axis"},
};

std::string dashed(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::optional<bool> truth(const std::string& text) {
  const std::string t = lower(text);
  if (t == "true" || t == "1" || t == "yes" || t == "on") return true;
  if (t == "false" || t == "0" || t == "no" || t == "off") return false;
  return std::nullopt;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '/';
  });
}

// The inputs of "x:1,3,8,8 y:[2,2]", "x:1x3x8x8,y:2x2" and "[1,3],[2,2]", each as --input takes it.
Strings inputs_of(const std::string& text) {
  Strings inputs;
  std::string one;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    // A comma ends an input where another name or bracket follows.
    const std::string_view rest = std::string_view(text).substr(i + 1);
    const size_t colon = rest.find(':');
    const bool named = colon != std::string_view::npos &&
                       !std::isdigit(static_cast<unsigned char>(rest[0])) &&
                       is_name(rest.substr(0, colon));
    const bool ends = depth == 0 && (c == ' ' || (c == ',' && (named || rest.starts_with('['))));
    if (ends) {
      if (!one.empty()) inputs.push_back(std::move(one));
      one.clear();
    } else if (c == '(') {
      one += '[';
    } else if (c == ')') {
      one += ']';
    } else if (c != ' ' && c != '"' && c != '\'') {
      one += c;
    }
  }
  if (!one.empty()) inputs.push_back(std::move(one));
  return inputs;
}

// Of trtexec's profile: "x:1..8x3" of 1x3 and 8x3.
class Profile {
 public:
  void add(const std::string& which, const std::string& value) {
    for (const std::string& input : inputs_of(value)) {
      const size_t colon = input.find(':');
      if (colon == std::string::npos)
        usage("--minShapes, --optShapes, --maxShapes: '" + input + "' is not NAME:SHAPE");
      const std::string name = input.substr(0, colon);
      if (!shapes_.contains(name)) order_.push_back(name);
      shapes_[name][which] = sizes(input.substr(colon + 1));
    }
  }

  void write(Strings& out) const {
    for (const std::string& name : order_) {
      const std::map<std::string, Strings>& given = shapes_.at(name);
      const auto of = [&](const char* which) {
        const auto it = given.find(which);
        return it == given.end() ? given.begin()->second : it->second;
      };
      const Strings low = of("--minshapes"), high = of("--maxshapes");
      if (low.size() != high.size())
        usage("--minShapes and --maxShapes: '" + name + "' has two ranks");
      Strings dims;
      for (size_t i = 0; i < low.size(); ++i)
        dims.push_back(low[i] == high[i] ? low[i] : low[i] + ".." + high[i]);
      out.push_back("--input=" + name + ":[" + join(dims, ",") + "]");
    }
  }

 private:
  Strings order_;
  std::map<std::string, std::map<std::string, Strings>> shapes_;

  static Strings sizes(std::string text) {
    std::erase_if(text, [](char c) { return c == '[' || c == ']'; });
    std::replace(text.begin(), text.end(), 'x', ',');
    return split(text, ',');
  }
};

class Translation {
 public:
  Translation(const Strings& arguments, const Strings& known) : in_(arguments), known_(known) {}

  Strings run() {
    for (at_ = 0; at_ < in_.size(); ++at_) {
      if (in_[at_] == "--") break;
      if (in_[at_].starts_with("--"))
        option(in_[at_]);
      else
        out_.push_back(python_value("", in_[at_]).value_or(""));
    }
    profile_.write(out_);
    out_.insert(out_.end(), in_.begin() + static_cast<std::ptrdiff_t>(at_), in_.end());
    return out_;
  }

 private:
  const Strings& in_;
  const Strings& known_;
  Strings out_;
  Profile profile_;
  size_t at_ = 0;

  bool is_ours(const std::string& name) const {
    return std::find(known_.begin(), known_.end(), name) != known_.end();
  }

  void option(const std::string& argument) {
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::optional<std::string> value =
        equals == std::string::npos ? std::nullopt : std::optional(argument.substr(equals + 1));
    const std::string plain = dashed(name);
    const std::string ours = is_ours(name) ? name : is_ours(plain) ? plain : std::string();
    if (!ours.empty()) return push(ours, python_value(ours, value));
    const std::string folded = lower(plain);
    const Known* k = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [&](const Known& o) { return o.theirs == folded; });
    if (k == std::end(kKnown)) return out_.push_back(argument);
    // A verb that has no such option says so itself.
    const std::string target = k->ours;
    if (target.starts_with("--") && !is_ours(target.substr(0, target.find('='))))
      return out_.push_back(argument);
    become(*k, name, folded, value);
  }

  void become(const Known& k, const std::string& name, const std::string& folded,
              std::optional<std::string> value) {
    switch (k.become) {
      case Become::Option:
        return push(k.ours, value);
      case Become::Shapes:
        for (const std::string& input : values(value, name)) out_.push_back("--input=" + input);
        return;
      case Become::Given:
        if (truth_after(value).value_or(true)) out_.emplace_back(k.ours);
        return;
      case Become::On:
        if (!truth_after(value).value_or(true)) out_.emplace_back(k.ours);
        return;
      case Become::Positional:
        if (!value && at_ + 1 < in_.size()) value = in_[++at_];
        if (value) out_.push_back(*value);
        return;
      case Become::Profile:
        for (const std::string& input : values(value, name)) profile_.add(folded, input);
        return;
      case Become::Refused:
        usage("unknown option '" + name + "'", k.ours);
    }
  }

  void push(const std::string& name, const std::optional<std::string>& value) {
    out_.push_back(value ? name + "=" + *value : name);
  }

  // "True", and "TrainingMode.EVAL" of Python, where the option has values of its own.
  static std::optional<std::string> python_value(const std::string& name,
                                                 std::optional<std::string> value) {
    if (!value) return value;
    for (const std::string_view prefix :
         {"TrainingMode.", "torch.onnx.TrainingMode.", "OperatorExportTypes.",
          "torch.onnx.OperatorExportTypes."})
      if (value->starts_with(prefix)) {
        const std::string word = dashed(lower(value->substr(prefix.size())));
        return word == "training" ? "train" : word;
      }
    if (name == "--keep-initializers-as-inputs")
      if (const auto yes = truth(*value)) return *yes ? "yes" : "no";
    return value;
  }

  // The truth value that an option has, or the next argument is.
  std::optional<bool> truth_after(const std::optional<std::string>& value) {
    if (value) return truth(*value);
    if (at_ + 1 >= in_.size()) return std::nullopt;
    const std::string& next = in_[at_ + 1];
    if (next.size() < 4 || !truth(next)) return std::nullopt;  // "True", not a file named 1
    ++at_;
    return truth(next);
  }

  // The inputs in the value, or in the arguments that follow: polygraphy takes several.
  Strings values(const std::optional<std::string>& value, const std::string& name) {
    if (value) return inputs_of(*value);
    Strings inputs;
    while (at_ + 1 < in_.size() && !in_[at_ + 1].starts_with("-") && shape_like(in_[at_ + 1])) {
      const Strings more = inputs_of(in_[++at_]);
      inputs.insert(inputs.end(), more.begin(), more.end());
    }
    if (inputs.empty()) usage(name + ": no shape follows", "type: --input NAME:1x3x224x224");
    return inputs;
  }

  static bool shape_like(const std::string& text) {
    const size_t colon = text.rfind(':');
    const std::string shape = colon == std::string::npos ? text : text.substr(colon + 1);
    return !shape.empty() && std::all_of(shape.begin(), shape.end(), [](unsigned char c) {
      return std::isdigit(c) ||
             std::string_view("x,[]() .?").find(static_cast<char>(c)) != std::string_view::npos;
    });
  }
};

}  // namespace

Strings familiar(const Strings& arguments, const Strings& known) {
  return Translation(arguments, known).run();
}

}  // namespace oe::app
