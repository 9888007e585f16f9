// What is wrong, or doubtful, with a serialized ONNX model.
#include "lib/onnx/lint.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "lib/onnx/external.h"
#include "lib/onnx/inference_registry.h"
#include "lib/onnx/model_file.h"
#include "lib/onnx/proto.h"
#include "lib/onnx/registry.h"
#include "lib/onnx/schema.h"
#include "lib/onnx/summary.h"
#include "lib/support/text.h"

namespace oe::onnx {
namespace {

bool of_onnx(const pb::NodeProto& n) { return n.domain().empty() || n.domain() == "ai.onnx"; }

class Linter {
 public:
  Linter(const std::filesystem::path& path, const Lacks& lacks)
      : path_(path), proto_(parse_model_file(path)), lacks_(lacks) {}

  std::vector<LintProblem> run() {
    pb::ModelProto& m = *proto_;
    for (const auto& o : m.opset_import())
      if (o.domain().empty() || o.domain() == "ai.onnx") opset_ = o.version();
    external_data();
    versions();
    used_.insert_range(m.graph());
    graph(m.graph());
    for (const auto& i : m.graph().input()) axes(i);
    // Without its data the checker would say the same again, and nothing else.
    if (std::ranges::find(found_, "OE8003", &LintProblem::code) == found_.end()) check();
    types(m.graph());  // which the check has inferred
    std::ranges::stable_sort(found_, {}, &LintProblem::severity);
    return std::move(found_);
  }

 private:
  // Names that something reads: a node of any graph, or an output of one.
  struct Used : std::unordered_set<std::string> {
    void insert_range(const pb::GraphProto& g) {
      for (const auto& o : g.output()) insert(o.name());
      for (const auto& n : g.node()) {
        for (const std::string& i : n.input()) insert(i);
        for (const auto& a : n.attribute()) {
          if (a.has_g()) insert_range(a.g());
          for (const auto& inner : a.graphs()) insert_range(inner);
        }
      }
    }
  };

  void add(const char* code, Severity severity, const std::string& message,
           const pb::NodeProto* n = nullptr) {
    found_.push_back({code, severity, n ? n->op_type() : "", n ? n->name() : "", message});
  }

  void check() {
    try {
      registry();
      if (has_data_files_) without_data_files();
      pb::checker::check_model(*proto_);
      pb::shape_inference::InferShapes(*proto_, &inference_registry(),
                                       pb::ShapeInferenceOptions{/*check_type=*/true,
                                                                 /*error_mode=*/1,
                                                                 /*data_propagation=*/false});
    } catch (const std::exception& e) {
      // One line, without the context that the library adds.
      std::string message(strip(e.what()));
      constexpr size_t shown = 4096;  // a wrong type is repeated for all that follows
      message = message.substr(0, std::min(message.find("\n\n"), shown));
      std::ranges::replace(message, '\n', ' ');
      add("OE8001", Severity::Error, message);
    }
  }

  // The checker would open files itself. Small tensors, which inference may read, and those of
  // nested graphs move into the model; the others become inputs.
  void without_data_files() {
    constexpr uint64_t read_up_to = 4096;
    ExternalFiles files(path_);
    pb::GraphProto& g = *proto_->mutable_graph();
    std::set<const pb::TensorProto*> large;
    for (const auto& t : g.initializer())
      if (t.data_location() == pb::TensorProto::EXTERNAL && files.bytes(t).size() > read_up_to)
        large.insert(&t);
    move_inside(*proto_, files, [&](const auto& t) { return large.contains(&t); });
    std::set<std::string> inputs;
    for (const auto& i : g.input()) inputs.insert(i.name());
    auto& initializers = *g.mutable_initializer();
    for (auto& t : initializers) {
      if (!large.contains(&t)) continue;
      if (!inputs.insert(t.name()).second) continue;
      auto* input = g.add_input();
      input->set_name(t.name());
      auto* type = input->mutable_type()->mutable_tensor_type();
      type->set_elem_type(t.data_type());
      for (const int64_t d : t.dims()) type->mutable_shape()->add_dim()->set_dim_value(d);
    }
    google::protobuf::RepeatedPtrField<pb::TensorProto> kept;
    for (auto& t : initializers)
      if (!large.contains(&t)) kept.Add(std::move(t));
    initializers.Swap(&kept);
  }

  void external_data() {
    const ModelSummary s = summarise(path_.parent_path(), *proto_, 0);
    has_data_files_ = !s.data_files.empty();
    for (const ModelSummary::DataFile& f : s.data_files) {
      if (!f.size)
        add("OE8003", Severity::Error, "external data '" + f.location + "' is missing");
      else if (*f.size < f.needed)
        add("OE8003", Severity::Error,
            "external data '" + f.location + "' is too short: it has " + std::to_string(*f.size) +
                " of " + std::to_string(f.needed) + " bytes");
    }
    for (const std::string& p : s.problems) add("OE8003", Severity::Error, p);
  }

  void versions() {
    if (opset_ < 1 || opset_ > newest_opset()) return;  // the checker says it
    const int64_t needed = ir_version_for_opset(opset_);
    if (proto_->ir_version() < needed)
      add("OE8008", Severity::Warning,
          "IR version " + std::to_string(proto_->ir_version()) + " is older than opset " +
              std::to_string(opset_) + ", which came with " + std::to_string(needed));
  }

  void axes(const pb::ValueInfoProto& input) {
    if (!input.type().has_tensor_type()) return;
    int axis = 0;
    for (const auto& d : input.type().tensor_type().shape().dim()) {
      if (!d.has_dim_value() && d.dim_param().empty())
        add("OE8010", Severity::Note,
            "axis " + std::to_string(axis) + " of input '" + input.name() +
                "' is dynamic and has no name");
      ++axis;
    }
  }

  void name(const std::string& text, const pb::NodeProto* n = nullptr) {
    const bool bad = std::ranges::any_of(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (bad) add("OE8009", Severity::Warning, "a name has control characters", n);
  }

  void graph(const pb::GraphProto& g) {
    std::set<std::string> inputs;
    std::vector<std::string> defined;
    const auto define = [&](const std::string& text, const pb::NodeProto* n) {
      if (text.empty()) return;
      name(text, n);
      if (visible_.insert(text).second)
        defined.push_back(text);
      else
        add("OE8002", Severity::Error, "two values have the name '" + text + "'", n);
    };
    for (const auto& i : g.input()) {
      inputs.insert(i.name());
      define(i.name(), nullptr);
    }
    std::set<std::string> initializers;
    for (const auto& t : g.initializer()) {
      if (!initializers.insert(t.name()).second)
        add("OE8002", Severity::Error, "two initializers have the name '" + t.name() + "'");
      else if (!inputs.contains(t.name()))
        define(t.name(), nullptr);
      if (!used_.contains(t.name()))
        add("OE8004", Severity::Warning, "nothing uses the initializer '" + t.name() + "'");
    }
    for (const auto& n : g.node()) {
      if (!n.name().empty() && !node_names_.insert(n.name()).second)
        add("OE8006", Severity::Warning, "another node has the same name", &n);
      name(n.name(), &n);
      for (const std::string& o : n.output()) define(o, &n);
      if (std::ranges::none_of(n.output(), [&](const auto& o) { return used_.contains(o); }))
        add("OE8005", Severity::Warning, "nothing uses the outputs of the node", &n);
    }
    for (const auto& n : g.node())
      for (const auto& a : n.attribute()) {
        if (a.has_g()) graph(a.g());
        for (const auto& inner : a.graphs()) graph(inner);
      }
    for (const std::string& text : defined) visible_.erase(text);
  }

  void learn(const std::string& value, const pb::TypeProto& t) {
    if (t.has_tensor_type() && t.tensor_type().elem_type() != 0)
      types_[value] = static_cast<DType>(t.tensor_type().elem_type());
  }

  // After inference. Inner graphs see the types around them.
  void types(const pb::GraphProto& g) {
    for (const auto& i : g.input()) learn(i.name(), i.type());
    for (const auto& v : g.value_info()) learn(v.name(), v.type());
    for (const auto& o : g.output()) learn(o.name(), o.type());
    for (const auto& t : g.initializer()) types_[t.name()] = static_cast<DType>(t.data_type());
    for (const auto& n : g.node()) {
      gaps(n);
      for (const auto& a : n.attribute()) {
        if (a.has_g()) types(a.g());
        for (const auto& inner : a.graphs()) types(inner);
      }
    }
  }

  void gaps(const pb::NodeProto& n) {
    const Schema* s = of_onnx(n) ? find_schema("", n.op_type(), opset_) : nullptr;
    if (!s) return;
    std::set<std::string> told;
    const auto look = [&](const std::vector<Formal>& formals, const auto& names) {
      for (int i = 0; i < names.size() && !formals.empty(); ++i) {
        const size_t at = std::min(static_cast<size_t>(i), formals.size() - 1);
        const auto it = types_.find(names.Get(i));
        if (it == types_.end()) continue;
        const std::string text = std::string(oe::name(it->second));
        if (lacks_(n.op_type(), formals[at].type, it->second, opset_) && told.insert(text).second)
          add("OE8007", Severity::Warning,
              "ONNX Runtime's CPU kernels do not accept " + text + " here", &n);
      }
    };
    look(s->inputs, n.input());
    look(s->outputs, n.output());
  }

  const std::filesystem::path& path_;
  std::shared_ptr<pb::ModelProto> proto_;
  const Lacks& lacks_;
  int64_t opset_ = 0;
  bool has_data_files_ = false;
  Used used_;
  std::unordered_set<std::string> visible_;  // values of this graph and of those around it
  std::unordered_set<std::string> node_names_;
  std::unordered_map<std::string, DType> types_;
  std::vector<LintProblem> found_;
};

}  // namespace

std::vector<LintProblem> lint(const std::filesystem::path& path, const Lacks& lacks) {
  return Linter(path, lacks).run();
}

}  // namespace oe::onnx
