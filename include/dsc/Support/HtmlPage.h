//===- HtmlPage.h - what our HTML pages share -------------------------------===//
// Each page is one file that asks the network for nothing.
#ifndef DSC_SUPPORT_HTMLPAGE_H
#define DSC_SUPPORT_HTMLPAGE_H

#include <string>
#include <utility>
#include <vector>

namespace dsc {

/// Text for an element or an attribute in double quotes.
std::string escapeHtml(const std::string &text);

/// JSON that may stand in a script element: `<` is written \u003c.
std::string inertJson(const std::string &json);

struct HtmlPage {
  std::string title, subtitle; ///< plain text; the window's title has both
  std::vector<std::pair<std::string, std::string>> facts; ///< at the head: name and value
  std::string style;                                      ///< after the shared style sheet
  std::string body;                                       ///< after the head; HTML
};
std::string printPage(const HtmlPage &page);

} // namespace dsc

#endif // DSC_SUPPORT_HTMLPAGE_H
