// The launch of a worker: limits, sandbox mode and libraries, as JSON.
#include "app/launch.h"

#include "app/json.h"

namespace oe::app {

std::string to_text(const Launch& l) {
  return dump({{"sandbox", static_cast<int>(l.limits.sandbox)},
               {"seconds", l.limits.seconds},
               {"memory", l.limits.memory},
               {"size", l.limits.size},
               {"input_bytes", l.input_bytes},
               {"gpu", l.gpu},
               {"onnxruntime", l.onnxruntime},
               {"ort_lib", l.ort_lib},
               {"op_libs", l.op_libs}},
              -1);
}

Launch launch_from(const std::string& text) {
  const ordered_json j = ordered_json::parse(text);
  return {{static_cast<SandboxMode>(j.at("sandbox").get<int>()), j.at("seconds"), j.at("memory"),
           j.at("size")},
          j.at("input_bytes"),
          j.at("gpu"),
          j.at("onnxruntime"),
          j.at("ort_lib"),
          j.at("op_libs").get<std::vector<std::string>>()};
}

}  // namespace oe::app
