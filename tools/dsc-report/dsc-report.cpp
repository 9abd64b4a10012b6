//===- dsc-report.cpp - a page about runs --------------------------------------===//
#include "dsc/Report/Page.h"
#include "dsc/Support/Arguments.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Numbers.h"
#include <iostream>

using namespace dsc;

int main(int argc, char **argv) {
  CLI::App app{"Writes an HTML page about one training run, or several over each other.",
               "dsc-report"};
  app.footer(
      "Examples:\n"
      "  dsc-report out/log -o run.html             curves and settings of one run\n"
      "  dsc-report out/small out/large -o two.html two runs, and how their settings differ\n"
      "A run is a folder that dsrun wrote as log.dir, or a log of --log=FILE. It may still be\n"
      "going on. The page is one file and asks the network for nothing.\n"
      "Exit codes: 0 ok, 1 a run that is absent, has no step or a damaged log, or a page that\n"
      "cannot be written, 2 usage");
  app.set_version_flag("--version", std::string("dsc-report ") + DSC_VERSION);
  std::vector<std::string> paths;
  std::string output;
  app.add_option("RUN", paths, "folder of a run, or its log")->required();
  app.add_option("-o,--output", output, "the page")->required()->check(notEmpty());
  try {
    parseArguments(app, argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? static_cast<int>(ErrorCode::Usage) : 0;
  }
  auto fail = [](const Status &status) {
    std::cerr << "dsc-report: error: " << status.message() << "\n";
    return status.exitCode();
  };
  auto runs = report::readRuns(paths);
  if (!runs.ok())
    return fail(runs.status());
  std::string page = report::reportPage(*runs);
  if (Status status = writeFileAtomically(output, page); !status.ok())
    return fail(status);
  for (const report::Run &run : *runs)
    for (const std::string &note : run.notes)
      std::cerr << "dsc-report: note: " << note << "\n";
  std::cout << output << ": " << runs->size() << (runs->size() == 1 ? " run, " : " runs, ")
            << printBytes(page.size()) << "\n";
  return 0;
}
