// The parts of every page (private to train/report/).
#pragma once

namespace brightnet {

extern const char* const page_style;
extern const char* const page_script;

}  // namespace brightnet
