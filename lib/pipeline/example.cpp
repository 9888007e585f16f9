// The example inputs of a run: what is said of them, completed with what the program tells.
#include "lib/pipeline/example.h"

#include <ostream>

#include "lib/options/option_text.h"
#include "lib/support/text.h"
#include "lib/torch/runtime.h"

namespace oe {

torch_io::ExampleInputs example_inputs(const Options& o, const torch_io::Loaded& loaded,
                                       torch_io::ExampleFiles& files, infer::Found& found,
                                       const infer::Found* refused) {
  if (!o.input.guess) return torch_io::make_inputs(o.input, loaded, files);
  found = infer::find_inputs(o.input, loaded, files, o.capture.left_out, refused);
  if (!found.problem.empty() && found.described) {
    // Capture says what LibTorch has against them.
    found = {};
    return torch_io::make_inputs(o.input, loaded, files);
  }
  std::vector<std::string> texts;
  for (const InputSpec& s : found.specs) texts.push_back(spec_text(s));
  if (!found.problem.empty())
    throw Failure(ExitCode::Usage, "OE0206",
                  "could not find inputs that the model accepts" +
                      std::string(found.exhausted ? "" : " within the limit of the search") +
                      "; with " + join(texts, " ") + " it fails: " + found.problem +
                      infer::reasons_text(found),
                  "describe them with --input, as in --input " + texts.at(0), found.origin);
  InputOptions complete = o.input;
  if (found.guessed) complete.specs = found.specs;
  return torch_io::make_inputs(complete, loaded, files);
}

void find_free_axes(const Options& o, const torch_io::Loaded& loaded, const infer::Found& found,
                    torch_io::ExampleInputs& inputs, Outcome& outcome, std::ostream& out) {
  const bool further = !inputs.alternatives.empty();
  if (!found.guessed && !o.input.dynamic_axes.every_axis && !further) return;
  const std::vector<std::vector<infer::Freedom>> freedom = infer::free_axes(loaded, inputs);
  if (o.input.dynamic_axes.every_axis)
    for (size_t leaf = 0; leaf < freedom.size(); ++leaf)
      for (size_t axis = 0; axis < freedom[leaf].size(); ++axis)
        if (const infer::Freedom& f = freedom[leaf][axis]; f.free) {
          inputs.leaves[leaf].axis_names[axis] = f.symbol;
          if (f.most) inputs.leaves[leaf].bounds[axis] = {1, f.most};
        }
  if (further) infer::name_differing_axes(inputs, freedom);
  if (!found.guessed) return;
  for (const InputSpec& s : found.specs)
    for (size_t leaf = 0; leaf < freedom.size(); ++leaf)
      for (size_t i = 0; s.shape && i < s.shape->size(); ++i) {
        // '?' is an axis that is dynamic if it can be.
        const DimSpec& d = (*s.shape)[i];
        const bool unknown = d.dynamic && d.symbol.empty() && !d.low && !d.high;
        if (inputs.leaves[leaf].path == s.name && unknown && !freedom[leaf][i].free)
          inputs.leaves[leaf].axis_names[i].clear();
      }
  outcome.found = infer::told(found, inputs, freedom);
  if (o.verbosity > 0)
    for (const infer::FoundInput& in : outcome.found) out << infer::text(in);
}

void report_doubts(const Options& o, const Outcome& outcome, Diagnostics& d) {
  constexpr size_t kShown = 4;
  std::vector<std::string> doubts, specs;
  size_t more = 0;
  for (const infer::FoundInput& in : outcome.found) {
    const std::string text = infer::doubts(in, o.input.guess_sure);
    if (text.empty()) continue;
    if (doubts.size() == kShown) {
      ++more;
      continue;
    }
    doubts.push_back(text);
    specs.push_back("--input " + in.spec);
  }
  if (doubts.empty()) return;
  const std::string what = "guessed, not required by the model: " + join(doubts, "; ") +
                           (more ? "; and " + plural(more, "more input") : std::string());
  const std::string hint = "specify it: " + join(specs, " ");
  if (o.input.guess_sure) throw Failure(ExitCode::Usage, "OE0242", what, hint);
  d.report({"OE0241", Severity::Warning, "", what, hint, nullptr, 0});
}

void tell_inputs(const Options& o, Outcome& outcome) {
  torch_io::configure(o.load);
  const torch_io::Loaded loaded =
      torch_io::load(o.load, rules::read(o.symbolics, o.custom_schemas));
  infer::Found found;
  torch_io::ExampleFiles files;
  torch_io::ExampleInputs inputs = example_inputs(o, loaded, files, found);
  if (found.guessed && !infer::refusal(loaded, inputs).empty()) {
    const infer::Found refused = found;
    inputs = example_inputs(o, loaded, files, found, &refused);
  }
  if (!found.guessed) found.specs = infer::specs_of(inputs);
  outcome.found = infer::told(found, inputs, infer::free_axes(loaded, inputs));
}

}  // namespace oe
