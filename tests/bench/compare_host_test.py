#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/compare_host.py: which rounds count, which ratios come out, and what is said of the goals."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "compare_host.py"
sys.path.insert(0, str(SCRIPT.parent))
sys.dont_write_bytecode = True
import compare_host  # noqa: E402


def timing(times, probes=None, foreign=None):
    return {
        "round_times_us": times,
        "round_probes_ns": probes or [[60, 60]] * len(times),
        "round_foreign_cpu": foreign or [0] * len(times),
    }


def report(series, size=8, ranks=2, cores=2):
    """series: name -> timing in place."""
    return {
        "machine": {"version": "0", "source_commit": "c", "processor": "p", "allowed_cores": cores, "cores": cores,
                    "kernel": "k", "reduction_kernels": "r"},
        "collective": "all_reduce",
        "out_of_bounds": {"count": 0},
        "algorithms": [{"algorithm": name, "ranks": ranks, "library": name,
                        "counted_from_plan": {"ops": 4}} for name in series],
        "results": [{"algorithm": name, "ranks": ranks, "size": size, "in_place": one, "out_of_place": None}
                    for name, one in series.items()],
    }


def data_of(**reports):
    with tempfile.TemporaryDirectory() as folder:
        for name, one in reports.items():
            pathlib.Path(folder, name.replace("_", "-") + "-1.json").write_text(json.dumps(one))
        return compare_host.read_folder(folder)


def output_of(**reports):
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        for name, one in reports.items():
            pathlib.Path(folder, name.replace("_", "-") + "-1.json").write_text(json.dumps(one))
        assert compare_host.main([folder]) == 0
    return printed.getvalue()


def only(data, prefix="peers"):
    (entries,) = compare_host.pieces(data, prefix).values()
    return entries


class Ratios(unittest.TestCase):
    def test_same_round_ratios_and_not_ratios_of_medians(self):
        entries = only(data_of(peers=report({"auto": timing([1, 10, 2]), "gloo": timing([3, 30, 4])})))
        self.assertEqual(compare_host.ratio_of(entries, "auto", "gloo").value, 3)

    def test_blocks_whose_probes_disagree_are_left_out(self):
        moved = [[60, 60], [60, 60], [60, 60], [60, 270], [270, 270]]
        entries = only(data_of(peers=report({
            "auto": timing([1, 1, 1, 1, 1], moved), "gloo": timing([2, 2, 2, 50, 60])})))
        ratio = compare_host.ratio_of(entries, "auto", "gloo")
        self.assertEqual((ratio.value, ratio.pairs, ratio.mark), (2, 3, ""))

    def test_rounds_that_a_neighbour_shared_are_left_out(self):
        foreign = [0, 0.1, 0.15, 0.2, 3]
        entries = only(data_of(peers=report({
            "auto": timing([1] * 5, foreign=foreign), "gloo": timing([2, 2, 2, 9, 9], foreign=foreign)})))
        self.assertEqual(compare_host.ratio_of(entries, "auto", "gloo").value, 2)

    def test_too_few_quiet_rounds_are_marked(self):
        busy = only(data_of(peers=report({"auto": timing([1] * 3, foreign=[1] * 3), "gloo": timing([2] * 3)})))
        self.assertEqual(compare_host.ratio_of(busy, "auto", "gloo").mark, "!")
        moving = only(data_of(peers=report({"auto": timing([1] * 3, [[60, 270]] * 3), "gloo": timing([2] * 3)})))
        self.assertEqual(compare_host.ratio_of(moving, "auto", "gloo").mark, "?")

    def test_the_best_library_is_the_closest_over_all_pieces(self):
        data = data_of(peers_2_large_gloo=report({"auto": timing([1] * 3), "gloo": timing([9] * 3)}),
                       peers_2_large_mpich=report({"auto": timing([2] * 3), "mpich": timing([6] * 3)}))
        self.assertEqual(compare_host.best_library(only(data)).value, 3)


class Goals(unittest.TestCase):
    def test_a_kept_and_a_missed_goal(self):
        kept = output_of(peers=report({"auto": timing([1] * 3), "openmpi": timing([4] * 3)}))
        self.assertIn("H1  every size, best library / ours >= 1.2: holds, kept in 1 of 1 cells", kept)
        missed = output_of(peers=report({"auto": timing([4] * 3), "openmpi": timing([4] * 3)}))
        self.assertIn("best library / ours >= 1.2: MISSED, kept in 0 of 1 cells", missed)
        doubtful = output_of(peers=report({"auto": timing([4] * 3, foreign=[1] * 3), "openmpi": timing([4] * 3)}))
        self.assertIn("best library / ours >= 1.2: OPEN, kept in 0 of 1 cells", doubtful)

    def test_the_smallest_message_is_held_against_the_round_s_ping_pong(self):
        text = output_of(peers=report({"auto": timing([0.066] * 3), "openmpi": timing([1] * 3)}))
        self.assertIn("8 B, ours / one-way ping-pong <= 1.25: holds", text)
        self.assertIn("worst 1.10", text)

    def test_bare_loops_count_by_the_best_of_them(self):
        text = output_of(limit=report({"auto": timing([10] * 3), "baseline:stream": timing([20] * 3),
                                       "baseline:fused-nt": timing([8] * 3)}, size=2 << 20))
        self.assertIn("the best bare loop / ours >= 0.9: MISSED, kept in 0 of 1 cells; worst 0.800", text)

    def test_an_op_s_cost_is_the_difference_over_the_ops_of_a_rank(self):
        text = output_of(plans=report({"ring": timing([0.3] * 3), "baseline:ring": timing([0.2] * 3)}))
        self.assertIn("an op above the ring by hand <= 50 ns: holds, 50 ns", text)

    def test_what_was_not_measured_is_said(self):
        text = output_of(peers=report({"auto": timing([1] * 3), "openmpi": timing([4] * 3)}))
        self.assertIn("H3  32 MiB and up, tuned Open MPI / ours: not measured", text)


class Usage(unittest.TestCase):
    def test_nothing_to_read_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments in ([folder], [], [folder + "/none"]):
                complaint = io.StringIO()
                with contextlib.redirect_stderr(complaint):
                    self.assertEqual(compare_host.main(arguments), 2)
                self.assertTrue(complaint.getvalue())


if __name__ == "__main__":
    unittest.main()
