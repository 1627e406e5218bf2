// Opens pages in a headless Chromium at two widths and looks at them as a reader's browser would.
#pragma once

#include <cstdlib>
#include <optional>

#include "core/json.h"
#include "tests/end_to_end/program.h"

namespace brightnet::testing {

/// Chromium's command; none where it is not installed.
inline std::optional<std::string> browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (std::system((std::string("command -v ") + name + " >/dev/null 2>&1").c_str()) == 0) return name;
  }
  return std::nullopt;
}

/// Runs before the page's own script.
inline constexpr const char* before_page = R"js(<script>
window.problems = [];
window.addEventListener("error", e => problems.push(String(e.message || "a resource did not load")), true);
for (const kind of ["error", "warn"]) console[kind] = (...words) => problems.push(words.join(" "));
</script>)js";

/// Runs after it: waits for images and layout, and reports what a reader would see.
inline constexpr const char* after_page = R"js(<script>
setTimeout(() => {
  let smallest = 99, texts = 0;
  for (const d of document.querySelectorAll("details")) d.open = true;
  const walk = document.createTreeWalker(document.getElementById("page"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    if (!walk.currentNode.data.trim()) continue;
    ++texts;
    smallest = Math.min(smallest, parseFloat(getComputedStyle(walk.currentNode.parentElement).fontSize));
  }
  const plot = document.querySelector("svg"), tip = document.querySelector(".tip");
  if (plot) {
    const r = plot.getBoundingClientRect();
    plot.dispatchEvent(new PointerEvent("pointermove", {clientX: r.left + r.width / 2, clientY: r.top + 50}));
  }
  const styled = document.querySelector("style").textContent.replace(/@[^{]*\{/g, "");
  for (const [, declarations] of styled.matchAll(/\{([^{}]*)\}/g)) {
    for (const one of declarations.split(";").filter(d => d.trim())) {
      const colon = one.indexOf(":");
      if (!CSS.supports(one.slice(0, colon).trim(), one.slice(colon + 1).trim())) problems.push("style: " + one);
    }
  }
  let cut = 0;
  for (const th of document.querySelectorAll(".matrix th")) {
    for (const word of th.textContent.matchAll(/(?<!\S)\S{1,12}(?!\S)/g)) {  // longer ones have to break
      const range = document.createRange();
      range.setStart(th.firstChild, word.index);
      range.setEnd(th.firstChild, word.index + word[0].length);
      if (range.getClientRects().length > 1) ++cut;
    }
  }
  const images = [...document.images];
  parent.postMessage({problems, cut, smallest, texts, images: images.length, tip: tip ? tip.textContent : "",
    broken: images.filter(i => !i.complete || !i.naturalWidth).length, plots: document.querySelectorAll("svg path").length,
    width: innerWidth, scroll: document.documentElement.scrollWidth, alerts: window.alerts || 0,
    markup: document.querySelectorAll("#page script, #page iframe, #page [onerror]").length}, "*");
}, 400);
</script>)js";

/// What each page shows at 400 and at 1600 pixels: an object each, in this order.
inline Json look_at(const std::vector<std::filesystem::path>& pages, const std::filesystem::path& folder) {
  std::string frames;
  int number = 0;
  for (const auto& page : pages) {
    std::string html = read_file(page);
    html.insert(html.find("<style>"), before_page);
    html.insert(html.rfind("</body>"), after_page);
    const std::string copy = "looked_at_" + std::to_string(number++) + ".html";
    write_atomically(folder / copy, html);
    for (const char* width : {"400", "1600"})
      frames += std::string("<iframe width=") + width + " height=900 src=" + copy + "></iframe>\n";
  }
  write_atomically(folder / "frames.html", "<body><pre id=seen></pre>" + frames + R"js(<script>
const frames_ = [...document.querySelectorAll("iframe")], seen = frames_.map(() => null);
addEventListener("message", e => {
  seen[frames_.findIndex(f => f.contentWindow === e.source)] = e.data;
  const escaped = c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0");
  document.getElementById("seen").textContent =
    "SEEN" + JSON.stringify(seen).replace(/[<>&\u0080-\uffff]/g, escaped) + "END";
});
</script>)js");
  const ProgramResult result =
      Program(*browser(),
              {"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
               "--user-data-dir=" + (folder / "profile").string(), "--window-size=1700,1000",
               "--virtual-time-budget=8000", "--dump-dom", "file://" + (folder / "frames.html").string()},
              folder)
          .wait();
  const size_t begin = result.out.find("SEEN"), end = result.out.find("END", begin);
  if (begin == std::string::npos || end == std::string::npos)
    return {{"said", result.err + result.out.substr(0, 2000)}};
  return Json::parse(result.out.substr(begin + 4, end - begin - 4), nullptr, false);
}

}  // namespace brightnet::testing
