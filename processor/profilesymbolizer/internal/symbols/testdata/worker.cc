// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace app {

static volatile unsigned sink;

template <typename T>
inline T mix(T value, T by) {
  for (int i = 0; i < 7; i++) value = (value ^ (by + i)) * 31;
  return value;
}

struct Base {
  virtual ~Base() = default;
  virtual unsigned step(unsigned n) = 0;
};

class Worker : public Base {
 public:
  explicit Worker(std::string name) : name_(std::move(name)) {}
  unsigned step(unsigned n) override {
    auto twice = [n](unsigned x) { return mix(x, n) + mix(x, n + 1); };
    unsigned total = 0;
    for (auto& [key, list] : lists_) {
      for (unsigned item : list) total += twice(item) + key.size();
    }
    lists_[name_ + std::to_string(n % 17)].push_back(total);
    std::sort(lists_[name_ + "0"].begin(), lists_[name_ + "0"].end(), [](unsigned a, unsigned b) { return mix(a, 3u) < mix(b, 3u); });
    return total;
  }

 private:
  std::string name_;
  std::map<std::string, std::vector<unsigned>> lists_;
};

}  // namespace app

int main() {
  app::Worker worker("worker");
  for (unsigned i = 0; i < 1000; i++) app::sink = worker.step(i);
  std::printf("%u\n", app::sink);
}
