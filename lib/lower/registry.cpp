// The list of all families' tables, and the search in it.
#include <unordered_map>

#include "lib/lower/lowering.h"

namespace oe::lower {

// One function a file of lib/lower/aten.
Table activation_rows();
Table arithmetic_rows();
Table compare_rows();
Table math_rows();
Table reduce_rows();
Table statistics_rows();
Table scan_rows();
Table cast_rows();
Table creation_rows();
Table random_rows();
Table number_rows();
Table number_math_rows();
Table conv_rows();
Table pool_rows();
Table adaptive_pool_rows();
Table norm_rows();
Table distance_rows();
Table matmul_rows();
Table einsum_rows();
Table packed_rows();
Table rnn_rows();
Table rnn_cells_rows();
Table attention_rows();
Table transformer_rows();
Table embedding_rows();
Table loss_rows();
Table class_loss_rows();
Table margin_loss_rows();
Table resize_rows();
Table shuffle_rows();
Table vision_rows();
Table view_rows();
Table slice_rows();
Table split_rows();
Table repeat_rows();
Table join_rows();
Table index_rows();
Table gather_rows();
Table triangle_rows();
Table scatter_rows();
Table slice_scatter_rows();
Table sort_rows();
Table set_rows();
Table sequence_rows();
Table pad_rows();
Table window_rows();

std::span<const Table> tables() {
  static const Table all[] = {
      activation_rows(),    arithmetic_rows(), compare_rows(),       math_rows(),
      reduce_rows(),        statistics_rows(), scan_rows(),          cast_rows(),
      creation_rows(),      random_rows(),     number_rows(),        number_math_rows(),
      conv_rows(),          pool_rows(),       adaptive_pool_rows(), norm_rows(),
      distance_rows(),      matmul_rows(),     einsum_rows(),        packed_rows(),
      rnn_rows(),           rnn_cells_rows(),  attention_rows(),     transformer_rows(),
      embedding_rows(),     loss_rows(),       class_loss_rows(),    margin_loss_rows(),
      resize_rows(),        shuffle_rows(),    vision_rows(),        view_rows(),
      slice_rows(),         split_rows(),      repeat_rows(),        join_rows(),
      index_rows(),         gather_rows(),     triangle_rows(),      scatter_rows(),
      slice_scatter_rows(), sort_rows(),       sequence_rows(),      set_rows(),
      pad_rows(),           window_rows(),
  };
  return all;
}

const Lowering* find(std::string_view op) {
  static const auto* index = [] {
    auto* map = new std::unordered_map<std::string_view, const Lowering*>;
    for (const Table& table : tables())
      for (const Lowering& row : table)
        for (std::string_view name : row.names) map->emplace(name, &row);
    return map;
  }();
  auto it = index->find(op);
  return it == index->end() ? nullptr : it->second;
}

}  // namespace oe::lower
