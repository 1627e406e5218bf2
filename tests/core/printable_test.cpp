#include "core/printable.h"

#include <sstream>

#include <gtest/gtest.h>

#include "core/files.h"
#include "core/log.h"
#include "core/progress_line.h"
#include "tests/logged.h"

namespace brightnet {
namespace {

TEST(Printable, ControlCharactersBecomeWhatTheyAreCalled) {
  EXPECT_EQ(printable("\x1b]0;title\x07 a\rb\x7f"), "\\u001b]0;title\\u0007 a\\u000db\\u007f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\u009b31m")
      << "the same of one byte in other encodings";
  EXPECT_EQ(printable("photo\u202egnp.exe \u2067a\u2069"), "photo\\u202egnp.exe \\u2067a\\u2069");
  const std::string harmless = "Größe\t猫 \xC2\xA0 \xE2\x80\xA6\n\xC2";
  EXPECT_EQ(printable(harmless), harmless);
}

TEST(Printable, AStreamIsMadePrintableWhereverItsWritesAreDivided) {
  std::ostringstream out;
  {
    const PrintableOutput printing(out);
    out << "a\x1b[2J" << '\xC2' << std::flush;
    out << '\x9B' << "é" << std::string(100000, 'x') << "\xE2" << std::flush << "\x80" << std::flush
        << "\xAE\xE2\x80" << std::flush << "\xA6\xC2";
  }
  EXPECT_EQ(out.str(), "a\\u001b[2J\\u009bé" + std::string(100000, 'x') + "\\u202e…\xC2");
  out << '\x1b';
  EXPECT_EQ(out.str().back(), '\x1b') << "afterwards as before";
}

TEST(Printable, WhatIsLoggedIs) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "printable.log";
  std::filesystem::remove(file);
  const testing::Logged logged;
  log_to_file(file);
  log::warn("{} is no image", "cat\x1b[31m.jpg");
  end_log_file();
  EXPECT_NE(logged.text().find("cat\\u001b[31m.jpg is no image"), std::string::npos) << logged.text();
  EXPECT_EQ(read_file(file).find('\x1b'), std::string::npos);
}

TEST(Printable, TheFirstAndTheLastOfEachKindAreControlCharactersAndTheirNeighboursAreNot) {
  EXPECT_EQ(printable("\x01\x1f\xC2\x80\xC2\x9F"), "\\u0001\\u001f\\u0080\\u009f");
  EXPECT_EQ(printable("\u202a\u202b\u202c\u202d\u2066\u2068"), "\\u202a\\u202b\\u202c\\u202d\\u2066\\u2068");
  const std::string harmless = " ~\u00a0\u2029\u202f\u2065\u206a";
  EXPECT_EQ(printable(harmless), harmless);
}

TEST(Printable, AShellReadsAQuotedWordAsItIs) {
  EXPECT_EQ(shell_quoted("runs/é-2/best.safetensors"), "runs/é-2/best.safetensors");
  EXPECT_EQ(shell_quoted("my runs/a"), "'my runs/a'");
  EXPECT_EQ(shell_quoted("it's $5"), "'it'\\''s $5'");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("--size=96"), "--size=96");
  EXPECT_EQ(shell_path("runs/a"), "runs/a");
  EXPECT_EQ(shell_path("-st"), "./-st") << "which is no option";
  EXPECT_EQ(shell_path("--out it"), "'./--out it'");
  EXPECT_EQ(shell_path("/-x"), "/-x");
}

}  // namespace
}  // namespace brightnet
