// A service in small: loads weights once, and two threads detect objects in images that are in memory.
// service WEIGHTS IMAGE.ppm: prints "class score x1 y1 x2 y2" of each object, best first.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <brightnet/detector.h>

namespace {

struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

Picture read_ppm(const char* file) {
  std::ifstream in(file, std::ios::binary);
  std::string magic;
  int most = 0;
  Picture picture;
  in >> magic >> picture.width >> picture.height >> most;
  in.get();
  picture.pixels.resize(static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) * 3);
  in.read(reinterpret_cast<char*>(picture.pixels.data()),
          static_cast<std::streamsize>(picture.pixels.size()));
  return picture;
}

std::string detect(const brightnet::Detector& detector, const Picture& picture) {
  std::string text;
  for (const auto& object : detector.detect({picture.pixels.data(), picture.height, picture.width})) {
    char line[256];
    std::snprintf(line, sizeof line, "%d %.5f %.2f %.2f %.2f %.2f\n", object.class_id,
                  static_cast<double>(object.score), static_cast<double>(object.x1),
                  static_cast<double>(object.y1), static_cast<double>(object.x2),
                  static_cast<double>(object.y2));
    text += line;
  }
  return text;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 3) return 2;
  const Picture picture = read_ppm(arguments[2]);
  const brightnet::Detector detector(brightnet::Weights::open(arguments[1]),
                                     {.device = {.device = "cpu"}, .confidence = 0.01f});
  std::string found[2];
  {
    std::vector<std::jthread> threads;
    for (std::string& text : found) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i) text = detect(detector, picture);
      });
    }
  }
  std::fputs(found[0].c_str(), stdout);
  return found[0] == found[1] ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
