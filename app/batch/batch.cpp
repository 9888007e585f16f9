// The verb `batch`: plan, run, report.
#include "app/batch/batch.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>

#include "app/argument_files.h"
#include "app/batch/baseline.h"
#include "app/batch/batch_report.h"
#include "app/batch/journal.h"
#include "app/batch/merge.h"
#include "app/batch/plan.h"
#include "app/batch/pool.h"
#include "app/batch/progress.h"
#include "app/document.h"
#include "app/memory.h"
#include "app/private_folder.h"
#include "app/report_files.h"
#include "app/supervise/signals.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

void list_plan(const BatchLine& line, const std::vector<Item>& items) {
  SafeStream out(std::cout);
  for (const Item& item : items) {
    ordered_json j = {{"schema_version", kSchemaVersion},
                      {"event", "planned"},
                      {"model", item.model},
                      {"id", item.id},
                      {"bytes", item.bytes},
                      {"options", item.words}};
    if (line.json)
      out << dump(j, -1) << "\n";
    else
      out << safe_line(item.model + (item.id == item.model ? "" : " -> " + item.id) +
                       (item.words.empty() ? "" : "  " + join(item.words, " ")))
          << "\n";
  }
}

// Outputs that were there before, and are not the journal's.
void refuse_existing(const BatchLine& line, const std::vector<Item>& items,
                     const Journal* journal) {
  size_t count = 0;
  fs::path first;
  for (const Item& item : items) {
    const fs::path output = fs::path(line.output) / item.id;
    std::error_code error;
    if (!fs::exists(fs::symlink_status(output, error))) continue;
    if (journal && journal->find(item.id)) continue;
    if (count++ == 0) first = output;
  }
  if (count == 0) return;
  unwritable("OE0704", first,
             "exists already" +
                 (count > 1 ? ", and so do " + std::to_string(count - 1) + " more" : std::string()),
             "overwrite with --force, or choose another folder with -o");
}

Journal open_journal(const BatchLine& line, const std::vector<Item>& items) {
  if (line.output.empty()) return Journal();
  const fs::path folder = line.output, parent = folder.lexically_normal().parent_path();
  std::error_code error;
  if (!fs::exists(folder, error)) {
    if (!parent.empty() && !fs::is_directory(parent, error))
      unwritable("OE0701", parent, "the output folder does not exist", "create it");
    fs::create_directory(folder, error);
    if (error) unwritable("OE0703", folder, error.message());
  }
  if (!fs::is_directory(folder, error)) unwritable("OE0701", folder, "is not a folder");
  const fs::path file = Journal::file_in(line.output, line.shard);
  const bool known = fs::exists(fs::symlink_status(file, error));
  if (!line.force && !line.resume && !known) refuse_existing(line, items, nullptr);
  Journal journal(file, line.resume ? Journal::Open::Continue : Journal::Open::New, line.force);
  if (!line.force && line.resume) refuse_existing(line, items, &journal);
  for (const std::string& version : journal.other_versions())
    say("note: the journal has models of onnx-export " + safe_line(version) +
            ", which are converted again\n",
        line.color);
  journal.append({{"event", "batch"},
                  {"models", items.size()},
                  {"shard", {line.shard.first, line.shard.second}}});
  return journal;
}

ExitCode exit_code_of(const BatchTotals& t, bool baseline) {
  if (baseline) return t.worse.empty() ? ExitCode::Ok : ExitCode::BatchFailures;
  if (t.count.contains(ItemStatus::Failed) || !t.not_run.empty()) return ExitCode::BatchFailures;
  return t.count.contains(ItemStatus::Partly) ? ExitCode::NotFullyVerified : ExitCode::Ok;
}

// Writes the reports and prints the totals.
ExitCode report(const BatchLine& line, const EachDocument& each,
                const std::vector<std::string>& not_run, const std::optional<Baseline>& baseline) {
  BatchTotals t = totals_of(each);
  t.not_run = not_run;
  if (baseline) t.worse = baseline->worse(each);
  t.exit_code = exit_code_of(t, baseline.has_value());
  write_reports(line, each, t);
  const std::string text = totals_text(t, line.task == BatchTask::Check);
  if (line.json) {
    ordered_json counts = ordered_json::object();
    for (const auto& [status, n] : t.count) counts[name_of(status)] = n;
    std::cout << dump({{"schema_version", kSchemaVersion},
                       {"event", "batch_ended"},
                       {"exit_code", static_cast<int>(t.exit_code)},
                       {"models", counts},
                       {"not_run", t.not_run},
                       {"worse", t.worse}},
                      -1)
              << std::endl;
  } else if (!line.quiet || t.exit_code != ExitCode::Ok) {
    say(text, line.color);
  }
  return t.exit_code;
}

ExitCode run_all(const BatchLine& line, const std::vector<Item>& items,
                 const std::optional<Baseline>& baseline) {
  Journal journal = open_journal(line, items);
  BatchProgress progress(line, items.size());
  Pool pool(line, items, journal, progress);
  pool.run();
  progress.erase();
  std::vector<std::string> not_run;
  for (size_t i = 0; i < items.size(); ++i)
    if (pool.status(i) == ItemStatus::NotRun) not_run.push_back(items[i].model);
  if (pool.our_signal()) {
    say("error: ended by a signal; " + plural(items.size() - not_run.size(), "model") + " of " +
            std::to_string(items.size()) + " are done" +
            (line.output.empty() ? "" : "; --resume continues") + "\n",
        line.color);
    throw Interrupted{pool.our_signal()};
  }
  const EachDocument each = [&](const std::function<void(const ordered_json&)>& take) {
    for (size_t i = 0; i < items.size(); ++i)
      if (pool.status(i) != ItemStatus::NotRun)
        take(journal.line_of(*journal.find(items[i].id)).at("document"));
  };
  return report(line, each, not_run, baseline);
}

ExitCode perform(const BatchLine& line) {
  std::optional<Baseline> baseline;
  if (!line.baseline.empty()) baseline.emplace(line.baseline);
  if (!line.dry_run) require_report_folders(line.reports, line.output);
  const bool any = !line.sources.empty() || !line.list.empty() || !line.manifest.empty();
  const std::vector<Item> items = line.merge && !any ? std::vector<Item>() : plan(line);
  if (line.merge) {
    const Merged merged(line, items);
    for (const std::string& note : merged.notes()) say("warning: " + note + "\n", line.color);
    return report(line, merged.each(), merged.not_run(), baseline);
  }
  if (line.dry_run) {
    list_plan(line, items);
    return ExitCode::Ok;
  }
  return run_all(line, items, baseline);
}

}  // namespace

int batch(const std::vector<std::string>& given) {
  Color color = wanted_color(given);
  Stop stop;
  try {
    const BatchLine line = parse_batch_line(with_files(given));
    color = line.color;
    if (!line.text.empty()) {
      std::cout << line.text << std::flush;
      return 0;
    }
    const ExitCode code = perform(line);
    require_written(std::cout);
    return static_cast<int>(code);
  } catch (const Interrupted& i) {
    end_by(i.signal);
  } catch (const Failure& f) {
    stop = stop_of(f);
  } catch (const std::exception& e) {
    if (is_out_of_memory(e)) throw;  // main() reports it without memory
    stop = {ExitCode::Internal, "OE0003", e.what(), "this is a bug; please report it", nullptr};
  }
  if (wants_json(given))
    std::cout << dump(verb_document("batch", ordered_json::object(), stop.exit_code,
                                    ordered_json::array({stop_json(stop)})),
                      2)
              << std::endl;
  say(stop_text(stop), color);
  return static_cast<int>(stop.exit_code);
}

}  // namespace oe::app
