// Cells that change, are taken back, and may be one another.
#include "lib/capture/values/heap.h"

#include <algorithm>

namespace oe::capture {

std::shared_ptr<TensorHandle> Heap::copy(const TensorHandle& h) {
  auto copy = std::make_shared<TensorHandle>(h);
  copy->serial = next_serial_++;
  return copy;
}

std::shared_ptr<TensorHandle> Heap::bare_place(const TensorHandle& h) {
  auto place = copy(h);
  place->anchor = nullptr;
  place->cached = nullptr;
  if (place->parent) place->parent = bare_place(*place->parent);
  return place;
}

void Heap::touch(Cell& c) {
  if (scopes_.empty()) return;
  Scope& scope = scopes_.back();
  if (c.serial >= scope.start || !scope.touched.insert(&c).second) return;
  scope.saved.emplace_back(c.shared_from_this(), c.copy());
}

void Heap::change(Cell& c) {
  check_write(c);
  touch(c);
  if (c.serial == 0) changed_.insert(&c);
}

void Heap::check_write(const Cell& c) const {
  const auto maker = [](const Cell& of) {
    if (!of.made || of.made->text.empty()) return std::string();
    return "created by '" + of.made->text + "'" +
           (of.made->line ? " at " + of.made->file + ":" + std::to_string(of.made->line) : "");
  };
  for (const auto& weak : c.entangled)
    if (const auto other = weak.lock()) {
      const std::string mine = maker(c), theirs = maker(*other);
      std::string made = theirs.empty() ? "" : ", " + theirs;  // both places
      if (!mine.empty() && mine != theirs) made += "; the written one was " + mine;
      if (dynamic_cast<const StorageCell*>(&c))
        site_.refuse(
            "OE4020",
            "cannot tell whether the tensor written here shares memory with another one" + made,
            "copy it with clone() before the write", Need::Views);
      site_.refuse(
          "OE4020",
          "cannot tell whether the list, dict or object changed here is also another one" + made,
          "make a copy before the change", Need::Views);
    }
}

void Heap::set_base(StorageCell& s, TensorValuePtr v) {
  touch(s);
  s.base = std::move(v);
  s.version = next_version_++;
}

void Heap::open_scope(int first_value) {
  Scope s;
  s.start = next_serial_;
  s.first_value = first_value;
  scopes_.push_back(std::move(s));
}

std::vector<std::shared_ptr<Cell>> Heap::changed_cells() const {
  std::vector<std::shared_ptr<Cell>> out;
  for (const auto& [live, saved] : scopes_.back().saved) {
    // A tensor is only a way to look at memory: what it read is no state, where it looks is.
    const auto* now = dynamic_cast<const TensorHandle*>(live.get());
    const auto* then = dynamic_cast<const TensorHandle*>(saved.get());
    if (now && now->parent == then->parent && now->step == then->step &&
        now->storage == then->storage)
      continue;
    out.push_back(live);
  }
  return out;
}

void Heap::close_scope() {
  for (auto& [live, saved] : scopes_.back().saved) live->restore(*saved);
  for (auto& [target, made] : scopes_.back().related)
    std::erase_if(target->dependents, [&](const auto& d) { return d.lock() == made.lock(); });
  scopes_.pop_back();
}

void Heap::entangle(Cell& a, Cell& b) {
  if (&a == &b) return;
  for (Cell* c : {&a, &b})
    std::erase_if(c->entangled, [](const std::weak_ptr<Cell>& w) { return w.expired(); });
  const Cell& fewer = a.entangled.size() < b.entangled.size() ? a : b;
  for (const auto& known : fewer.entangled)
    if (known.lock().get() == (&fewer == &a ? &b : &a)) return;
  a.entangled.push_back(b.weak_from_this());
  b.entangled.push_back(a.weak_from_this());
}

void Heap::share(Cell& holder, Cell& held) {
  for (const auto& c : near(held)) entangle(holder, *c);
}

void Heap::may_be(const std::shared_ptr<StorageCell>& made, Alternative a) {
  const std::shared_ptr<StorageCell> target = a.handle->storage;
  made->alternatives.push_back(std::make_shared<const Alternative>(std::move(a)));
  target->dependents.push_back(made);
  if (!scopes_.empty()) scopes_.back().related.emplace_back(target, made);
}

std::vector<std::shared_ptr<Cell>> near(Cell& c) {
  std::vector<std::shared_ptr<Cell>> out = {c.shared_from_this()};
  std::unordered_set<const Cell*> known = {&c};
  auto add = [&](const std::shared_ptr<Cell>& other) {
    if (other && known.insert(other.get()).second) out.push_back(other);
  };
  for (size_t i = 0; i < out.size(); ++i)
    if (const auto* s = dynamic_cast<const StorageCell*>(out[i].get()))
      for (const auto& a : s->alternatives) add(a->handle->storage);
  for (size_t i = out.size(); i-- > 0;)
    for (const auto& e : out[i]->entangled) add(e.lock());
  return out;
}

}  // namespace oe::capture
