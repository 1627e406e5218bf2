#!/bin/sh
# What cuobjdump --dump-resource-usage says of a kernel with more registers than four blocks of 256 threads leave.
cat <<ANSWER
Fatbin elf code:
================
arch = sm_90
Resource usage:
 Common:
  GLOBAL:0
 Function _ZN9brightnet4cuda12_GLOBAL__N_121apply_gradient_kernelI6__halfLi8EEEvNS0_12ChannelTilesENS1_17GradientArgumentsIT_EE:
  REG:72 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:640 TEXTURE:0 SURFACE:0 SAMPLER:0
ANSWER
