// `brightnet download` and `--weights NAME`, against a small HTTP server in this process.
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/end_to_end/program.h"
#include "tests/formats/download/http_server.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Download : public ::testing::Test {
 protected:
  Download() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Download() override { fs::remove_all(folder_); }

  ProgramResult run(const std::vector<std::string>& words) const { return run_program(words, folder_); }
  ProgramResult fetch(const std::string& name) const {
    return run({"download", name, "--mirror", server_.address("/files")});
  }
  fs::path kept(const std::string& file) const { return folder_ / ".cache/brightnet/weights" / file; }

  void expect(const ProgramResult& result, int code, const std::vector<std::string>& words) const {
    EXPECT_EQ(result.code, code) << result.err;
    for (const std::string& word : words)
      EXPECT_NE(result.err.find(word), std::string::npos) << word << " in " << result.err;
  }

  HttpServer server_;
  const fs::path folder_ =
      fs::path(::testing::TempDir()) /
      ("download_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(Download, ListsWhatThereIsAndRefusesWhatThereIsNot) {
  const ProgramResult listed = run({"download"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  for (const char* word :
       {"yolov4-tiny ", "yolov4-tiny.conv.29", "yolov3-tiny", ".cache/brightnet/weights. "})
    EXPECT_NE(listed.out.find(word), std::string::npos) << word << " in " << listed.out;
  expect(run({"download", "yolov4-tny"}), 2,
         {"no weights of the name 'yolov4-tny'", "Did you mean 'yolov4-tiny'?"});
}

TEST_F(Download, SaysWhatIsWrongWithANetworkAMirrorOrAFile) {
  expect(fetch("yolov4-tiny"), 2,
         {"there is no such file at " + server_.address("/files/yolov4-tiny.weights") + " (HTTP 404)",
          "--weights"});
  expect(run({"download", "yolov4-tiny", "--mirror", "http://127.0.0.1:1"}), 2,
         {"could not be fetched", "fetch the file on another machine"});
  server_.serve("/files/yolov4-tiny.weights", {.body = "<html>Sign in</html>"});
  expect(fetch("yolov4-tiny"), 2, {"there are 20 bytes at", "the file has 24251276"});
  server_.serve("/files/yolov4-tiny.weights", {.body = std::string(24251276, '\0')});
  expect(fetch("yolov4-tiny"), 2,
         {"SHA-256", "cf9fbfd0f6d4869b35762f56100f50ed05268084078805f0e7989efe5bb8ca87"});
  EXPECT_FALSE(fs::exists(kept("yolov4-tiny.weights")));
  EXPECT_FALSE(fs::exists(kept("yolov4-tiny.weights.part")));
}

TEST_F(Download, IsContinuedAfterASignal) {
  const std::string body(19789716, '\0');  // no hash of this file is known: it is looked at
  server_.serve("/files/yolov4-tiny.conv.29", {.body = body, .pause_ms = 10});
  const std::vector<std::string> words{"download", "yolov4-tiny.conv.29", "--mirror",
                                       server_.address("/files")};
  const Program program(words, folder_);
  const fs::path part = kept("yolov4-tiny.conv.29.part");
  std::error_code failed;
  for (int i = 0; i < 500 && (!fs::exists(part) || fs::file_size(part, failed) < 500000); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  program.signal(SIGINT);
  expect(program.wait(), 4, {"was stopped", "The same command continues it."});
  const auto came = fs::file_size(part);
  EXPECT_GT(came, 500000u);
  server_.serve("/files/yolov4-tiny.conv.29", {.body = body});
  const ProgramResult continued = run(words);
  expect(continued, 0, {"Continuing yolov4-tiny.conv.29"});
  EXPECT_EQ(continued.out, kept("yolov4-tiny.conv.29").string() + '\n');
  EXPECT_EQ(server_.requests().back(), "/files/yolov4-tiny.conv.29 " + std::to_string(came) + '-');
  EXPECT_EQ(fs::file_size(kept("yolov4-tiny.conv.29")), body.size());
}

// What anybody on the way could change. The certificate is trusted in a namespace of the program's own.
TEST_F(Download, TrustsTheNamedCertificatesAndIsNeverRedirectedFromHttpsToHttp) {
  const fs::path certificate = folder_ / "certificate.pem", key = folder_ / "key.pem";
  const fs::path pages = folder_ / "pages";
  fs::create_directories(pages / "files");
  const auto made =
      Program("openssl",
              {"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days",
               "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"},
              folder_)
          .wait();
  if (made.code != 0) GTEST_SKIP() << "there is no openssl: " << made.err;
  server_.serve("/plain", {.body = std::string(24251276, '\0')});
  write_atomically(pages / "files/yolov4-tiny.weights",
                   "HTTP/1.1 302 Found\r\nLocation: " + server_.address("/plain") +
                       "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  const Program secure("openssl", {"s_server", "-accept", "0", "-cert", certificate, "-key", key, "-HTTP"},
                       pages);
  std::string port;
  for (int i = 0; i < 500 && port.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::string said = fs::exists(pages / "stdout.txt") ? read_file(pages / "stdout.txt") : "";
    const size_t at = said.find("ACCEPT "), end = said.find('\n', at);
    if (at == std::string::npos || end == std::string::npos) continue;
    port = said.substr(said.rfind(':', end) + 1, end - said.rfind(':', end) - 1);
  }
  const std::vector<std::string> words{"download", "yolov4-tiny", "--mirror",
                                       "https://localhost:" + port + "/files"};
  expect(run(words), 2, {"certificate", "SSL_CERT_FILE"});
  std::vector<std::string> trusting{"SSL_CERT_FILE=" + certificate.string(), program().string()};
  trusting.insert(trusting.end(), words.begin(), words.end());
  const ProgramResult result = Program("env", trusting, folder_).wait();
  secure.signal(SIGTERM);
  secure.wait();
  expect(result, 2, {"Protocol \"http\""});
  EXPECT_TRUE(server_.requests().empty());
}

/// With the real network, where it lies beside the project.
class DownloadedNetwork : public Download {
 protected:
  void SetUp() override {
    if (!fs::exists(pretrained_)) GTEST_SKIP() << "there is no ../shared/pretrained";
    for (const char* file : {"yolov3-tiny.weights", "yolov3-tiny.cfg", "coco.names"})
      server_.serve(std::string("/files/") + file, {.body = read_file(pretrained_ / file)});
    ::setenv("BRIGHTNET_MIRROR", server_.address("/files").c_str(), 1);
  }
  void TearDown() override { ::unsetenv("BRIGHTNET_MIRROR"); }

  const fs::path pretrained_ = fs::absolute(source_dir() / "../shared/pretrained").lexically_normal();
};

TEST_F(DownloadedNetwork, DetectsByItsNameAndIsFetchedOnce) {
  const std::string dog = (pretrained_ / "dog.jpg").string();
  const std::vector<std::string> words{"detect",   "--weights", "yolov3-tiny", "--source", dog,
                                       "--device", "cpu",       "--json",      "-"};
  const ProgramResult first = run(words);
  EXPECT_EQ(first.code, 0) << first.err;
  for (const char* name : {"\"dog\"", "\"bicycle\"", "\"truck\"", "\"car\""})
    EXPECT_NE(first.out.find(name), std::string::npos) << name << " in " << first.out;
  EXPECT_EQ(server_.requests().size(), 3u);
  EXPECT_EQ(run(words).out, first.out);
  EXPECT_EQ(server_.requests().size(), 3u);
  // Names of the user's own are taken in place of the published ones.
  std::string names = read_file(pretrained_ / "coco.names");
  names.replace(names.find("\ndog\n"), 5, "\nhound\n");
  write_atomically(folder_ / "my.names", names);
  std::vector<std::string> named = words;
  named.insert(named.end(), {"--names", "my.names"});
  const ProgramResult own = run(named);
  EXPECT_EQ(own.code, 0) << own.err;
  EXPECT_NE(own.out.find("\"hound\""), std::string::npos) << own.out;
  EXPECT_EQ(own.out.find("\"dog\""), std::string::npos) << own.out;
}

TEST_F(DownloadedNetwork, IsTrainedFromByItsName) {
  ASSERT_EQ(run({"data", "synth", "shapes", "--train", "4", "--val", "2", "--size", "64"}).code, 0);
  expect(run({"train", "--model", (pretrained_ / "yolov3-tiny.cfg").string(), "--data", "shapes", "--weights",
              "yolov3-tiny", "--size", "64", "--batch", "4", "--epochs", "1", "--device", "cpu", "--out",
              "run", "--set", "train.micro_batch=4"}),
         0, {"Fetching yolov3-tiny.weights", "the prediction layers", "start fresh"});
  EXPECT_TRUE(fs::exists(folder_ / "run/weights/last.safetensors"));
  EXPECT_EQ(server_.requests().size(), 1u) << "a training needs the weights alone";
}

}  // namespace
}  // namespace brightnet::testing
