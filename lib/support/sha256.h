// SHA-256 of texts and of whole files.
#pragma once

#include <future>
#include <stop_token>
#include <string>
#include <string_view>

namespace oe {

std::string sha256(std::string_view text);  // 64 hexadecimal digits
// Of an open file, read by position. Empty where it cannot be read, or `stop` asks to end.
std::string sha256_of_file(int descriptor, const std::stop_token& stop = {});

// The same beside other work. The descriptor must stay open until its end, which stops the work.
class DigestRun {
 public:
  explicit DigestRun(int descriptor);
  ~DigestRun() { stop_.request_stop(); }
  std::string finish() { return done_.get(); }  // waits; to be called once

 private:
  std::stop_source stop_;
  std::future<std::string> done_;
};

}  // namespace oe
