// The journal of a batch: one line for each change of a model's state, flushed to disk before
// anything depends on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/json.h"
#include "app/supervise/descriptor.h"

namespace oe::app {

struct JournalEntry {
  enum class State { Started, Made, Finished, Failed };
  State state = State::Started;
  std::string key;      // a hash of the model, the options and our version
  int exit_code = 0;    // of Failed
  int crashes = 0;      // runs of this key whose worker ended
  uint64_t offset = 0;  // of the line with the document; of Made and Failed

  // Whether another run of the same key would end the same way. Of Made and Finished: where the
  // files are as they were.
  bool settled() const;
};

class Journal {
 public:
  enum class Open { New, Continue };
  // Nothing that outlives the process: of a batch that writes no models.
  Journal();
  // Throws Failure: OE0735 where there is one and `how` is New without `force`, OE0736 where
  // another batch has it, OE0734 where it cannot be read, OE0705 where it cannot be written.
  Journal(const std::filesystem::path& file, Open how, bool force);

  // The name of an item in the journal: ids may hold bytes that JSON cannot.
  static std::string name_of(const std::string& id);
  static std::filesystem::path file_in(const std::string& folder, std::pair<size_t, size_t> shard);

  // Adds a line and flushes it. Throws Failure(Unwritable, OE0705), and always does from then on.
  void append(ordered_json line);
  // By Item::id. Null: the journal has nothing of it.
  const JournalEntry* find(const std::string& id) const;
  // The line that has the document. Throws Failure(Unreadable, OE0734).
  ordered_json line_of(const JournalEntry& e) const;

  // Of the batch that wrote the journal, as its first line says.
  const ordered_json& head() const { return head_; }
  // Versions of ours, other than this one, that wrote lines.
  const std::vector<std::string>& other_versions() const { return other_versions_; }
  const std::map<std::string, JournalEntry>& entries() const { return entries_; }

 private:
  void load();
  void take(const ordered_json& line, uint64_t offset);

  std::filesystem::path file_;
  Descriptor fd_;
  uint64_t size_ = 0;
  bool broken_ = false;
  ordered_json head_;
  std::vector<std::string> other_versions_;
  std::map<std::string, JournalEntry> entries_;
};

}  // namespace oe::app
