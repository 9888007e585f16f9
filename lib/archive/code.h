// What the code of an archive has to be before LibTorch parses it. No LibTorch.
#pragma once

#include <stdexcept>
#include <string_view>

#include "lib/archive/archive.h"

namespace oe::archive {

// LibTorch's parser and compiler call themselves for each bracket, operator and block that holds
// another one. Published files reach a depth of some dozens.
constexpr size_t kDeepestCode = 10'000;
constexpr size_t kDeepestBlocks = 200;
// Bytes of one record of code, and of all of them. Published files have 50 KiB.
constexpr uint64_t kLargestCode = 64 << 20;
constexpr uint64_t kMostCode = 256 << 20;

struct BadCode : std::runtime_error {
  BadCode(const std::string& what, size_t at) : std::runtime_error(what), offset(at) {}
  size_t offset;  // in the text
};

// Reads the text as LibTorch's lexer does. Throws BadCode where
//   - brackets are not closed, or close what was not opened,
//   - an expression may nest deeper than kDeepestCode, by brackets or by a chain of operators,
//     names, calls, subscripts or conditions ("1 + 1 + ...", "a.b.c...", "not not ..."),
//   - blocks nest deeper than kDeepestBlocks, by indentation or by a chain of `elif`,
//   - a string has no end.
void check_code_text(std::string_view text);

// Checks every record that LibTorch may be given as code: those below code/ and libs/, libs.py, and
// those that a model.json names, whatever they are called. Throws Failure(Refused, OE0118) with the
// record and the line, also where there is more than kLargestCode or kMostCode.
void check_code(const Archive& archive);

}  // namespace oe::archive
