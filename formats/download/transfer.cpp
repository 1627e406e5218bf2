#include "formats/download/transfer.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"

namespace brightnet {
namespace {

constexpr long success = 200, partial_content = 206, range_not_satisfiable = 416;

/// Why an attempt ended; what a later one may mend is `transient`.
struct Failure {
  std::string what, remedy;
  bool transient = false;
  ExitCode code = ExitCode::input;
};

/// The file of the certificates to trust: the user's, or that of this system where libcurl was built for another one. Empty
/// where libcurl's own is there.
std::string certificates() {
  if (const char* named = std::getenv("SSL_CERT_FILE"); named && *named) return named;
  const char* built_in = curl_version_info(CURLVERSION_NOW)->cainfo;
  std::error_code failed;
  if (!built_in || std::filesystem::exists(built_in, failed)) return "";
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (std::filesystem::exists(file, failed)) return file;
  }
  return "";
}

/// One request, from the end of what the file has.
class Attempt {
 public:
  Attempt(const std::string& address, int descriptor, const TransferOptions& options)
      : address_(address),
        descriptor_(descriptor),
        options_(options),
        curl_(curl_easy_init(), curl_easy_cleanup) {
    BRIGHTNET_CHECK(curl_, "libcurl could not be started");
    done_ = begin_ = std::max<off_t>(0, ::lseek(descriptor, 0, SEEK_END));
  }

  /// Bytes that are there.
  uint64_t done() const { return done_; }

  /// Nothing when the whole file is there.
  std::optional<Failure> run() {
    const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl_.get(), option, value); };
    set(CURLOPT_URL, address_.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    // From https never to what anybody on the way can change.
    set(CURLOPT_REDIR_PROTOCOLS_STR, address_.starts_with("https:") ? "https" : "http,https");
    if (const std::string trusted = certificates(); !trusted.empty()) set(CURLOPT_CAINFO, trusted.c_str());
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, 10L);
    set(CURLOPT_USERAGENT, "brightnet");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, 20L);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(options_.silence)));
    set(CURLOPT_ERRORBUFFER, message_);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Attempt::take);
    set(CURLOPT_XFERINFODATA, this);
    set(CURLOPT_XFERINFOFUNCTION, &Attempt::tick);
    set(CURLOPT_NOPROGRESS, 0L);
    const std::string range = std::to_string(begin_) + '-';
    if (begin_ > 0) set(CURLOPT_RANGE, range.c_str());
    const CURLcode code = curl_easy_perform(curl_.get());
    if (failure_) return failure_;
    if (stopped_) return stopped();
    return code == CURLE_OK ? outcome_of_answer() : explain(code);
  }

 private:
  long status() const {
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  Failure stopped() const {
    return {fmt::format("the download was stopped with {} there", size_text(done_)),
            "The same command continues it.", false, ExitCode::interrupted};
  }

  static std::string size_text(uint64_t bytes) {
    return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
  }

  Failure other_length(uint64_t length) const {
    return {fmt::format("there are {} bytes at {}, and the file has {}", length, address_, options_.bytes),
            "It is not that file: the mirror may be incomplete, or a proxy answers in its place."};
  }

  Failure too_long() const {
    return {fmt::format("the file at {} is larger than {}, the most for its kind", address_,
                        size_text(options_.most)),
            "It is not that file: a proxy may answer in its place, or the mirror has another."};
  }

  /// The server's answer has begun. False when it is not the file.
  bool begin_body() {
    begun_ = true;
    const long code = status();
    if (code != success && code != partial_content) return true;  // an error page: outcome_of_answer()
    if (code == success && begin_ > 0) {
      // The server sends all of it.
      if (::ftruncate(descriptor_, 0) != 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0) return disk_failed();
      begin_ = done_ = 0;
    }
    curl_off_t length = -1;
    curl_easy_getinfo(curl_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length >= 0) all_ = done_ + length;
    if (all_ > options_.most) {
      failure_ = too_long();
      return false;
    }
    if (options_.bytes == 0 || all_ == 0 || all_ == options_.bytes) return true;
    failure_ = other_length(all_);
    return false;
  }

  bool disk_failed() {
    failure_ = Failure{fmt::format("it cannot be written: {}", std::strerror(errno)),
                       "Check that the disk is not full; the same command continues."};
    return false;
  }

  static size_t take(char* data, size_t, size_t bytes, void* self) {
    return static_cast<Attempt*>(self)->write(data, bytes) ? bytes : 0;
  }

  bool write(const char* data, size_t bytes) {
    if (!begun_ && !begin_body()) return false;
    const long code = status();
    if (code != success && code != partial_content) return true;
    if (options_.bytes > 0 && done_ + bytes > options_.bytes) {
      failure_ = other_length(done_ + bytes);
      return false;
    }
    if (done_ + bytes > options_.most) {
      failure_ = too_long();
      return false;
    }
    while (bytes > 0) {
      const ssize_t written = ::write(descriptor_, data, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return disk_failed();
      data += written;
      bytes -= written;
      done_ += written;
    }
    return true;
  }

  static int tick(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    auto& attempt = *static_cast<Attempt*>(self);
    const uint64_t all = attempt.options_.bytes > 0 ? attempt.options_.bytes : attempt.all_;
    if (attempt.options_.progress && !attempt.options_.progress(attempt.done_, all)) attempt.stopped_ = true;
    return attempt.stopped_ ? 1 : 0;
  }

  /// Judges an answer that has come to its end.
  std::optional<Failure> outcome_of_answer() {
    const long code = status();
    if (code == success || code == partial_content) {
      if (!begun_ && !begin_body()) return failure_;  // an empty file
      if (options_.bytes == 0 || done_ == options_.bytes) return std::nullopt;
      return Failure{fmt::format("the answer ended after {} of {} bytes", done_, options_.bytes), "", true};
    }
    if (code == range_not_satisfiable && begin_ > 0) {
      // Nothing comes after the bytes that are there: they are all of the file, or of another.
      if (begin_ == options_.bytes || options_.bytes == 0) return std::nullopt;
      if (::ftruncate(descriptor_, 0) != 0) disk_failed();
      return failure_ ? failure_ : Failure{"what was there is not the beginning of the file", "", true};
    }
    Failure failure{
        fmt::format("the server of {} answers with HTTP {}", address_, code),
        "Name a mirror with BRIGHTNET_MIRROR (brightnet download: --mirror), or fetch the file by hand and give its path with "
        "--weights."};
    if (code == 404 || code == 410)
      failure.what = fmt::format("there is no such file at {} (HTTP {})", address_, code);
    failure.transient = code == 429 || code >= 500;
    return failure;
  }

  Failure explain(CURLcode code) const {
    const std::string why = message_[0] ? message_ : curl_easy_strerror(code);
    Failure failure{
        fmt::format("{} could not be fetched: {}", address_, why),
        "Without a network, fetch the file on another machine and give its path with --weights, or name a "
        "mirror with BRIGHTNET_MIRROR (brightnet download: --mirror); https_proxy names a proxy."};
    switch (code) {
      case CURLE_RECV_ERROR:
      case CURLE_SEND_ERROR:
      case CURLE_PARTIAL_FILE:
      case CURLE_GOT_NOTHING:
      case CURLE_OPERATION_TIMEDOUT:
      case CURLE_HTTP2:
      case CURLE_HTTP2_STREAM: failure.transient = true; break;
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
        failure.remedy =
            "Install the system's certificates (ca-certificates), or name them with SSL_CERT_FILE.";
        break;
      default: break;
    }
    return failure;
  }

  const std::string& address_;
  const int descriptor_;
  const TransferOptions& options_;
  std::unique_ptr<CURL, void (*)(CURL*)> curl_;
  char message_[CURL_ERROR_SIZE] = {};
  uint64_t begin_ = 0, done_ = 0, all_ = 0;  // bytes: at the beginning, now, of the whole file
  bool begun_ = false, stopped_ = false;
  std::optional<Failure> failure_;
};

void start_libcurl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  BRIGHTNET_CHECK(code == CURLE_OK, "libcurl could not be started");
}

/// False when `progress` stops the wait.
bool wait(double seconds, const TransferOptions& options, int descriptor) {
  const double end = seconds_now() + seconds;
  while (seconds_now() < end) {
    const auto done = static_cast<uint64_t>(std::max<off_t>(0, ::lseek(descriptor, 0, SEEK_END)));
    if (options.progress && !options.progress(done, options.bytes)) return false;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.2, seconds)));
  }
  return true;
}

}  // namespace

void transfer(const std::string& address, int descriptor, const std::string& name,
              const TransferOptions& options) {
  start_libcurl();
  double pause = options.first_wait;
  uint64_t most = 0;
  for (int vain = 0;;) {
    Attempt attempt(address, descriptor, options);
    if (vain == 0) most = std::max(most, attempt.done());
    const auto failure = attempt.run();
    if (!failure) return;
    // More than ever before: a server that sends the same beginning again and again brings nothing.
    if (attempt.done() > most) {
      most = attempt.done();
      vain = 0;
      pause = options.first_wait;
    }
    if (!failure->transient || ++vain >= options.attempts)
      throw Error(failure->code, failure->what, name, failure->remedy);
    log::warn("{}: {}. Trying again.", name, failure->what);
    if (!wait(pause, options, descriptor))
      throw Error(ExitCode::interrupted, "the download was stopped", name, "The same command continues it.");
    pause *= 2;
  }
}

}  // namespace brightnet
