//===- dsc-dump.cpp - prints a plan, compares digests ----------------------===//
#include "DigestDiff.h"
#include "dsc/Plan/Print.h"
#include "dsc/Runtime/Comm/PlanTraffic.h"
#include "dsc/Support/Arguments.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Json.h"
#include <iostream>

using namespace dsc;

static int fail(const Status &status) {
  std::cerr << "dsc-dump: error: " << status.message() << "\n";
  return status.exitCode();
}

static int diff(const std::vector<std::string> &files) {
  auto difference = firstDifference(files[0], files[1]);
  if (!difference.ok())
    return fail(difference.status());
  std::cout << (difference->empty() ? "no difference" : *difference) << "\n";
  return difference->empty() ? 0 : 1;
}

/// Every program of that name: the plan's own, or one a stage.
static int printPrograms(const plan::Plan &plan, const std::string &path, const std::string &name) {
  std::string known, text;
  auto look = [&](const plan::Role &role, const std::string &title) {
    for (const plan::Program &candidate : role.programs) {
      known += known.find(" " + candidate.name) == known.npos ? " " + candidate.name : "";
      if (candidate.name == name)
        text += title + plan::printProgram(plan, candidate);
    }
  };
  look(plan, "");
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    look(plan.stages[stage], "stage " + std::to_string(stage) + "\n");
  if (text.empty())
    return fail({ErrorCode::Usage, path + " has no program '" + name + "'; it has:" + known});
  std::cout << text;
  return 0;
}

static int print(const std::string &path, const std::string &section, const std::string &name) {
  auto file = MappedFile::open(path);
  if (!file.ok())
    return fail(file.status());
  auto plan = plan::deserialize(file->bytes());
  if (!plan.ok())
    return fail(Status(plan.status().code(), path + ": " + plan.status().message()));
  if (!name.empty())
    return printPrograms(*plan, path, name);
  if (!section.empty()) {
    std::cout << (section == "json"            ? plan->manifest->dump(2) + "\n"
                  : section == "communication" ? printTraffic(*plan)
                                               : plan::printSection(*plan, section));
    return 0;
  }
  std::cout << "plan " << plan::planHash(file->bytes()) << "\n";
  for (const std::string &each : plan::printableSections())
    if (each != "debug")
      std::cout << plan::printSection(*plan, each);
  std::cout << printTraffic(*plan);
  return 0;
}

int main(int argc, char **argv) {
  CLI::App app{"Prints a plan as text, or compares two digests of dsrun.", "dsc-dump"};
  app.footer("Examples:\n"
             "  dsc-dump plan.bin --program=train        the buffers and instructions of a step\n"
             "  dsc-dump --diff one.jsonl two.jsonl      the first step and tensor that differ\n"
             "Exit codes: 0 ok or no difference, 1 a difference or a file that cannot be read,\n"
             "2 usage, 6 damaged plan");
  app.set_version_flag("--version", std::string("dsc-dump ") + DSC_VERSION);
  std::vector<std::string> files;
  std::string section, program;
  bool compare = false;
  app.add_option("FILE", files, "the plan; with --diff two digests")->required()->expected(1, 2);
  auto sections = plan::printableSections();
  sections.insert(sections.end(), {"communication", "json"});
  app.add_option("--section", section, "only this part; json: the manifest as it is")
      ->check(CLI::IsMember(sections));
  app.add_option("--program", program, "only this program, such as train");
  app.add_flag("--diff", compare, "compare two files that dsrun --digest=FILE wrote");
  try {
    parseArguments(app, argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 2 : 0;
  }
  if (files.size() != (compare ? 2u : 1u)) {
    std::cerr << "dsc-dump: error: "
              << (compare ? "--diff compares two files" : "one plan at a time") << ", "
              << files.size() << " given\n";
    return 2;
  }
  return compare ? diff(files) : print(files[0], section, program);
}
