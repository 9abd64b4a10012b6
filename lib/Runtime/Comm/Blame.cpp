//===- Blame.cpp - who keeps a rank waiting, and at what -----------------------===//
#include "Blame.h"
#include <cstdio>
#include <map>
#include <set>

using namespace dsc;

std::string dsc::listRanks(std::span<const int> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i)
      text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

static std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", value);
  return text;
}

Status dsc::blame(const OperationSnapshot &self, std::span<const int> missing, double limit,
                  const Lookup &lookup) {
  struct Place {
    std::string operation;
    bool reached;
    std::vector<int> ranks;
    int waiter;
  };
  std::vector<Place> places;                         // where ranks to blame were awaited
  std::map<int, std::pair<std::string, int>> circle; // who waits where for whom
  std::set<int> seen = {self.rank};
  circle[self.rank] = {std::string(self.text()), missing.empty() ? -1 : missing.front()};

  std::vector<std::pair<int, OperationSnapshot>> open; // rank, and the waiter that asks for it
  for (int rank : missing)
    open.push_back({rank, self});
  for (size_t i = 0; i < open.size(); ++i) {
    auto [rank, waiter] = open[i];
    if (!seen.insert(rank).second)
      continue;
    std::optional<OperationSnapshot> is = lookup(rank);
    if (is && is->inside && is->blockedBy >= 0) {
      circle[rank] = {std::string(is->text()), is->blockedBy};
      open.push_back({is->blockedBy, *is});
      continue;
    }
    std::string operation(waiter.text());
    bool reached = is && is->inside && is->text() == operation;
    auto place = places.begin();
    while (place != places.end() && (place->operation != operation || place->reached != reached))
      ++place;
    if (place == places.end())
      place = places.insert(place, {operation, reached, {}, waiter.rank});
    place->ranks.push_back(rank);
  }

  std::string text;
  if (places.empty()) {
    text = "ranks wait for each other: ";
    for (auto &[rank, at] : circle)
      text += (text.back() == ' ' ? "rank " : "; rank ") + std::to_string(rank) + " at " +
              at.first + " for rank " + std::to_string(at.second);
    return {ErrorCode::Communication, text};
  }
  for (Place &place : places) {
    text += (text.empty() ? "" : "; ") + listRanks(place.ranks) +
            (place.reached ? " never ended " : " never reached ") +
            (place.operation.empty() ? "the end of a message" : place.operation);
    if (place.waiter != self.rank)
      text += ", where rank " + std::to_string(place.waiter) + " waits,";
  }
  return {ErrorCode::Communication, text + " within " + seconds(limit)};
}

Status dsc::failureOf(const OperationSnapshot &rank, const Status &why) {
  if (why.code() == ErrorCode::Communication)
    return why;
  std::string text = "rank " + std::to_string(rank.rank) + " gave up";
  if (rank.length)
    text += (rank.inside ? " at " : " after ") + std::string(rank.text());
  return {ErrorCode::Communication, text + ": " + why.message()};
}
