#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each rule of tools/check_sources.py finds what breaks it, and a clean tree passes."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_sources.py"
LICENCE = "// SPDX-License-Identifier: MIT\n"
HEADER = LICENCE + "/// What it is for.\n#pragma once\n"

CLEAN = {
    "base/a.hpp": HEADER + '#include <vector>\n#include "ringside/base/b.hpp"\n',
    "base/b.hpp": HEADER + '// getenv("X") in a comment,  const char* t = "getenv(1)";\n',
    "base/a.cpp": LICENCE + '#include "ringside/base/a.hpp"\n',
    "base/options.cpp": LICENCE + '/// Options.\nconst char* v = std::getenv("X");\n',
    "collectives/c.hpp": HEADER + '#include "ringside/base/a.hpp"\nstruct C { void abort(); };\n',
    "trainer/t.hpp": HEADER + '#include "ringside/collectives/c.hpp"\n',
    "bench/s.hpp": HEADER + '#include "ringside/collectives/c.hpp"\n#include "ringside/bench/made.hpp"\n',
    "bench/CMakeLists.txt": "# SPDX-License-Identifier: MIT\nadd_custom_command(OUTPUT made.hpp)\n",
    "tools/cli/m.cpp": LICENCE + '/// Main.\n#include "ringside/bench/s.hpp"\nint f() { std::exit(2); }\n',
    "tests/base/t.cpp": LICENCE + '/// Test.\n#include "helper.hpp"\n#include "ringside/bench/s.hpp"\n',
    "tests/base/helper.hpp": HEADER,
    "ringside.hpp": HEADER + '#include "ringside/collectives/c.hpp"\n',
    "x.sh": "#!/bin/sh\n# SPDX-License-Identifier: MIT\necho build/release/home/x\n",
    "README.md": "See /usr/lib and build/" + "work/x.\n",
}
ROOT_PATH = "/" + "home/somebody/x"  # in two pieces: this file is checked as well

BROKEN = {
    "base must not include ringside/collectives/c.hpp": ("base/x.cpp", LICENCE + '/// X.\n#include "ringside/collectives/c.hpp"\n'),
    "collectives must not include ringside/bench/s.hpp": ("collectives/x.cpp", LICENCE + "/// X.\n#include <ringside/bench/s.hpp>\n"),
    "bench must not include ringside/trainer/t.hpp": ("bench/x.cpp", LICENCE + '/// X.\n#include "ringside/trainer/t.hpp"\n'),
    "collectives must not include ringside/ringside.hpp": ("collectives/x.cpp", LICENCE + '/// X.\n#include "ringside/ringside.hpp"\n'),
    "ringside/base/gone.hpp does not exist": ("base/x.cpp", LICENCE + '/// X.\n#include "ringside/base/gone.hpp"\n'),
    "own headers are included as": ("base/x.cpp", LICENCE + '/// X.\n#include "a.hpp"\n'),
    "no #pragma once": ("base/x.hpp", LICENCE + "/// X.\n"),
    "only base/options.cpp reads the environment": ("base/x.cpp", LICENCE + '/// X.\nauto v = std::getenv("A");\n'),
    "the library must not end the process": ("base/x.cpp", LICENCE + "/// X.\nvoid f() { std::abort(); }\n"),
    "the first line is not": ("base/x.cpp", "// Copyright\n/// X.\n"),
    "does not start by saying": ("base/x.cpp", LICENCE + "int x;\n"),
    "names a path": ("notes.md", f"see {ROOT_PATH}\n"),
    "not UTF-8": ("notes.md", "\udcff"),
}


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="surrogateescape")
        return subprocess.run([sys.executable, CHECKER, folder], capture_output=True, text=True, check=False)


class CheckSources(unittest.TestCase):
    def test_clean_tree_passes(self):
        result = check(CLEAN)
        self.assertEqual((result.returncode, result.stdout), (0, f"{len(CLEAN)} files, nothing found\n"))

    def test_each_rule_finds_exactly_what_breaks_it(self):
        for rule, (name, text) in BROKEN.items():
            with self.subTest(rule):
                result = check({**CLEAN, name: text})
                self.assertEqual(result.returncode, 1)
                self.assertEqual(len(result.stdout.splitlines()), 1, result.stdout)
                self.assertTrue(result.stdout.startswith(f"{name}:"), result.stdout)
                self.assertIn(rule, result.stdout)


if __name__ == "__main__":
    unittest.main()
