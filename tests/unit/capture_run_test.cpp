// The objects of a capture run: worlds that fail and are taken in turn, cells that are taken back.
#include <torch/csrc/jit/ir/ir.h>

#include <catch2/catch.hpp>

#include "lib/capture/values/heap.h"
#include "lib/capture/values/worlds.h"

namespace oe::capture {
namespace {

std::vector<size_t> active(const Worlds& worlds) {
  std::vector<size_t> out;
  worlds.each([&](size_t w) { out.push_back(w); });
  return out;
}

struct Run {
  program::Program program;
  Recorder recorder{program};
  Site site{recorder};
  Heap heap{site};
};

}  // namespace

TEST_CASE("a world fails where it is, and is dead where it really is", "[capture]") {
  Worlds worlds(3);
  worlds.within(worlds.active(), Worlds::only(0), [&] { worlds.fail(2, "no", nullptr); });
  CHECK(worlds.dead().empty());
  CHECK(active(worlds) == std::vector<size_t>{0, 1, 2});

  worlds.within(worlds.active(), worlds.real(), [&] { worlds.fail(2, "no", nullptr); });
  CHECK(worlds.dead().at(2) == "no");
  CHECK(active(worlds) == std::vector<size_t>{0, 1});

  CHECK_THROWS_AS(worlds.fail(0, "no", nullptr), Failure);
  CHECK_THROWS_AS(worlds.within(Worlds::only(1), 0, [&] { worlds.fail(1, "no", nullptr); }),
                  Unreachable);
  CHECK(active(worlds) == std::vector<size_t>{0, 1});
}

TEST_CASE("a world runs alone for a while", "[capture]") {
  Worlds worlds(2);
  {
    const Worlds::Alone one(worlds, 1);
    const Worlds::Alone other(worlds, 0);
    CHECK(worlds.alone() == 0);
  }
  CHECK_FALSE(worlds.alone());
}

TEST_CASE("every world that is active has a value", "[capture]") {
  Worlds worlds(3);
  PerWorld c;
  worlds.within(Worlds::only(0) | Worlds::only(2), 0,
                [&] { c = worlds.map([](size_t w) { return static_cast<int64_t>(10 * w); }); });
  CHECK(c.at(0).toInt() == 0);
  CHECK_FALSE(c.has(1));
  CHECK(c.at(2).toInt() == 20);
}

TEST_CASE("a scope takes back what it found, not what it made", "[capture]") {
  Run run;
  const auto found = run.heap.make<ListCell>();
  run.heap.open_scope(0);
  const auto made = run.heap.make<ListCell>();
  for (const auto& list : {found, made}) {
    run.heap.change(*list);
    list->items.push_back(AbstractValue::of(true));
  }
  CHECK(run.heap.found(*found));
  CHECK_FALSE(run.heap.found(*made));
  const auto changed = run.heap.changed_cells();
  REQUIRE(changed.size() == 1);
  CHECK(changed[0] == found);
  run.heap.close_scope();
  CHECK(found->items.empty());
  CHECK(made->items.size() == 1);
}

TEST_CASE("a cell that may be another one is not written", "[capture]") {
  Run run;
  const auto a = run.heap.make<ListCell>(), b = run.heap.make<ListCell>();
  {
    const auto holder = run.heap.make<ListCell>();
    Heap::share(*holder, *a);
    CHECK_THROWS_AS(run.heap.change(*a), Failure);
    CHECK_NOTHROW(run.heap.change(*b));
  }
  CHECK_NOTHROW(run.heap.change(*a));  // nothing else can be it any more
}

TEST_CASE("runs know nothing of each other", "[capture]") {
  Run first, second;
  first.heap.make<ListCell>();
  CHECK(second.heap.now() + 1 == first.heap.now());
}

}  // namespace oe::capture
