// One description of a structure, for writing it as JSON and for reading it back.
//
//   template <class V>
//   void members(StageTime& t, V&& visit) {
//     visit("name", t.stage);
//     visit("seconds", t.seconds);
//   }
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "app/json.h"

namespace oe::app {

template <class T>
ordered_json written(T& value);
template <class T>
void read_back(const ordered_json& j, T& value);

class Writer {
 public:
  template <class T>
  void operator()(const char* key, T& value) {
    json[key] = written(value);
  }
  ordered_json json = ordered_json::object();
};

// Throws ordered_json::exception where a member is missing or has another type.
class Reader {
 public:
  explicit Reader(const ordered_json& j) : json_(j) {}
  template <class T>
  void operator()(const char* key, T& value) {
    read_back(json_.at(key), value);
  }

 private:
  const ordered_json& json_;
};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
concept HasMembers = requires(T& t, Writer& w) {
  members(t, w);
};

template <class T>
ordered_json written(T& value) {
  if constexpr (IsVector<T>::value) {
    ordered_json list = ordered_json::array();
    for (auto&& element : value) list.push_back(written(element));
    return list;
  } else if constexpr (IsOptional<T>::value) {
    return value ? written(*value) : ordered_json();
  } else if constexpr (HasMembers<T>) {
    Writer w;
    members(value, w);
    return std::move(w.json);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else {
    return value;
  }
}

template <class T>
void read_back(const ordered_json& j, T& value) {
  if constexpr (IsVector<T>::value) {
    for (const ordered_json& element : j) read_back(element, value.emplace_back());
  } else if constexpr (IsOptional<T>::value) {
    if (!j.is_null()) read_back(j, value.emplace());
  } else if constexpr (HasMembers<T>) {
    members(value, Reader(j));
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(j.get<int>());
  } else if constexpr (std::is_floating_point_v<T>) {
    // JSON has neither NaN nor infinity.
    value = j.is_null() ? std::numeric_limits<T>::quiet_NaN() : j.get<T>();
  } else {
    j.get_to(value);
  }
}

}  // namespace oe::app
