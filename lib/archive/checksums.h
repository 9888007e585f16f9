// Checksums of whole archives.
#pragma once

#include <future>
#include <stop_token>

#include "lib/archive/archive.h"

namespace oe::archive {

// Compares the checksum of every record with its bytes, weights included, in as many threads as
// help. Reads the file piece by piece, so that memory does not grow with it. Throws as Archive
// does, with the record, also where the file was cut meanwhile. Returns early when `stop` asks for
// it.
void check_sums(const Archive& archive, const std::stop_token& stop = {});

// The same beside other work. `archive` must outlive it; its end stops the work.
class ChecksumRun {
 public:
  explicit ChecksumRun(const Archive& archive);
  ~ChecksumRun() { stop_.request_stop(); }
  // Waits for the last record. Throws as check_sums() does. To be called once.
  void finish() { done_.get(); }

 private:
  std::stop_source stop_;
  std::future<void> done_;
};

}  // namespace oe::archive
