"""Main suite: commands and FileCheck patterns in .mlir and .test files. Folders mirror lib/."""
import os
import sys

import lit.formats

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(config.dsc_source_root, "test"))
import dsc_lit

config.name = "dsc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Unit", "examples", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.dsc_source_root, "test")
config.test_exec_root = os.path.join(config.dsc_build_root, "test")
dsc_lit.setup(config)
