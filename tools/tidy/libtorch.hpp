// SPDX-License-Identifier: MIT
// Put before the sources that include libtorch 1.13 when Clang reads them as C++20. Its IValue
// holds std::vector<IValue> inside itself; as the members of libstdc++'s vector are constexpr in
// C++20, Clang looks into them before IValue is complete, and refuses. (gcc does not look.) For
// these sources the vector is therefore as it was in C++17.
#pragma once

#include <bits/stl_uninitialized.h>  // with its own declarations as they are

#include <iterator>
#include <memory>
#include <string>

#pragma push_macro("_GLIBCXX20_CONSTEXPR")
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#define __fill_a1 __fill_a1_of_bits  // is declared before, as constexpr
#include <vector>
#undef __fill_a1
#pragma pop_macro("_GLIBCXX20_CONSTEXPR")
