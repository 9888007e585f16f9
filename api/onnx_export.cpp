#include "onnx_export/onnx_export.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

extern char** environ;

namespace onnx_export {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

struct Ended {
  std::string out, errors;
};

// Reads both pipes until they end.
void read_all(int out, int errors, Ended& e) {
  char piece[1 << 16];
  fd_set open;
  for (bool out_open = true, errors_open = true; out_open || errors_open;) {
    FD_ZERO(&open);
    if (out_open) FD_SET(out, &open);
    if (errors_open) FD_SET(errors, &open);
    if (select(std::max(out, errors) + 1, &open, nullptr, nullptr, nullptr) < 0) {
      if (errno == EINTR) continue;
      throw Error(std::string("select: ") + std::strerror(errno));
    }
    const auto take = [&](int from, std::string& to, bool& still) {
      if (!still || !FD_ISSET(from, &open)) return;
      const ssize_t n = read(from, piece, sizeof piece);
      if (n > 0) to.append(piece, static_cast<size_t>(n));
      if (n == 0 || (n < 0 && errno != EINTR)) still = false;
    };
    take(out, e.out, out_open);
    take(errors, e.errors, errors_open);
  }
}

// A pipe that other children of this process do not inherit.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("pipe: ") + std::strerror(errno));
  }
  ~Pipe() {
    for (const int end : ends)
      if (end >= 0) close(end);
  }
  void close_writing() {
    close(ends[1]);
    ends[1] = -1;
  }
};

Ended run(const std::string& program, const Words& words) {
  Pipe out, errors;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.ends[1], STDERR_FILENO);
  Words all = {program};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw Error("cannot start " + program + ": " + std::strerror(error));
  out.close_writing();
  errors.close_writing();
  Ended ended;
  read_all(out.ends[0], errors.ends[0], ended);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

json document_of(const std::string& program, const Words& words) {
  const Ended ended = run(program, words);
  json j = json::parse(ended.out, nullptr, /*allow_exceptions=*/false);
  if (!j.is_object() || !j.contains("schema_version"))
    throw Error(program + " printed no JSON document" +
                (ended.errors.empty() ? "" : ": " + ended.errors));
  if (j["schema_version"] != 1)
    throw Error(program +
                " prints JSON documents of another version: " + j["schema_version"].dump());
  return j;
}

// The member; what null, or no member, leaves as it is.
template <class T>
void read(const json& j, const char* key, T& to) {
  const auto at = j.find(key);
  if (at != j.end() && !at->is_null()) to = at->get<T>();
}
template <class T>
void read(const json& j, const char* key, std::optional<T>& to) {
  const auto at = j.find(key);
  if (at != j.end() && !at->is_null()) to = at->get<T>();
}

Problem problem_of(const json& j) {
  Problem p;
  const std::string severity = j.at("severity");
  p.severity = severity == "error"     ? Severity::Error
               : severity == "warning" ? Severity::Warning
                                       : Severity::Note;
  read(j, "code", p.code);
  read(j, "operator", p.op);
  read(j, "message", p.message);
  read(j, "hint", p.hint);
  if (const json& place = j.at("place"); place.is_object()) {
    read(place, "module", p.module);
    read(place, "file", p.file);
    read(place, "text", p.text);
    read(place, "line", p.line);
  }
  return p;
}

Port port_of(const json& j) {
  Port p;
  read(j, "name", p.name);
  read(j, "kind", p.kind);
  read(j, "type", p.type);
  read(j, "argument", p.argument);
  if (const json& dims = j.at("dims"); dims.is_array()) {
    p.axes.emplace();
    for (const json& d : dims) {
      Axis& a = p.axes->emplace_back();
      read(d, "size", a.size);
      read(d, "name", a.name);
      read(d, "low", a.low);
      read(d, "high", a.high);
    }
  }
  return p;
}

Result result_of(const json& j) {
  Result r;
  read(j, "exit_code", r.exit_code);
  read(j, "output", r.output);
  read(j, "external_data_file", r.external_data_file);
  read(j, "opset", r.opset);
  read(j, "nodes", r.nodes);
  read(j, "model_bytes", r.model_bytes);
  read(j, "data_bytes", r.data_bytes);
  read(j, "operators", r.operators);
  read(j, "assumptions", r.assumptions);
  if (j.contains("inputs"))
    for (const json& p : j["inputs"]) r.inputs.push_back(port_of(p));
  if (j.contains("outputs"))
    for (const json& p : j["outputs"]) r.outputs.push_back(port_of(p));
  for (const json& p : j.at("problems")) r.problems.push_back(problem_of(p));
  if (const auto at = j.find("verification"); at != j.end() && at->is_object()) {
    Verification& v = r.verification.emplace();
    read(*at, "verdict", v.verdict);
    read(*at, "text", v.text);
    read(*at, "runs", v.runs);
    read(*at, "sizes", v.sizes);
    read(*at, "elements", v.elements);
    read(*at, "largest_error", v.largest_error);
    read(*at, "latency_ms", v.latency_ms);
  }
  r.json = j.dump(2);
  return r;
}

Words words_of(const char* verb, const ConvertOptions& o) {
  Words words = {verb, "--json"};
  for (const std::string& i : o.inputs) words.push_back("--input=" + i);
  for (const std::string& a : o.dynamic_axes) words.push_back("--dynamic-axes=" + a);
  if (!o.method.empty()) words.push_back("--method=" + o.method);
  words.insert(words.end(), o.more.begin(), o.more.end());
  return words;
}

Result result(const std::string& program, Words words, const Words& files) {
  words.push_back("--");  // whatever the files are called
  words.insert(words.end(), files.begin(), files.end());
  try {
    return result_of(document_of(program, words));
  } catch (const json::exception& e) {
    throw Error(program + " printed an unexpected JSON document: " + e.what());
  }
}

}  // namespace

Tool::Tool(std::string program) : program_(std::move(program)) {
  if (!program_.empty()) return;
  const char* named = std::getenv("ONNX_EXPORT_TOOL");
  program_ = named && *named ? named : "onnx-export";
}

Result Tool::convert(const std::string& model, const std::string& output,
                     const ConvertOptions& options) const {
  Words words = words_of("convert", options);
  if (options.opset) words.push_back("--opset=" + std::to_string(*options.opset));
  if (options.verify) words.emplace_back("--verify");
  if (options.force) words.emplace_back("--force");
  if (!output.empty()) words.push_back("--output=" + output);
  return result(program_, words, {model});
}

Result Tool::check(const std::string& model, const ConvertOptions& options) const {
  Words words = words_of("check", options);
  if (options.opset) words.push_back("--opset=" + std::to_string(*options.opset));
  return result(program_, words, {model});
}

Result Tool::verify(const std::string& model, const std::string& onnx_file,
                    const ConvertOptions& options) const {
  return result(program_, words_of("verify", options), {model, onnx_file});
}

std::string Tool::inspect(const std::string& file) const {
  return document_of(program_, {"inspect", "--json", "--", file}).dump(2);
}

std::string Tool::version() const {
  const std::string text = run(program_, {"--version"}).out;
  const size_t blank = text.find(' ');
  if (blank == std::string::npos) throw Error(program_ + " --version printed nothing");
  return text.substr(blank + 1, text.find('\n') - blank - 1);
}

}  // namespace onnx_export
