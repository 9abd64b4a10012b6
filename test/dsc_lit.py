"""What the suites share: where programs are found, substitutions, and the features a test may ask for.

Features for REQUIRES and UNSUPPORTED: `fuzzers`, `sanitized`, `bible` (the program that prints the King James text), `chromium`,
`fortunes` (its texts), `mpi` (ranks as processes, %mpirun), `strace` (and that it may trace here), `mount` (a tmpfs in a namespace of one's own), and one
`cpu-<flag>` for each instruction set extension of this machine, named as in /proc/cpuinfo.
"""
import os
import shutil
import subprocess


def share_kernels(config):
    """A folder whose `dsc` keeps machine code from one test to the next, within one run of lit: most tests compile the same
    few kernels, and compiling is nearly all of their time. %build/bin/dsc is the program without it."""
    folder = os.path.join(config.dsc_build_root, "test", "shared-kernels")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    script = os.path.join(folder, "dsc")
    with open(script, "w") as f:
        f.write(f'#!/bin/sh\nexec {config.dsc_build_root}/bin/dsc --kernel-cache={folder} "$@"\n')
    os.chmod(script, 0o755)
    return folder


def setup(config):
    bin_dir = os.path.join(config.dsc_build_root, "bin")
    config.environment["PATH"] = os.pathsep.join(
        [share_kernels(config), bin_dir, config.llvm_bin, config.environment.get("PATH", os.environ.get("PATH", ""))])
    # The same everywhere, so that expected texts hold under any user's settings.
    config.environment["LC_ALL"] = "C.UTF-8"
    config.environment["TZ"] = "UTC"
    config.substitutions += [
        ("%root", config.dsc_source_root),
        ("%build", config.dsc_build_root),
        ("%version", config.dsc_version),
        ("%python", "python3"),
        ("%mpirun", "mpirun --allow-run-as-root --oversubscribe"),
    ]
    if os.path.exists(os.path.join(config.dsc_build_root, "lib", "dsc-mpi.so")) and shutil.which("mpirun"):
        config.available_features.add("mpi")
    if config.fuzzers:
        config.available_features.add("fuzzers")
    if config.sanitized:
        config.available_features.add("sanitized")
    for program in ("bible", "chromium"):
        if shutil.which(program):
            config.available_features.add(program)
    if os.path.isdir("/usr/share/games/fortunes"):
        config.available_features.add("fortunes")
    if shutil.which("strace") and not subprocess.run(
            ["strace", "-f", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode:
        config.available_features.add("strace")
    if not subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], stderr=subprocess.DEVNULL).returncode:
        config.available_features.add("mount")
    try:
        with open("/proc/cpuinfo") as f:
            flags = next((line for line in f if line.startswith("flags")), "").split(":")[-1].split()
        config.available_features.update("cpu-" + flag for flag in flags)
    except OSError:
        pass
