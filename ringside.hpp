// SPDX-License-Identifier: MIT
/// Everything a program that uses Ringside includes.
#pragma once

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/collectives/plan_io.hpp"
#include "ringside/collectives/plugin/plugin.hpp"
#include "ringside/collectives/prover.hpp"
#include "ringside/collectives/world.hpp"
