#include "app/batch/pool.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "app/supervise/signals.h"
#include "lib/support/diagnostics.h"

namespace oe::app {
namespace {

// Memory of a run that does not grow with its model.
constexpr uint64_t kEachRun = uint64_t{400} << 20;

uint64_t need_of(const Item& item) { return kEachRun + 3 * item.bytes; }

uint64_t available_memory() {
  std::ifstream in("/proc/meminfo");
  std::string key, unit;
  for (uint64_t kib = 0; in >> key >> kib; std::getline(in, unit))
    if (key == "MemAvailable:") return kib << 10;
  return UINT64_MAX;
}

Launch warm_launch(const BatchLine& line) {
  Launch l;
  l.onnxruntime = line.onnxruntime;
  l.ort_lib = line.ort_lib;
  return l;
}

}  // namespace

Pool::Pool(const BatchLine& line, const std::vector<Item>& items, Journal& journal,
           PoolListener& listener)
    : line_(line),
      items_(items),
      journal_(journal),
      listener_(listener),
      warm_(warm_launch(line)),
      status_(items.size(), ItemStatus::NotRun) {
  hold_ending_signals();
  const sigset_t ending = ending_signals();
  signals_ = Descriptor(signalfd(-1, &ending, SFD_CLOEXEC));
}

void Pool::run() {
  for (size_t next = 0; next < items_.size() || !running_.empty();) {
    while (!stop_ && next < items_.size() && running_.size() < line_.jobs &&
           may_start(items_[next]))
      start(next++);
    if (running_.empty() && stop_) break;
    step();
  }
  if (!journal_failure_.empty())
    throw Failure(ExitCode::Unwritable, "OE0705", journal_failure_,
                  "continue with --resume when there is space");
}

bool Pool::may_start(const Item& item) const {
  if (running_.empty()) return true;
  // Those that run may not have taken theirs yet.
  uint64_t needed = need_of(item);
  for (const RunningItem& r : running_) needed += need_of(items_[r.item]) / 2;
  return needed <= available_memory();
}

void Pool::start(size_t item) {
  if (line_.task != BatchTask::Inspect) warm_.ensure_running();
  const JournalEntry* known = journal_.find(items_[item].id);
  const ItemContext context{line_, journal_, &warm_, line_.force || (line_.resume && known),
                            getpid()};
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::bad_alloc();
  Descriptor ours(ends[0]), theirs(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) throw std::bad_alloc();
  if (pid == 0) {
    warm_.disown();
    ours = Descriptor();
    for (RunningItem& r : running_) r.channel = Descriptor();
    run_item(items_[item], context, theirs.get());
  }
  RunningItem& r = running_.emplace_back();
  r.item = item;
  r.name = items_[item].model;
  r.pid = pid;
  r.channel = std::move(ours);
}

void Pool::step() {
  std::vector<pollfd> watched = {{signals_.get(), POLLIN, 0}};
  for (const RunningItem& r : running_) watched.push_back({r.channel.get(), POLLIN, 0});
  constexpr int kTick = 200;  // milliseconds
  if (poll(watched.data(), watched.size(), kTick) < 0) return;
  if (watched[0].revents & POLLIN) {
    signalfd_siginfo info;
    if (read(signals_.get(), &info, sizeof info) == sizeof info)
      our_signal_ = static_cast<int>(info.ssi_signo);
    stop_ = true;
    for (const RunningItem& r : running_) kill(r.pid, our_signal_);
  }
  for (size_t i = 0; i < running_.size(); ++i)
    if (watched[i + 1].revents) read_from(running_[i]);
  std::erase_if(running_, [](const RunningItem& r) { return r.pid < 0; });
  listener_.waiting(running_);
}

void Pool::read_from(RunningItem& r) {
  char piece[1 << 16];
  const ssize_t n = read(r.channel.get(), piece, sizeof piece);
  if (n < 0 && errno == EINTR) return;
  if (n <= 0) return end(r);
  r.buffer.append(piece, static_cast<size_t>(n));
  for (size_t newline; (newline = r.buffer.find('\n')) != std::string::npos;) {
    ordered_json line = ordered_json::parse(r.buffer.substr(0, newline), nullptr, false);
    r.buffer.erase(0, newline + 1);
    if (line.is_object()) take(r, std::move(line));
  }
}

bool Pool::keep(const ordered_json& line) try {
  journal_.append(line);
  return true;
} catch (const Failure& f) {
  stop_ = true;
  if (journal_failure_.empty()) journal_failure_ = f.what();
  return false;
}

void Pool::take(RunningItem& r, ordered_json line) {
  const Item& item = items_[r.item];
  const std::string event = line.at("event");
  if (event == "stage") {
    r.stage = line.at("name");
    return listener_.stage(item, r.stage);
  }
  if (event == "kept") {
    r.ended = true;
    const ordered_json document = journal_.line_of(*journal_.find(item.id)).at("document");
    return settle(r.item, status_in(document), true, document);
  }
  line["id"] = item.id;  // bytes that JSON cannot hold were replaced on the way
  const bool kept = keep(line);
  if (event == "started" || event == "made") {
    const char answer = kept ? 'y' : 'n';
    send(r.channel.get(), &answer, 1, MSG_NOSIGNAL);
    if (event == "started") listener_.started(item);
    return;
  }
  r.ended = true;
  if (!kept) return;
  const ordered_json document = event == "failed"
                                    ? std::move(line.at("document"))
                                    : journal_.line_of(*journal_.find(item.id)).at("document");
  settle(r.item, status_in(document), false, document);
}

void Pool::end(RunningItem& r) {
  int status = 0;
  while (waitpid(r.pid, &status, 0) < 0 && errno == EINTR) {
  }
  r.pid = -1;
  // A signal to the whole batch says nothing about the model: --resume runs it again.
  if (r.ended || our_signal_ || !journal_failure_.empty()) return;
  const Item& item = items_[r.item];
  const ordered_json document = lost_item(line_, item, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                                          WIFEXITED(status) ? WEXITSTATUS(status) : 0);
  const JournalEntry* known = journal_.find(item.id);
  if (!keep({{"event", "failed"},
             {"id", item.id},
             {"model", item.model},
             {"key", known ? known->key : ""},
             {"document", document}}))
    return;
  settle(r.item, ItemStatus::Failed, false, document);
}

void Pool::settle(size_t item, ItemStatus s, bool kept, const ordered_json& document) {
  status_[item] = s;
  if (s == ItemStatus::Failed && line_.fail_fast) stop_ = true;
  listener_.ended(items_[item], s, kept, document);
}

}  // namespace oe::app
