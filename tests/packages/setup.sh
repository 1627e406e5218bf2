#!/usr/bin/env bash
# setup.sh ROOT SCRATCH: where something of CUDA cannot be installed, scripts/setup says why and goes on. Python and CUDA are
# stand-ins here.
set -euo pipefail
root=$1 scratch=$2
fail() { echo "setup: $*" >&2; exit 1; }
[[ ! -e /usr/include/cudnn_frontend.h ]] || { echo "Skipped: cudnn-frontend is installed"; exit 77; }

rm -rf "$scratch"
mkdir -p "$scratch"/{tree/scripts,cuda/bin,bin}
cd "$scratch"
cp "$root/scripts/setup" tree/scripts/
printf '#!/bin/sh\n' >cuda/bin/nvcc
cp cuda/bin/nvcc cuda/bin/cuobjdump
cat >bin/python3 <<'PYTHON'
#!/bin/sh
case "$*" in
  *"pip install"*) echo "ERROR: [Errno 13] Permission denied: '/tree/.cuda.part'" >&2 ;;
esac
exit 1
PYTHON
chmod +x cuda/bin/* bin/python3
PATH=$scratch/bin:$scratch/cuda/bin:$PATH BRIGHTNET_SKIP_SETUP=1 tree/scripts/setup >said 2>&1 || fail "exit code $?: $(cat said)"
grep -q "Permission denied" said || fail "it does not say why: $(cat said)"
grep -q "pip could not install nvidia-cudnn-frontend.*without it the CUDA backend is not built" said || fail "it says something else: $(cat said)"
