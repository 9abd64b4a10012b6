//===- Generate.h - text from trained weights ------------------------------===//
#ifndef DSC_RUNTIME_CORE_GENERATE_H
#define DSC_RUNTIME_CORE_GENERATE_H

#include "dsc/Runtime/Core/Session.h"
#include "dsc/Runtime/Data/Generation.h"

namespace dsc {

struct GenerateOptions {
  std::vector<std::string> prompts;
  int64_t newTokens = 200;
  SamplingOptions sampling;
  bool cached = true;        ///< false: each token from the whole context, computed anew
  bool stopWhenFull = false; ///< else the last half of a full context goes on
};

/// dsrun PLAN --generate=PROMPT: prints each prompt and what follows to stdout, in order, until
/// end-of-text, `newTokens`, a full context or a signal; one text as it comes. Every text is that
/// which its prompt gives alone, whatever others are continued at the same time. Byte vocabulary
/// only. Notes go to stderr.
///
/// Context: when it has no room for one more token, the last half of its length stays, at
/// positions from 0 on. The same for a prompt that is too long.
Status generate(Session &session, const GenerateOptions &options);

} // namespace dsc

#endif // DSC_RUNTIME_CORE_GENERATE_H
