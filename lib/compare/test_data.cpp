// ONNX's test data: folders test_data_set_N with input_0.pb, ..., output_0.pb, ...
#include "lib/compare/test_data.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "lib/support/diagnostics.h"
#include "lib/support/files.h"
#include "lib/support/text.h"

namespace oe {
namespace {

namespace fs = std::filesystem;

// input_0.pb, input_1.pb, ... without a gap.
std::vector<std::string> numbered_files(const fs::path& folder, const std::string& kind) {
  std::vector<std::string> files;
  std::error_code error;
  for (;;) {
    const fs::path file = folder / (kind + "_" + std::to_string(files.size()) + ".pb");
    if (!fs::is_regular_file(file, error)) return files;
    files.push_back(file.string());
  }
}

std::vector<fs::path> set_folders(const fs::path& dir) {
  std::error_code error;
  if (fs::is_regular_file(dir / "input_0.pb", error)) return {dir};
  std::vector<fs::path> sets;
  for (;;) {
    const fs::path set = dir / ("test_data_set_" + std::to_string(sets.size()));
    if (!fs::is_directory(set, error)) return sets;
    sets.push_back(set);
  }
}

HostValue expected_value(const std::string& file, onnx::FileType type) {
  try {
    return onnx::read_value(file, type);
  } catch (const std::runtime_error& e) {
    throw Failure(ExitCode::Unreadable, "OE0131", file + ": " + e.what());
  }
}

size_t leaf_named(const verify::Request& r, const std::string& name) {
  const auto at = std::ranges::find(r.leaf_names, name);
  if (at == r.leaf_names.end()) throw std::logic_error("no leaf is the input '" + name + "'");
  return static_cast<size_t>(at - r.leaf_names.begin());
}

// The leaves of the example and of each further one.
std::vector<std::vector<TensorPtr>> all_examples(const torch_io::ExampleInputs& e,
                                                 const torch_io::Reference::Form& form) {
  std::vector<c10::IValue> leaves;
  for (const torch_io::InputLeaf& leaf : e.leaves) leaves.push_back(leaf.value);
  std::vector<std::vector<TensorPtr>> all = {torch_io::host_leaves(leaves, form)};
  for (const std::vector<c10::IValue>& further : e.alternatives) {
    std::ranges::copy(further, leaves.begin());
    all.push_back(torch_io::host_leaves(leaves, form));
  }
  return all;
}

}  // namespace

onnx::FileType file_type(const ir::Type& t) {
  const bool optional = t.kind == ir::Type::Kind::Optional;
  return {(optional ? *t.element : t).kind == ir::Type::Kind::Sequence, optional};
}

void write_test_set(const ir::Model& m, const verify::Request& r, const HostRun& run,
                    const fs::path& folder) {
  if (file_access().make_folder(folder) != 0 && errno != EEXIST)
    throw Failure(ExitCode::Unwritable, "OE0705", folder.string() + ": " + std::strerror(errno));
  for (size_t i = 0; i < m.graph.inputs.size(); ++i) {
    if (m.graph.inputs[i]->data) continue;  // it has a default
    const std::string& name = m.graph.inputs[i]->name;
    onnx::write_value(HostValue::of(run.inputs.at(leaf_named(r, name))), {}, name,
                      folder / ("input_" + std::to_string(i) + ".pb"));
  }
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    const ir::Value& output = *m.graph.outputs.at(i);
    onnx::write_value(run.outputs[i], file_type(output.type), output.name,
                      folder / ("output_" + std::to_string(i) + ".pb"));
  }
}

InputOptions with_test_sets(InputOptions o) {
  if (o.folder.empty()) return o;
  const fs::path dir = o.folder;
  std::error_code error;
  if (!fs::is_directory(dir, error))
    usage_error("OE0208", "--inputs-from: " + dir.string() + " is not a folder");
  const std::vector<fs::path> folders = set_folders(dir);
  if (folders.empty())
    usage_error("OE0208",
                "--inputs-from: " + dir.string() + " has neither input_0.pb nor test_data_set_0",
                "--save-test-data writes such a folder");
  std::vector<std::vector<InputSpec>> sets;
  for (const fs::path& folder : folders) {
    std::vector<InputSpec>& specs = sets.emplace_back();
    for (const std::string& file : numbered_files(folder, "input"))
      specs.push_back({"", std::nullopt, DType::Undefined, "@" + file});
    if (specs.size() != sets[0].size())
      usage_error("OE0208", "--inputs-from: " + folder.string() + " holds " +
                                plural(specs.size(), "input") + ", " + folders[0].string() + " " +
                                std::to_string(sets[0].size()));
    auto& outputs = o.expected.emplace_back();
    for (const std::string& file : numbered_files(folder, "output"))
      outputs.emplace_back(outputs.size(), file);
  }
  // What --input names is the same in every set; sizes of further examples are numbers.
  sets[0].insert(sets[0].end(), o.specs.begin(), o.specs.end());
  for (InputSpec& s : o.specs)
    if (s.shape)
      for (DimSpec& d : *s.shape) d = {d.size.value_or(1), {}, false, {}, {}};
  for (size_t i = 1; i < sets.size(); ++i)
    sets[i].insert(sets[i].end(), o.specs.begin(), o.specs.end());
  o.specs = std::move(sets[0]);
  o.alternatives.insert(o.alternatives.begin(), sets.begin() + 1, sets.end());
  return o;
}

size_t compare_expected(const Options& o, verify::Ort& ort, const verify::Request& r,
                        const std::vector<onnx::FileType>& types, const torch_io::ExampleInputs& e,
                        const torch_io::Reference::Form& form) {
  // The results in the folder are those of its own inputs.
  const auto files =
      std::ranges::count_if(o.input.specs, [](const InputSpec& s) { return s.name.empty(); });
  const bool replaced =
      std::ranges::any_of(o.input.specs, [](const InputSpec& s) { return !s.name.empty(); });
  if (replaced && static_cast<size_t>(files) == e.leaves.size()) return 0;
  const std::vector<std::vector<TensorPtr>> sets = all_examples(e, form);
  const auto session = verify::open(ort, r);
  const std::vector<std::string> inputs = session->input_names();
  const std::vector<std::string> outputs = session->output_names();
  size_t compared = 0;
  for (size_t set = 0; set < o.input.expected.size(); ++set) {
    if (o.input.expected[set].empty()) continue;
    std::vector<HostValue> given;
    for (const std::string& name : inputs)
      given.emplace_back().tensor = sets[set][leaf_named(r, name)];
    const std::vector<HostValue> actual = session->run(given);
    for (const auto& [index, file] : o.input.expected[set]) {
      const auto fail = [&](const std::string& what) {
        throw Failure(ExitCode::Mismatch, "OE0607", what);
      };
      if (index >= actual.size())
        fail(file + ": the model has only " + plural(actual.size(), "output"));
      const auto at = std::ranges::find(r.output_names, outputs[index]);
      const auto place = static_cast<size_t>(at - r.output_names.begin());
      if (place < r.lineage.size() && r.lineage[place].drawn) continue;
      const verify::Tolerance tolerance = verify::tolerance_of(r, outputs[index]);
      const std::string what = verify::value_difference(
          actual[index], expected_value(file, types.at(place)),
          [&](const Tensor& a, const Tensor& e) {
            const bool rounded =
                r.half != DType::Undefined && is_float(a.dtype()) && is_float(e.dtype());
            const verify::Comparison c = rounded ? verify::compare_rounded(a, e, r.half, tolerance)
                                                 : verify::compare(a, e, tolerance);
            return c.ok ? std::string() : c.message;
          });
      if (!what.empty()) fail("output '" + outputs[index] + "' differs from " + file + ": " + what);
      ++compared;
    }
  }
  return compared;
}

void write_test_sets(const ir::Model& m, const verify::Request& r,
                     const std::function<HostRun(const verify::Sizes&)>& run,
                     const fs::path& folder) {
  size_t sets = 0;
  for (const verify::Sizes& sizes : r.worlds) {
    HostRun done;
    try {
      done = run(sizes);
    } catch (const std::runtime_error& x) {
      if (sets > 0) continue;  // sizes of our own choosing, with values drawn anew
      throw Failure(ExitCode::Unsupported, "OE0608",
                    std::string("no test data can be saved: ") + x.what());
    }
    write_test_set(m, r, done, folder / ("test_data_set_" + std::to_string(sets++)));
  }
}

}  // namespace oe
