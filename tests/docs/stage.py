# SPDX-License-Identifier: MIT
"""The folder that a document's commands run in, and their environment."""
import dataclasses
import os
import pathlib
import shutil
import subprocess

# What documents call by these names is what a reader pasted: here posts of real machines and a made-up story.
STORY = "tests/data/diagnose/stories/1-4x4090-without-p2p/"
PASTED = {
    "pasted.txt": "tests/data/corpus/topo/022-4xa40-pxb-pix-sys-niclegend-oneline.txt",
    "topo.txt": STORY + "topo.txt",
    "machine.txt": STORY + "topo.txt",
    "box.txt": STORY + "topo.txt",
    "nccl.log": STORY + "nccl.log",
    "p2p.txt": STORY + "p2pBandwidthLatencyTest.txt",
    "all_reduce_perf.txt": STORY + "all_reduce_perf.txt",
    "topo.xml": "tests/data/corpus/topo/086-xml-aws-p4d-24xl.txt",
}
GPUS_CSV = "index, name, pci.bus_id, pcie.link.gen.max, pcie.link.width.max\n" + "".join(
    f"{gpu}, NVIDIA GeForce RTX 4090, 00000000:{gpu + 1:02X}:00.0, 4, 16\n" for gpu in range(4))
NVIDIA_SMI = """#!/bin/sh
[ "$1 $2" = "topo -m" ] || { echo "this is a stand-in for nvidia-smi: topo -m only" >&2; exit 9; }
sed -n '/topo -m/,/^$/p' topo.txt
"""
# Not of the source tree: what a build or a run leaves there.
HIDDEN = {"build", ".git", ".cache", "README.md"}


@dataclasses.dataclass(frozen=True)
class Setting:
    root: pathlib.Path
    program: pathlib.Path
    build: pathlib.Path
    full: bool
    mpirun: bool
    gpus: bool


def setting_of(root, program, full):
    smi = shutil.which("nvidia-smi")
    gpus = smi is not None and subprocess.run([smi, "-L"], capture_output=True, check=False).returncode == 0
    return Setting(root, program, program.parents[1], full, shutil.which("mpirun") is not None, gpus)


def furnish(folder, setting, document):
    """A clone with a build in build/release, as links; the files that readers have; those that the document shows."""
    for entry in setting.root.iterdir():
        if entry.name not in HIDDEN:
            (folder / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    (folder / "build" / "release").symlink_to(setting.build)
    for name, source in PASTED.items():
        shutil.copy(setting.root / source, folder / name)
    (folder / "gpus.csv").write_text(GPUS_CSV, encoding="utf-8")
    stand_in = folder / "stand_ins" / "nvidia-smi"
    stand_in.parent.mkdir()
    if not setting.gpus:
        stand_in.write_text(NVIDIA_SMI, encoding="utf-8")
        stand_in.chmod(0o755)
    for name, text in document.files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists() or not place.resolve().is_relative_to(folder.resolve()):
            raise FileExistsError(f"{document.name}: the file {name} would be one of the tree's")
        place.write_text(text, encoding="utf-8")


def environment(setting, folder, on_gpus):
    settings = {name: value for name, value in os.environ.items() if not name.startswith("RINGSIDE_")}
    settings["PATH"] = f"{setting.program.parent}:{folder / 'stand_ins'}:{settings['PATH']}"
    # Open MPI's words for "more processes than cores" and "as root", which a container is.
    settings.update(OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if on_gpus and not setting.gpus:
        double = [setting.build / "tests" / "fakecuda", setting.build / "tests" / "fakenccl" / "usual"]
        settings["LD_LIBRARY_PATH"] = ":".join(map(str, double))
    return settings
