// The page of a batch (--report FILE.html).
#pragma once

#include <ostream>
#include <string>

#include "app/batch/batch_report.h"

namespace oe::app {

// `file`: where the page will be, which the links to the pages of the models start from.
void write_batch_page(const BatchLine& line, const std::string& file, const EachDocument& each,
                      const BatchTotals& t, std::ostream& out);

}  // namespace oe::app
