#!/bin/sh
# What cuobjdump says of a kernel that loads 16 bytes before its loop and, in the loop, three times 16 before it uses the
# first of these.
name=_ZN9brightnet4cuda12_GLOBAL__N_121apply_gradient_kernelI6__halfLi8EEEvNS0_12ChannelTilesENS1_17GradientArgumentsIT_EE
case "$1" in
  --dump-sass) cat <<ANSWER
		Function : $name
        /*0000*/                   LDG.E.128 R4, desc[UR6][R2.64] ;
        /*0010*/                   LDG.E.128.EF R8, desc[UR6][R2.64+0x10] ;
        /*0020*/               @P0 LDG.E.128 R12, desc[UR6][R2.64+0x20] ;
        /*0030*/                   LDG.E.128 R16, desc[UR6][R2.64+0x30] ;
        /*0040*/                   FADD R20, R4, R9 ;
        /*0050*/                   LDG.E.64 R22, desc[UR6][R2.64] ;
        /*0060*/                   FADD R20, R17, R22 ;
        /*0070*/               @P1 BRA 0x10 ;
        /*0080*/                   EXIT ;
ANSWER
  ;;
  *) cat <<ANSWER
 Function $name:
  REG:64 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:640 TEXTURE:0 SURFACE:0 SAMPLER:0
ANSWER
  ;;
esac
