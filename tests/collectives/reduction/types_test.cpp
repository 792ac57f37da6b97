// SPDX-License-Identifier: MIT
/// Names, sizes and order of element types and reduction operators.
#include "ringside/collectives/reduction/types.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ringside {
namespace {

TEST(ElementTypes, HaveTheirSizeAndNature) {
  const std::vector<std::size_t> bytes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  const std::vector<bool> floating = {false, false, false, false, false, false,
                                      true,  true,  true,  true,  true,  true};
  ASSERT_EQ(all_element_types.size(), bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(size_of(all_element_types[i]), bytes[i]) << to_string(all_element_types[i]);
    EXPECT_EQ(is_floating(all_element_types[i]), floating[i]) << to_string(all_element_types[i]);
  }
}

TEST(ElementTypes, AreListedInTheOrderAndWithTheNamesOfNcclTests) {
  const std::vector<std::string> names = {"int8",   "uint8",    "int32",  "uint32",
                                          "int64",  "uint64",   "half",   "float",
                                          "double", "bfloat16", "f8e4m3", "f8e5m2"};
  ASSERT_EQ(all_element_types.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(nccl_tests_name(all_element_types[i]), names[i]);
}

TEST(ReduceOps, AreListedInTheOrderAndWithTheNamesOfNcclTests) {
  const std::vector<std::string> names = {"sum", "prod", "max", "min", "avg", "mulsum"};
  ASSERT_EQ(all_reduce_ops.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(nccl_tests_name(all_reduce_ops[i]), names[i]);
}

TEST(Names, AreReadBackInBothForms) {
  for (ElementType type : all_element_types) {
    EXPECT_EQ(parse_element_type(to_string(type)), type);
    EXPECT_EQ(parse_element_type(nccl_tests_name(type)), type);
  }
  for (ReduceOp op : all_reduce_ops) {
    EXPECT_EQ(parse_reduce_op(to_string(op)), op);
    EXPECT_EQ(parse_reduce_op(nccl_tests_name(op)), op);
  }
}

TEST(Names, ThatDoNotExistAreNothing) {
  for (const char* name :
       {"", "float3", "float32 ", "Float", "all", "int16", "sum", "float8", "e4m3"})
    EXPECT_EQ(parse_element_type(name), std::nullopt) << name;
  for (const char* name : {"", "SUM", "sums", "premul", "float"})
    EXPECT_EQ(parse_reduce_op(name), std::nullopt) << name;
}

}  // namespace
}  // namespace ringside
