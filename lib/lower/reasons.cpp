// Operators that no row can say, and why.
#include <algorithm>

#include "lib/lower/lower.h"

namespace oe::lower {
namespace {

struct Reason {
  std::string_view op;
  const char* text;
};

constexpr const char* kSigns =
    "the sign of each vector depends on the steps of LAPACK's routine, which ONNX operators "
    "cannot reproduce; only the values can be converted";
constexpr const char* kGeneral =
    "eigenvalues of a matrix that is not symmetric need an iteration without a bound";
constexpr const char* kPivots =
    "its pivots of one and two rows depend on the blocks of LAPACK's routine";

constexpr Reason kReasons[] = {
    {"aten::_linalg_eigh", kSigns},          {"aten::_linalg_svd", kSigns},
    {"aten::linalg_eig", kGeneral},          {"aten::linalg_eigvals", kGeneral},
    {"aten::_linalg_eigvals", kGeneral},     {"aten::linalg_ldl_factor", kPivots},
    {"aten::linalg_ldl_factor_ex", kPivots}, {"aten::linalg_ldl_solve", kPivots},
};

}  // namespace

const char* why_not_written(std::string_view op) {
  const auto* it = std::ranges::find(kReasons, op, &Reason::op);
  return it == std::end(kReasons) ? "the converter does not support this operator" : it->text;
}

}  // namespace oe::lower
