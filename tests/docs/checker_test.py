#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the test of the documents' commands sees in a document, and what it lets pass."""
import pathlib
import subprocess
import tempfile
import unittest

import commands_test
import compare
import documents
import shorten
import stage


def document(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.md"
        path.write_text(text, encoding="utf-8")
        return documents.read(path)


class Reading(unittest.TestCase):
    def test_finds_commands_in_indented_and_fenced_blocks(self):
        found = document("Text\n\n    ringside a\n    ringside b\n\n```sh\n$ ringside c \\\n  more\nshown\n```\n\n    int x;\n").commands
        self.assertEqual([each.text for each in found], ["ringside a", "ringside b", "ringside c more"])
        self.assertEqual([each.line for each in found], [3, 4, 7])
        self.assertEqual(found[2].output, ["shown"])

    def test_takes_a_comment_for_the_next_block_only(self):
        found = document("<!-- run: exit 1, output numbers, seconds 9 -->\n\n    $ ringside a\n\nText\n\n    $ ringside b\n").commands
        self.assertEqual(found[0].how, documents.How(exit=1, output="numbers", seconds=9))
        self.assertEqual(found[1].how, documents.How())

    def test_a_reason_may_have_commas(self):
        found = document("<!-- run: skip needs GPUs, and more -->\n\n    $ ringside a\n").commands
        self.assertEqual(found[0].how.skip, "needs GPUs, and more")

    def test_files_are_blocks(self):
        self.assertEqual(document("<!-- file: a/b.c -->\n\n    int x;\n\n      y;\n\nText\n").files, {"a/b.c": "int x;\n\n  y;\n"})

    def test_refuses_what_it_does_not_understand(self):
        for text in ("<!-- run: perhaps -->\n\n    $ ringside a\n", "<!-- run: exit 1 -->\n\n    int x;\n",
                     "    ringside a\n    rinside b\n"):
            with self.assertRaises(documents.Refused):
                document(text)


class Comparing(unittest.TestCase):
    def test_output_must_be_what_is_shown(self):
        self.assertEqual(compare.difference(["a", "b"], ["a", "b  ", ""], "exact"), "")
        self.assertIn("c", compare.difference(["a", "c"], ["a", "b"], "exact"))
        self.assertIn("b", compare.difference(["a"], ["a", "b"], "exact"))
        self.assertIn("a", compare.difference(["a"], ["x", "a"], "exact"))

    def test_dots_stand_for_any_lines_in_between(self):
        self.assertEqual(compare.difference(["a", "...", "c"], ["a", "b", "b", "c"], "exact"), "")
        self.assertEqual(compare.difference(["...", "b", "..."], ["a", "b", "c"], "exact"), "")
        self.assertEqual(compare.difference(["...", "b"], ["b", "b"], "exact"), "")
        self.assertNotEqual(compare.difference(["...", "c", "b", "..."], ["b", "c"], "exact"), "")
        self.assertNotEqual(compare.difference(["a", "..."], ["x", "a"], "exact"), "")

    def test_measured_numbers_may_differ_and_words_may_not(self):
        shown, printed = ["ring  1.5 us  3*"], ["ring   12 ms 1,000.5"]
        self.assertEqual(compare.difference(shown, printed, "numbers"), "")
        self.assertNotEqual(compare.difference(shown, ["rung   12 ms 1,000.5"], "numbers"), "")
        self.assertNotEqual(compare.difference(shown, printed, "exact"), "")


class Shortening(unittest.TestCase):
    def test_adds_what_is_not_there(self):
        self.assertEqual(shorten.shortened("ringside train --epochs 3 | x", True, False),
                         "ringside train --synthetic 64 --batch 32 --epochs 3 | x")
        self.assertEqual(shorten.shortened("ringside bench -e 64M --ranks 4  # all", False, False),
                         "ringside bench --iterations 1 --rounds 1 --begin 1K --end 1K --ranks 4  # all")
        self.assertIn("--iterations 1", shorten.shortened("mpirun -n 2 ringside --plugin ./a.so bench -a x", False, False))

    def test_keeps_the_steps_of_a_comparison_with_samples_of_its_own(self):
        self.assertEqual(shorten.shortened("ringside train --compare --model mlp --synthetic 9", False, False),
                         "ringside train --rounds 1 --compare --model mlp --synthetic 9")

    def test_keeps_the_sizes_of_shown_output(self):
        self.assertNotIn("1K", shorten.shortened("ringside bench -e 64M", False, True))

    def test_leaves_others_alone(self):
        for text in ("ringside train --on dgx1v", "ringside topo x", "ringside bench --compare old.json"):
            self.assertEqual(shorten.shortened(text, False, False), text)


class Judging(unittest.TestCase):
    def verdict(self, returncode, printed, how=documents.How(), output=()):
        setting = stage.Setting(pathlib.Path("/"), pathlib.Path("/"), pathlib.Path("/"), False, True, False)
        command = documents.Command("page.md", 1, "ringside x", how, list(output))
        return commands_test.judge(command, subprocess.CompletedProcess("", returncode, printed), setting, False).verdict

    def test_exit_codes_and_output_count(self):
        self.assertEqual(self.verdict(0, "a\n", output=["a"]), "as it is")
        self.assertEqual(self.verdict(0, "b\n", output=["a"]), "failed")
        self.assertEqual(self.verdict(1, ""), "failed")
        self.assertEqual(self.verdict(1, "", documents.How(exit=1)), "as it is")
        self.assertEqual(self.verdict(0, "", documents.How(exit=1)), "failed")

    def test_only_what_is_wanting_excuses(self):
        self.assertEqual(self.verdict(2, "ringside: this machine has no GPUs"), "refused")
        self.assertEqual(self.verdict(2, "ringside: unknown option"), "failed")


if __name__ == "__main__":
    unittest.main()
