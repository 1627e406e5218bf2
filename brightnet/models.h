// The models that come with brightnet.
#pragma once

#include <string>
#include <vector>

#include "brightnet/answer.h"
#include "brightnet/public.h"

namespace brightnet {

/// The names that Configuration::model takes, sorted. Throws InputError when the models are not found.
BRIGHTNET_PUBLIC std::vector<std::string> named_models();

/// The sizes, parameters and operations of the named models, and the weights that are published for them. Throws InputError
/// as named_models().
BRIGHTNET_PUBLIC Answer describe_models();

}  // namespace brightnet
