#include "lib/archive/pickle.h"

#include <algorithm>
#include <bit>

#include "lib/support/safe_text.h"

namespace oe::archive {
namespace {

// A value while it is built: it may still grow until another one holds it, so that none can hold
// itself.
struct Node : Value {
  size_t depth = 1;
  uint64_t expanded = 1;  // values in it, those that several hold counted for each; saturates
  bool held = false;
};
using Growing = std::shared_ptr<Node>;
using Items = std::vector<Growing>;

template <class T>
Growing node(T v) {
  auto made = std::make_shared<Node>();
  made->is = std::move(v);
  return made;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes), small_(256) {}

  ValuePtr run() {
    while (!done_) {
      opcode_at_ = at_;
      step(static_cast<unsigned char>(take(1)[0]));
    }
    if (at_ != bytes_.size()) fail("has data after its end");
    return done_;
  }

 private:
  using Handler = void (Reader::*)();
  struct Opcode {
    unsigned char code;
    Handler run;
  };
  static const Opcode table[];

  [[noreturn]] void fail(const std::string& what) const {
    throw BadPickle(safe_line(what), opcode_at_);
  }

  void step(unsigned char code);

  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - at_) fail("has a length beyond its end");
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  uint64_t number(size_t width) {
    const std::string_view b = take(width);
    uint64_t v = 0;
    for (size_t i = width; i-- > 0;) v = v << 8 | static_cast<unsigned char>(b[i]);
    return v;
  }
  std::string line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) fail("has a line without an end");
    std::string text(take(end - at_));
    take(1);
    return text;
  }

  template <class T>
  Growing made(T v) {
    if (++values_ > kMostValues) fail("has more than " + std::to_string(kMostValues) + " values");
    return node(std::move(v));
  }

  // --- the stack
  void push(Growing v) { stack_.push_back(std::move(v)); }
  Growing& top() {
    if (stack_.size() <= floor()) fail("takes more values from the stack than it has");
    return stack_.back();
  }
  Growing pop() {
    Growing v = top();
    stack_.pop_back();
    return v;
  }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Items pop_to_mark() {
    if (marks_.empty()) fail("lacks a mark on the stack");
    Items items(stack_.begin() + static_cast<long>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  // `holder` holds these from now on.
  void hold(Node& holder, const Items& items) {
    for (const Growing& v : items) {
      v->held = true;
      holder.depth = std::max(holder.depth, v->depth + 1);
      holder.expanded += v->expanded;
    }
    if (holder.expanded > kMostExpanded && holder.expanded > kMostExpansion * (values_ + at_))
      fail("repeats values until there are more than " + std::to_string(kMostExpanded));
    if (holder.depth > kDeepest) fail("nests deeper than " + std::to_string(kDeepest) + " values");
  }
  void push_holding(Growing v, const Items& items) {
    hold(*v, items);
    push(std::move(v));
  }
  // The container on top, that holds these too from now on.
  template <class T>
  T& grow(const Items& items, const char* what) {
    T* container = std::get_if<T>(&top()->is);
    if (!container) fail(std::string("adds to a value that is not a ") + what);
    if (top()->held) fail("changes a value that another value contains");
    hold(*top(), items);
    if (top()->held) fail("has a value that contains itself");
    return *container;
  }

  // --- opcodes
  void protocol() {
    if (number(1) != 2) fail("has a protocol other than 2");
  }
  void mark() { marks_.push_back(stack_.size()); }
  void none() { push(none_); }
  void yes() { push(yes_); }
  void no() { push(no_); }
  void byte() {
    const uint64_t v = number(1);
    if (!small_[v]) small_[v] = node(static_cast<int64_t>(v));
    push(small_[v]);
  }
  void two_bytes() { push(made(static_cast<int64_t>(number(2)))); }
  void four_bytes() { push(made(static_cast<int64_t>(static_cast<int32_t>(number(4))))); }
  void long_number() {
    const uint64_t width = number(1);
    if (width > 8) fail("contains an integer of more than 64 bits");
    uint64_t v = number(width);
    if (width > 0 && width < 8 && v >> (8 * width - 1)) v |= ~uint64_t{0} << (8 * width);
    push(made(static_cast<int64_t>(v)));
  }
  void real() {
    const std::string_view b = take(8);
    uint64_t v = 0;
    for (char c : b) v = v << 8 | static_cast<unsigned char>(c);
    push(made(std::bit_cast<double>(v)));
  }
  void text() { push(made(std::string(take(number(4))))); }
  void short_text() { push(made(std::string(take(number(1))))); }
  void empty_tuple() { push(made(Tuple{})); }
  void empty_list() { push(made(List{})); }
  void empty_dict() { push(made(Dict{})); }
  void make_tuple(const Items& items) {
    push_holding(made(Tuple{{items.begin(), items.end()}}), items);
  }
  void tuple() { make_tuple(pop_to_mark()); }
  void tuple_of(size_t n) {
    Items items(n);
    for (size_t i = n; i-- > 0;) items[i] = pop();
    make_tuple(items);
  }
  void tuple1() { tuple_of(1); }
  void tuple2() { tuple_of(2); }
  void tuple3() { tuple_of(3); }
  void add_to_list(const Items& items) {
    List& list = grow<List>(items, "list");
    list.items.insert(list.items.end(), items.begin(), items.end());
  }
  void append() { add_to_list({pop()}); }
  void appends() { add_to_list(pop_to_mark()); }
  void set_items(const Items& items) {
    if (items.size() % 2) fail("sets a key without a value");
    for (size_t i = 0; i < items.size(); i += 2)
      if (items[i]->as<Tuple>() || items[i]->as<List>() || items[i]->as<Dict>())
        fail("has a container as the key of a dict");
    Dict& dict = grow<Dict>(items, "dict");
    for (size_t i = 0; i < items.size(); i += 2) dict.items.emplace_back(items[i], items[i + 1]);
  }
  void set_item() {
    Growing value = pop(), key = pop();
    set_items({key, value});
  }
  void set_marked() { set_items(pop_to_mark()); }
  void global() {
    const std::string module = line();
    push(made(Global{module + "." + line()}));
  }
  void make_call(bool creates) {
    Growing arguments = pop(), callee = pop();
    if (!callee->as<Global>()) fail("calls a value that is not a function or class");
    push_holding(made(Called{callee, arguments, nullptr, creates}), {callee, arguments});
    // Nobody looks into an object again for each of its holders.
    if (callee->as<Global>()->name.starts_with("__torch__.")) top()->expanded = 1;
  }
  void call() { make_call(/*creates=*/false); }
  void create() { make_call(/*creates=*/true); }
  void build() {
    Growing state = pop();
    Called& object = grow<Called>({state}, "object");
    if (object.state) fail("sets the state of an object twice");
    object.state = std::move(state);
    if (object.callee->as<Global>()->name.starts_with("__torch__.")) top()->expanded = 1;
  }
  void persistent() {
    Growing id = pop();
    push_holding(made(Persistent{id}), {id});
  }
  void put(uint64_t index) {
    if (index > bytes_.size()) fail("writes a memo beyond its size");
    if (index >= memo_.size()) memo_.resize(index + 1);
    memo_[index] = top();
  }
  void put_short() { put(number(1)); }
  void put_long() { put(number(4)); }
  void get(uint64_t index) {
    if (index >= memo_.size() || !memo_[index]) fail("reads a memo that was not written");
    stack_.push_back(memo_[index]);
  }
  void get_short() { get(number(1)); }
  void get_long() { get(number(4)); }
  void stop() {
    done_ = pop();
    if (!stack_.empty() || !marks_.empty()) fail("ends with unused values");
  }

  std::string_view bytes_;
  size_t at_ = 0, opcode_at_ = 0;
  uint64_t values_ = 0;
  const Growing none_ = node(None{}), yes_ = node(true), no_ = node(false);
  Items small_;  // 0 to 255
  Items stack_;
  std::vector<size_t> marks_;
  Items memo_;
  ValuePtr done_;
};

// https://docs.python.org/3/library/pickletools.html
const Reader::Opcode Reader::table[] = {
    {0x80, &Reader::protocol},    {'(', &Reader::mark},       {'.', &Reader::stop},
    {'N', &Reader::none},         {0x88, &Reader::yes},       {0x89, &Reader::no},
    {'K', &Reader::byte},         {'M', &Reader::two_bytes},  {'J', &Reader::four_bytes},
    {0x8a, &Reader::long_number}, {'G', &Reader::real},       {'X', &Reader::text},
    {'T', &Reader::text},         {'U', &Reader::short_text}, {')', &Reader::empty_tuple},
    {']', &Reader::empty_list},   {'}', &Reader::empty_dict}, {'t', &Reader::tuple},
    {0x85, &Reader::tuple1},      {0x86, &Reader::tuple2},    {0x87, &Reader::tuple3},
    {'a', &Reader::append},       {'e', &Reader::appends},    {'s', &Reader::set_item},
    {'u', &Reader::set_marked},   {'c', &Reader::global},     {'R', &Reader::call},
    {0x81, &Reader::create},      {'b', &Reader::build},      {'Q', &Reader::persistent},
    {'q', &Reader::put_short},    {'r', &Reader::put_long},   {'h', &Reader::get_short},
    {'j', &Reader::get_long},
};

void Reader::step(unsigned char code) {
  const auto* row = std::ranges::find(table, code, &Opcode::code);
  if (row == std::end(table)) {
    constexpr char digits[] = "0123456789abcdef";
    fail(std::string("has the unknown opcode 0x") + digits[code >> 4] + digits[code & 15]);
  }
  (this->*row->run)();
}

}  // namespace

ValuePtr read_pickle(std::string_view bytes) { return Reader(bytes).run(); }

}  // namespace oe::archive
