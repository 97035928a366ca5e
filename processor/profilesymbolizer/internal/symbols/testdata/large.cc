// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// A unit with much debug information, many copies of which become a large file.
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

int work(const std::string &text) {
  std::map<std::string, std::vector<int>> ordered;
  std::unordered_map<std::string, std::function<int(int)>> functions;
  std::regex words("[a-z]+([0-9]*)");
  for (std::sregex_iterator i(text.begin(), text.end(), words), end; i != end; ++i) {
    ordered[i->str(1)].push_back(int(i->position()));
    functions[i->str()] = [n = i->length()](int x) { return x + int(n); };
  }
  int sum = 0;
  for (auto &[key, list] : ordered) {
    std::sort(list.begin(), list.end());
    for (int x : list) sum += functions[key] ? functions[key](x) : x;
  }
  return sum;
}
