"""GoogleTest programs of the build; lit runs each test case on its own."""
import os
import sys

import lit.formats

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(config.dsc_source_root, "test"))
import dsc_lit

config.name = "dsc-unit"
config.test_format = lit.formats.GoogleTest(".", "Tests")
config.suffixes = []
config.test_source_root = config.test_exec_root = os.path.join(config.dsc_build_root, "test", "Unit")
dsc_lit.setup(config)
