// A small HTTP server on this machine, for tests of downloads: it can break off, redirect, refuse and lie.
#pragma once

#include <atomic>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace brightnet::testing {

class HttpServer {
 public:
  struct Page {
    std::string body = {};
    int status = 200;
    std::string location = {};  ///< of a redirection
    bool ranges = true;         ///< whether it can send the rest alone
    bool length = true;         ///< whether it says how long the body is
    int unavailable = 0;        ///< requests that it answers with `refusal` before it is willing
    int refusal = 503;
    int breaks = 0;          ///< answers that it breaks off…
    size_t break_after = 0;  ///< …after this many bytes of the body
    int pause_ms = 0;        ///< before each 64 KiB
  };

  HttpServer() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof any;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&any), length), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &length), 0);
    port_ = ntohs(any.sin_port);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~HttpServer() {
    stop_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    ::close(listener_);
    for (std::thread& thread : answering_) thread.join();
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string address(const std::string& path = "") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  void serve(const std::string& path, Page page) {
    const std::lock_guard lock(mutex_);
    pages_[path] = std::move(page);
  }
  /// The requests so far: "/a.weights", "/a.weights 1000-".
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void accept_all() {
    while (!stop_) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      answering_.emplace_back([this, connection] {
        answer(connection);
        ::close(connection);
      });
    }
  }

  static bool send_all(int connection, const std::string& bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t now = ::send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return false;
      sent += static_cast<size_t>(now);
    }
    return true;
  }

  /// A reset, which a proxy or a lost line looks like.
  static void reset(int connection) {
    const linger at_once{1, 0};
    ::setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

  void answer(int connection) {
    std::string request;
    char buffer[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
      if (got <= 0) return;
      request.append(buffer, static_cast<size_t>(got));
    }
    const size_t from = request.find(' ') + 1;
    const std::string path = request.substr(from, request.find(' ', from) - from);
    size_t begin = 0;
    const size_t range = request.find("Range: bytes=");
    if (range != std::string::npos) begin = std::stoull(request.substr(range + std::strlen("Range: bytes=")));
    Page page{.body = "there is no such page\n", .status = 404};
    bool breaks = false;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(range == std::string::npos ? path : path + ' ' + std::to_string(begin) + '-');
      if (const auto found = pages_.find(path); found != pages_.end()) {
        page = found->second;
        if (found->second.unavailable-- > 0) page = {.body = "come again\n", .status = page.refusal};
        breaks = page.status == 200 && found->second.breaks-- > 0;
      }
    }
    send_page(connection, page, page.status == 200 ? begin : 0, range != std::string::npos, breaks);
  }

  void send_page(int connection, const Page& page, size_t begin, bool ranged, bool breaks) {
    const size_t all = page.body.size();
    int status = page.status;
    std::string header;
    std::string body = page.body;
    if (ranged && page.ranges && status == 200) {
      status = begin < all ? 206 : 416;
      header += "Content-Range: bytes " +
                (begin < all ? std::to_string(begin) + '-' + std::to_string(all - 1) : std::string("*")) +
                '/' + std::to_string(all) + "\r\n";
      body = begin < all ? page.body.substr(begin) : "beyond the end\n";
    }
    if (!page.location.empty()) header += "Location: " + page.location + "\r\n";
    if (page.length) header += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    if (!send_all(connection,
                  "HTTP/1.1 " + std::to_string(status) + " X\r\nConnection: close\r\n" + header + "\r\n"))
      return;
    if (breaks && body.size() > page.break_after) body.resize(page.break_after);
    constexpr size_t step = 1 << 16;
    for (size_t at = 0; at < body.size() && !stop_; at += step) {
      if (page.pause_ms > 0) ::usleep(static_cast<useconds_t>(1000 * page.pause_ms));
      if (!send_all(connection, body.substr(at, step))) return;
    }
    if (!breaks) return;
    ::usleep(50000);  // for what was sent to arrive: a reset drops it
    reset(connection);
  }

  int listener_ = -1, port_ = 0;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::map<std::string, Page> pages_;
  std::vector<std::string> requests_;
  std::list<std::thread> answering_;  // of the accepting thread
  std::thread accepting_;
};

}  // namespace brightnet::testing
