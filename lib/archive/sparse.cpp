#include "lib/archive/sparse.h"

#include <algorithm>

namespace oe::archive {
namespace {

// The integers of a tensor, read from its record in windows.
class Integers {
 public:
  Integers(const Archive& archive, const std::string& folder, const StoredTensor& t)
      : file_(archive.file()),
        tensor_(t),
        record_(archive.find(folder + "/" + t.storage.key)),
        size_(element_size(t.storage.type)) {
    if (!record_) throw Malformed("makes a sparse tensor of a storage without a record");
    if (!lies_within_storage(t))
      throw Malformed("makes a tensor that reaches beyond its storage " + t.storage.key);
    // Else reading them could take forever.
    int64_t count = 1;
    for (const int64_t n : t.sizes) count *= n;
    if (count > t.storage.elements)
      throw Malformed("makes a sparse tensor with more indices than their storage has");
  }

  // By its index along each axis.
  int64_t at(const std::vector<int64_t>& index) {
    int64_t element = tensor_.offset;
    for (size_t i = 0; i < index.size(); ++i) element += index[i] * tensor_.strides[i];
    const uint64_t place = static_cast<uint64_t>(element) * size_;
    if (place < begin_ || place + size_ > begin_ + window_.size()) {
      // Neighbours may lie far apart, but not so far that each costs a window.
      read_ += kWindow;
      if (read_ > kMostWindows * kWindow + 64 * record_->size)
        throw Malformed("makes a sparse tensor with indices that lie scattered in their storage");
      begin_ = place;
      window_ = file_.read(record_->offset + place, std::min(kWindow, record_->size - place));
      if (window_.size() < size_) throw Malformed("makes a sparse tensor of a record that was cut");
    }
    const uint64_t v = little_endian(window_, place - begin_, size_);
    return size_ == 4 ? static_cast<int32_t>(v) : static_cast<int64_t>(v);
  }

 private:
  static constexpr uint64_t kWindow = 64 << 10, kMostWindows = 1024;  // bytes
  const File& file_;
  const StoredTensor& tensor_;
  const Record* record_;
  const uint64_t size_;
  std::string window_;
  uint64_t begin_ = 0, read_ = 0;
};

[[noreturn]] void outside() {
  throw Malformed("makes a sparse tensor with an index outside its sizes");
}

void check_rows(Integers& starts, Integers& columns, const StoredSparse& s) {
  const std::vector<int64_t>& shape = s.indices[0].sizes;
  const int64_t elements = s.indices[1].sizes.back(),
                width = s.sizes[shape.size()];  // behind the batch and the rows
  std::vector<int64_t> index(shape.size(), 0);
  for (;;) {
    int64_t before = 0;
    for (int64_t row = 0; row < shape.back(); ++row) {
      index.back() = row;
      const int64_t start = starts.at(index);
      if (row == 0 ? start != 0 : start < before) outside();
      before = start;
    }
    if (before != elements) outside();
    for (int64_t i = 0; i < elements; ++i) {
      index.back() = i;
      const int64_t column = columns.at(index);
      if (column < 0 || column >= width) outside();
    }
    // The next of the batch.
    size_t axis = shape.size() - 1;
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace

void check_sparse(const Archive& archive, const std::string& folder, const StoredSparse& s) {
  Integers first(archive, folder, s.indices[0]);
  if (s.compressed) {
    Integers columns(archive, folder, s.indices[1]);
    for (const int64_t n : s.indices[0].sizes)
      if (n == 0) return;
    return check_rows(first, columns, s);
  }
  for (int64_t axis = 0; axis < s.indices[0].sizes[0]; ++axis)
    for (int64_t i = 0; i < s.indices[0].sizes[1]; ++i) {
      const int64_t v = first.at({axis, i});
      if (v < 0 || v >= s.sizes[static_cast<size_t>(axis)]) outside();
    }
}

}  // namespace oe::archive
