// What the program loads when it starts: a command that takes a fifth of a second longer is felt at every press of TAB.
#include "tests/end_to_end/program.h"
#include "tests/environment.h"

namespace brightnet::testing {
namespace {

TEST(Start, LoadsNoCodecsBeforeAFileNeedsThem) {
  const std::filesystem::path folder = ::testing::TempDir();
  if (has_linked_codecs()) GTEST_SKIP() << "what is packed names all that it needs";
  Environment environment;
  environment.set("LD_TRACE_LOADED_OBJECTS", "1");  // the loader lists the libraries instead, as ldd does
  const ProgramResult libraries = Program(program().string(), {}, folder).wait();
  EXPECT_NE(libraries.out.find("libc.so"), std::string::npos) << libraries.out << libraries.err;
  EXPECT_EQ(libraries.out.find("libopencv_imgcodecs"), std::string::npos) << libraries.out;
  EXPECT_EQ(libraries.out.find("libopencv_videoio"), std::string::npos) << libraries.out;
}

}  // namespace
}  // namespace brightnet::testing
