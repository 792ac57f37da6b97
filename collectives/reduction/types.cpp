// SPDX-License-Identifier: MIT
/// Names and sizes of element types and reduction operators.
#include "ringside/collectives/reduction/types.hpp"

#include <array>

namespace ringside {
namespace {

struct TypeFacts {
  ElementType type;
  std::size_t bytes;
  bool floating;
  std::string_view name;
  std::string_view nccl_tests_name;
};

constexpr std::array type_facts = {
    TypeFacts{ElementType::int8, 1, false, "int8", "int8"},
    TypeFacts{ElementType::uint8, 1, false, "uint8", "uint8"},
    TypeFacts{ElementType::int32, 4, false, "int32", "int32"},
    TypeFacts{ElementType::uint32, 4, false, "uint32", "uint32"},
    TypeFacts{ElementType::int64, 8, false, "int64", "int64"},
    TypeFacts{ElementType::uint64, 8, false, "uint64", "uint64"},
    TypeFacts{ElementType::float16, 2, true, "float16", "half"},
    TypeFacts{ElementType::float32, 4, true, "float32", "float"},
    TypeFacts{ElementType::float64, 8, true, "float64", "double"},
    TypeFacts{ElementType::bfloat16, 2, true, "bfloat16", "bfloat16"},
    TypeFacts{ElementType::float8_e4m3, 1, true, "float8_e4m3", "f8e4m3"},
    TypeFacts{ElementType::float8_e5m2, 1, true, "float8_e5m2", "f8e5m2"},
};

struct OpFacts {
  ReduceOp op;
  std::string_view name;
  std::string_view nccl_tests_name;
};

constexpr std::array op_facts = {
    OpFacts{ReduceOp::sum, "sum", "sum"}, OpFacts{ReduceOp::prod, "prod", "prod"},
    OpFacts{ReduceOp::max, "max", "max"}, OpFacts{ReduceOp::min, "min", "min"},
    OpFacts{ReduceOp::avg, "avg", "avg"}, OpFacts{ReduceOp::premul_sum, "premul_sum", "mulsum"},
};

/// The tables are indexed by the enumerators, so row i must describe the i-th of them.
constexpr bool tables_in_order() {
  for (std::size_t i = 0; i < type_facts.size(); ++i) {
    if (type_facts[i].type != all_element_types[i] ||
        static_cast<std::size_t>(type_facts[i].type) != i)
      return false;
  }
  for (std::size_t i = 0; i < op_facts.size(); ++i) {
    if (op_facts[i].op != all_reduce_ops[i] || static_cast<std::size_t>(op_facts[i].op) != i)
      return false;
  }
  return type_facts.size() == all_element_types.size() && op_facts.size() == all_reduce_ops.size();
}
static_assert(tables_in_order());

constexpr const TypeFacts& facts(ElementType type) {
  return type_facts[static_cast<std::size_t>(type)];
}

constexpr const OpFacts& facts(ReduceOp op) { return op_facts[static_cast<std::size_t>(op)]; }

}  // namespace

std::size_t size_of(ElementType type) { return facts(type).bytes; }

bool is_floating(ElementType type) { return facts(type).floating; }

std::string_view to_string(ElementType type) { return facts(type).name; }

std::string_view to_string(ReduceOp op) { return facts(op).name; }

std::string_view nccl_tests_name(ElementType type) { return facts(type).nccl_tests_name; }

std::string_view nccl_tests_name(ReduceOp op) { return facts(op).nccl_tests_name; }

std::optional<ElementType> parse_element_type(std::string_view name) {
  for (const TypeFacts& row : type_facts) {
    if (name == row.name || name == row.nccl_tests_name) return row.type;
  }
  return std::nullopt;
}

std::optional<ReduceOp> parse_reduce_op(std::string_view name) {
  for (const OpFacts& row : op_facts) {
    if (name == row.name || name == row.nccl_tests_name) return row.op;
  }
  return std::nullopt;
}

}  // namespace ringside
