// Marks what programs that link libbrightnet may use: everything else in it is hidden.
#pragma once

#define BRIGHTNET_PUBLIC __attribute__((visibility("default")))
