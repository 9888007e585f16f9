// ONNX Runtime for a unit test; where it is absent, a visible skip.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "lib/verify/ort.h"

inline std::shared_ptr<oe::verify::Ort> ort_or_skip() {
  std::string why;
  auto ort = oe::verify::Ort::load("", why);
  if (!ort) WARN("skipped: " << why);
  return ort;
}
