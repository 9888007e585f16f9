// Calls with a complex operand or result.
#include "lib/lower/complex/complex.h"
#include "lib/lower/driver.h"

namespace oe::lower {

using program::Arg;
using program::Args;

bool Driver::splits(const program::Node& n) const {
  const auto complex_value = [](const program::Value* v) { return is_complex(v->type); };
  return call_.pairs_ && (std::ranges::any_of(n.args, [](const Arg& a) { return is_complex(a); }) ||
                          std::ranges::any_of(n.outputs, complex_value));
}

void Driver::note_pairs(const char* kind, const std::string& name) {
  diagnostics_.report({"OE2205", Severity::Note, "",
                       std::string(kind) + " '" + name +
                           "' is complex: real and imaginary part are on a last axis of 2",
                       "", nullptr, 0});
}

void Driver::complex_input(const program::Value* v, const std::string& name) {
  ir::Type type = ir::Type::tensor(part_type(v->type.dtype), v->type.shape);
  if (type.shape) type.shape->push_back(Dim::of(2));
  ir::Value* made = model_.new_value(name, std::move(type));
  model_.graph.inputs.push_back(made);
  note_pairs("input", name);
  const C z = unpacked(call_.at(made));
  const Parts::Pair& parts = call_.parts_.of(v);
  call_.values_[parts.re] = z.re;
  call_.values_[parts.im] = z.im;
}

std::vector<program::Value*> Driver::split(const std::vector<program::Value*>& values) {
  std::vector<program::Value*> out;
  for (program::Value* v : values) {
    if (!call_.pairs_ || !is_complex(v->type)) {
      out.push_back(v);
      continue;
    }
    const Parts::Pair& parts = call_.parts_.of(v);
    out.insert(out.end(), {parts.re, parts.im});
  }
  return out;
}

Args Driver::split(const Args& args, const std::vector<program::Value*>& as) {
  Args out;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!as[i] || !call_.pairs_ || !is_complex(as[i]->type)) {
      out.push_back(args[i]);
      continue;
    }
    out.push_back(part_of(args[i], Part::Real, true));
    out.push_back(part_of(args[i], Part::Imaginary, true));
  }
  return out;
}

// The argument as it stands in the call of one part. `value`: it is 0 where it is real and the part
// is the imaginary one.
Arg Driver::part_of(const Arg& a, Part part, bool value) {
  const bool im = part == Part::Imaginary;
  if (auto* z = std::get_if<program::ComplexNumber>(&a.v)) return {im ? z->imag : z->real};
  if (auto* list = std::get_if<Args>(&a.v)) {
    Args parts;
    for (const Arg& e : *list) parts.push_back(part_of(e, part, value));
    return {std::move(parts)};
  }
  if (auto* v = a.value(); v && is_complex(v->type)) {
    const Parts::Pair& pair = call_.parts_.of(v);
    return {im ? pair.im : pair.re};
  }
  if (!im || !value || a.is_none() || std::holds_alternative<std::string>(a.v) || poisoned(a))
    return a;
  const program::Value* v = a.value();
  if (!v || v->type.is_number()) return {0.0};
  program::Value* zeros = call_.parts_.made(v->type);
  call_.values_[zeros] = zeros_like(call_.lookup(v));
  return {zeros};
}

// Of a real result the imaginary part is one that nobody reads.
std::vector<program::Value*> Driver::parts_of(const std::vector<program::Value*>& values,
                                              Part part) {
  std::vector<program::Value*> out;
  for (program::Value* v : values) {
    if (!is_complex(v->type)) {
      out.push_back(part == Part::Real ? v : call_.parts_.made(v->type));
      continue;
    }
    const Parts::Pair& pair = call_.parts_.of(v);
    out.push_back(part == Part::Real ? pair.re : pair.im);
  }
  return out;
}

void Driver::linear_call(const program::Node& n, const Linear& l) {
  for (size_t i = 0; i < n.args.size(); ++i)
    if (is_complex(n.args[i]) && !std::ranges::count(l.values, i) && !std::ranges::count(l.like, i))
      throw Unsupported("argument " + std::to_string(i) + " is complex");
  const auto complex_value = [](const program::Value* v) { return is_complex(v->type); };
  for (const Part part : {Part::Real, Part::Imaginary}) {
    // Of real results only the real part is asked for.
    if (part == Part::Imaginary && std::ranges::none_of(n.outputs, complex_value)) continue;
    program::Node one{n.op, {}, parts_of(n.outputs, part), {}, n.origin};
    for (size_t i = 0; i < n.args.size(); ++i)
      one.args.push_back(part_of(n.args[i], part, std::ranges::count(l.values, i) > 0));
    finish(one, run(one, real_row(n)));
  }
}

// The product of sums is the sum of products, with a sign for each pair of imaginary factors.
void Driver::multilinear_call(const program::Node& n, const Multilinear& m) {
  std::vector<Arg*> factors;  // that are complex
  program::Node term{n.op, n.args, {}, {}, n.origin};
  for (size_t at : m.operands) {
    Arg& a = term.args.at(at);
    if (auto* list = std::get_if<Args>(&a.v)) {
      for (Arg& e : *list)
        if (is_complex(e)) factors.push_back(&e);
    } else if (is_complex(a)) {
      factors.push_back(&a);
    }
  }
  if (factors.size() > 4) throw Unsupported("a product of more than four complex operands");
  const program::Type& type = n.outputs[0]->type;
  term.outputs = {call_.parts_.made(program::Type::tensor(part_type(type.dtype), type.shape))};
  std::vector<Arg> whole;
  for (const Arg* f : factors) whole.push_back(*f);
  T sums[2];
  for (size_t choice = 0; choice < size_t{1} << factors.size(); ++choice) {
    int imaginary = 0;
    for (size_t k = 0; k < factors.size(); ++k) {
      const bool im = choice >> k & 1;
      imaginary += im;
      *factors[k] = part_of(whole[k], im ? Part::Imaginary : Part::Real, false);
    }
    if (m.added) {
      const Arg& a = n.args.at(*m.added);
      const bool re = choice == 0, im = choice == 1 && is_complex(a);
      term.args.at(*m.added) =
          re || im ? part_of(a, re ? Part::Real : Part::Imaginary, false) : Arg{};
    }
    T product = run(term, real_row(n)).at(0);
    T& sum = sums[imaginary % 2];
    if (!sum)
      sum = product;  // the first of each kind has no sign
    else
      sum = imaginary >= 2 ? sum - product : sum + product;
  }
  finish(n, {sums[0], sums[1] ? sums[1] : zeros_like(sums[0])});
}

// The call with something real in place of each complex argument.
Values Driver::run_on(const program::Node& n, const std::function<T(const C&)>& real) {
  program::Node one{n.op, n.args, parts_of(n.outputs, Part::Real), {}, n.origin};
  for (Arg& a : one.args) {
    if (!is_complex(a)) continue;
    const program::Value* v = a.value();
    if (!v) throw Unsupported("complex numbers and lists of them are not supported for it");
    const Parts::Pair& parts = call_.parts_.of(v);
    T x = real({call_.lookup(parts.re), call_.lookup(parts.im)});
    program::Value* made = call_.parts_.made(program::Type::tensor(x.dtype(), v->type.shape));
    call_.values_[made] = x;
    a = {made};
  }
  return run(one, real_row(n));
}

void Driver::squares_call(const program::Node& n, bool root) {
  T re = run_on(n, [](const C& z) { return z.re; }).at(0);
  T im = run_on(n, [](const C& z) { return z.im; }).at(0);
  finish(n, {root ? abs(C{re, im}) : re + im});
}

const Lowering& Driver::real_row(const program::Node& n) const {
  if (const Lowering* row = find(n.op)) return *row;
  throw Unsupported("the converter does not support this operator");
}

void Driver::complex_call(const program::Node& n) {
  for (const program::Value* v : n.outputs)
    if (v->type.kind == program::Type::Kind::List && is_complex(*v->type.element))
      throw Unsupported("a list of complex tensors whose length is not known at export");
  if (const Lowering* row = find_complex(n.op)) return finish(n, run(n, *row));
  if (const Linear* l = find_linear(n.op)) return linear_call(n, *l);
  if (const Multilinear* m = find_multilinear(n.op)) return multilinear_call(n, *m);
  if (makes_real(n.op)) {
    T re = run_on(n, [](const C& z) { return z.re; }).at(0);
    return finish(n, {re, zeros_like(re)});
  }
  if (asks_truth(n.op)) return finish(n, run_on(n, nonzero));
  if (asks_length(n.op)) return finish(n, run_on(n, [](const C& z) { return abs(z); }));
  if (const Squares s = sums_squares(n.op); s != Squares::None)
    return squares_call(n, s == Squares::Root);
  throw Unsupported("it is not supported for complex numbers");
}

}  // namespace oe::lower
