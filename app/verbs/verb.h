// The verbs beside `convert`. Each is a class with the options it has as members, in a file of its
// own; the table in verbs.cpp is the order in which --help lists them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string_view>

#include "app/arguments.h"
#include "app/console.h"
#include "app/launch.h"
#include "app/sandbox_level.h"
#include "lib/support/diagnostics.h"

namespace oe::app {

struct Report;

class Verb {
 public:
  virtual ~Verb() = default;
  // Adds the options; they are bound to members, which have their defaults.
  virtual void options(CLI::App& app) = 0;
  // Gives the texts their meaning once they are read. Throws Failure(Usage).
  virtual void read() {}
  // Does what can be done without LibTorch and ONNX, data to `out`. Nothing: that is for the
  // worker, which calls the function that verbs_worker.h declares. Throws Failure.
  virtual std::optional<ExitCode> run(std::ostream& out) {
    (void)out;
    return std::nullopt;
  }
  // The files that the verb reads, here or in the worker.
  virtual Strings files() const { return {}; }
  virtual bool reads_onnx() const { return true; }  // the files are ONNX models
  // The libraries that the worker loads before it is confined; limits are filled in later.
  virtual Launch launch() const { return {}; }
  // What the worker reported: data of it goes to `out`, and problems that are no problem of the
  // verb are taken out of it.
  virtual void finish(Report& r, std::ostream& out) {
    (void)r;
    (void)out;
  }

  Limits limits;         // of a verb that has a part in the worker
  SandboxLevel sandbox;  // in the worker: how it is confined
};

struct VerbEntry {
  std::string_view name, what;  // "explain", one line for --help
  std::unique_ptr<Verb> (*make)();
  bool converts = false;  // app/convert.h does it: the stages of a conversion, without the file
  bool limited = false;   // starts a worker: has the options of limits.h
};
std::span<const VerbEntry> verbs();
// Null when the word is no verb; `convert` is none of these.
const VerbEntry* find_verb(std::string_view word);
// Throws Failure(Usage) where the first argument is neither a verb nor a file, and nearly a verb.
void refuse_misspelt_verb(const Strings& arguments);

// The options of a verb as CLI11 sees them, with -h and --color where it has none of its own.
struct VerbLine {
  explicit VerbLine(const VerbEntry& entry);
  std::unique_ptr<Verb> verb;
  CLI::App app;
  bool help = false;
  std::string color;
  LimitTexts limits;
};

// The verb with its arguments read; `text` is what --help prints instead. Throws Failure(Usage).
std::unique_ptr<Verb> read_verb(const VerbEntry& entry, const Strings& arguments,
                                std::string& text);

// What the supervisor does with `onnx-export VERB ARGUMENTS...`. Returns the exit code.
int run_verb(const VerbEntry& entry, const Strings& arguments);

template <class V>
std::unique_ptr<Verb> make() {
  return std::make_unique<V>();
}

}  // namespace oe::app
