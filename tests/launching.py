"""Programs in several processes of this machine, as `torchrun` starts them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def torchrun(*words, processes=2, cwd=None):
    """Run a program in several processes, which find the library and the tests; return what they printed."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    done = subprocess.run(
        [*command, *map(str, words)],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
