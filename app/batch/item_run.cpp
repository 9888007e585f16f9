#include "app/batch/item_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "app/batch/status.h"
#include "app/document.h"
#include "app/folder.h"
#include "app/memory.h"
#include "app/model_run.h"
#include "app/private_folder.h"
#include "app/verbs/inspect.h"
#include "app/version.h"
#include "lib/support/diagnostics.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

// The document of a model with its place in the batch.
ordered_json of_batch(ordered_json document, const Item& item) {
  document["batch"] = {{"id", item.id}, {"status", name_of(status_of(document, item.found))}};
  return document;
}

class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  void send(const ordered_json& line) const {
    const std::string text = dump(line, -1) + "\n";
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = ::send(fd_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) _exit(1);  // the batch is gone
      done += static_cast<size_t>(n);
    }
  }
  // Throws Failure(Unwritable) where the journal could not be written.
  void send_and_wait(const ordered_json& line) const {
    send(line);
    char answer = 'n';
    ssize_t n = 0;
    while ((n = read(fd_, &answer, 1)) < 0 && errno == EINTR) {
    }
    if (n != 1) _exit(1);
    if (answer != 'y')
      throw Failure(ExitCode::Unwritable, "OE0705", "the journal of the batch cannot be written",
                    "continue with --resume when there is space");
  }

 private:
  int fd_;
};

class ItemRun {
 public:
  ItemRun(const Item& item, const ItemContext& context, int channel)
      : item_(item), context_(context), channel_(channel) {}

  void perform() {
    if (context_.line.task == BatchTask::Inspect) return inspect();
    run_.warm = context_.warm;
    run_.stage = [&](const std::string& name) {
      channel_.send({{"event", "stage"}, {"name", name}});
    };
    run_.begin = [&] { return begin(); };
    run_.before_commit = [&] {
      ordered_json files = ordered_json::array();
      for (const auto& [name, digest] : run_.output->digests(run_.results.reports))
        files.push_back({{"name", name}, {"sha256", digest}});
      channel_.send_and_wait(line("made", {{"files", files}, {"document", result()}}));
    };
    if (!context_.line.pages.empty()) make_folder_of(page_of(context_.line, item_.id));
    run_model(command_of(context_.line, item_, context_.force), run_);
    if (run_.our_signal) end_by(run_.our_signal);
    if (kept_) return channel_.send({{"event", "kept"}});
    const bool made = context_.line.task == BatchTask::Convert && run_.results.usable();
    if (made)
      channel_.send(line("finished", ordered_json::object()));
    else
      channel_.send(line("failed", {{"document", result()}}));
  }

 private:
  ordered_json result() const { return of_batch(document(run_.results, run_.line.methods), item_); }

  ordered_json line(const char* event, const ordered_json& more) const {
    ordered_json j = {{"event", event}, {"id", item_.id}, {"model", item_.model}, {"key", key_}};
    j.update(more);
    return j;
  }

  // False where the journal has the result.
  bool begin() {
    const RunFacts& f = run_.results.facts;
    key_ = sha256(f.model_sha256 + " " + f.options_sha256 + " " + kVersion);
    const JournalEntry* known = context_.journal.find(item_.id);
    kept_ = context_.line.resume && known && known->key == key_ && known->settled() &&
            unchanged(*known);
    if (kept_) return false;
    channel_.send_and_wait(line("started", ordered_json::object()));
    if (context_.line.task == BatchTask::Convert) make_folder();
    return true;
  }

  // Whether the files of a conversion are those that it wrote.
  bool unchanged(const JournalEntry& e) const {
    if (e.state == JournalEntry::State::Failed) return true;
    const fs::path folder = (fs::path(context_.line.output) / item_.id).parent_path();
    const ordered_json known = context_.journal.line_of(e);
    for (const ordered_json& file : known.at("files")) {
      const fs::path path = folder / std::string(file.at("name"));
      const Descriptor d(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
      if (!d || sha256_of_file(d.get()) != file.at("sha256").get<std::string>()) return false;
    }
    return true;
  }

  void make_folder() const {
    std::error_code error;
    // One that went away would come back without the journal.
    if (!fs::is_directory(context_.line.output, error))
      unwritable("OE0701", context_.line.output, "the output folder is gone");
    make_folder_of(fs::path(context_.line.output) / item_.id);
  }

  static void make_folder_of(const fs::path& file) {
    const fs::path folder = file.parent_path();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) unwritable("OE0701", folder, error.message());
  }

  void inspect() {
    channel_.send_and_wait(line("started", ordered_json::object()));
    std::ostringstream out;
    const VerbEntry& entry = *find_verb("inspect");
    std::string text;
    ordered_json document;
    try {
      PinnedFiles files;
      set_file_access(files);
      const std::unique_ptr<Verb> verb =
          read_verb(entry, command_of(context_.line, item_, false), text);
      files.pin(item_.model);
      if (!verb->run(out))
        throw Failure(ExitCode::Unreadable, "OE0110", item_.model + ": is an ONNX model",
                      "onnx-export inspect FILE lists what is in it");
      document = ordered_json::parse(out.str());
    } catch (const Failure& f) {
      document = verb_document("inspect", {{"file", item_.model}}, f.exit_code,
                               ordered_json::array({stop_json(stop_of(f))}));
    }
    channel_.send(line("failed", {{"document", of_batch(document, item_)}}));
  }

  const Item& item_;
  const ItemContext& context_;
  const Channel channel_;
  ModelRun run_;
  std::string key_;
  bool kept_ = false;
};

// The process is that of a run that a shell started, but for its streams.
void become_run(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (getppid() != parent) _exit(1);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
}

}  // namespace

void run_item(const Item& item, const ItemContext& context, int channel) {
  become_run(context.parent);
  int code = 0;
  try {
    ItemRun(item, context, channel).perform();
    if (allocation_has_failed()) code = static_cast<int>(ExitCode::Limit);
  } catch (const std::exception& e) {
    code = static_cast<int>(is_out_of_memory(e) ? ExitCode::Limit : ExitCode::Internal);
  }
  _exit(code);
}

ordered_json lost_item(const BatchLine& line, const Item& item, int signal, int status) {
  const char* name = signal ? sigabbrev_np(signal) : nullptr;
  const bool memory = !signal && status == static_cast<int>(ExitCode::Limit);
  const Stop stop = memory
                        ? Stop{ExitCode::Limit, "OE0801", "onnx-export ran out of memory",
                               "convert with fewer --jobs", nullptr}
                        : Stop{ExitCode::Crashed, "OE0901",
                               "the run of the model " +
                                   (signal ? "was killed by SIG" + std::string(name ? name : "?")
                                           : "exited with status " + std::to_string(status)) +
                                   " without a report",
                               "another process killed it, or report it with the model", nullptr};
  if (line.task == BatchTask::Inspect)
    return of_batch(verb_document("inspect", {{"file", item.model}}, stop.exit_code,
                                  ordered_json::array({stop_json(stop)})),
                    item);
  Options o;
  o.load.model = item.model;
  o.task = line.task == BatchTask::Check    ? Task::Check
           : line.task == BatchTask::Verify ? Task::Verify
                                            : Task::Convert;
  Results r;
  r.end(stop, 1);
  return of_batch(document(r, {o}), item);
}

}  // namespace oe::app
