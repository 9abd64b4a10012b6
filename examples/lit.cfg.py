"""One run.test for each example: what its README says must work."""
import os
import sys

import lit.formats

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(config.dsc_source_root, "test"))
import dsc_lit

config.name = "dsc-examples"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test"]
config.excludes = ["out"]
config.test_source_root = os.path.join(config.dsc_source_root, "examples")
config.test_exec_root = os.path.join(config.dsc_build_root, "test", "examples")
dsc_lit.setup(config)
