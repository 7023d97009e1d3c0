"""Arithmetic on whole rows, compiled: one branch per instruction.

Written by `generate`, from its NAMES and the table of instructions; do not edit.
"""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import within
from simlayout.machine.arithmetic.compiling import compile_scalar
from simlayout.machine.arithmetic.primitives import bits_f32, bits_f64, float_f32, float_f64
from simlayout.machine.ptx.opcodes.lanes import lane_op

U64, I64 = np.uint64, np.int64
bits_f32, bits_f64, float_f32, float_f64 = map(compile_scalar, (bits_f32, bits_f64, float_f32, float_f64))


def _compiled(opcode, *modifiers):
    return compile_scalar(lane_op(opcode, modifiers).function)


f0 = _compiled("add", "u32")
f1 = _compiled("add", "s32")
f2 = _compiled("sub", "u32")
f3 = _compiled("sub", "s32")
f4 = _compiled("mul", "lo", "u32")
f5 = _compiled("mul", "lo", "s32")
f6 = _compiled("mad", "wide", "u32")
f7 = _compiled("mad", "wide", "s32")
f8 = _compiled("mul", "hi", "u32")
f9 = _compiled("mul", "hi", "s32")
f10 = _compiled("mul", "hi", "u64")
f11 = _compiled("mul", "hi", "s64")
f12 = _compiled("div", "u32")
f13 = _compiled("div", "s32")
f14 = _compiled("rem", "u32")
f15 = _compiled("rem", "s32")
f16 = _compiled("min", "u32")
f17 = _compiled("min", "s32")
f18 = _compiled("max", "u32")
f19 = _compiled("max", "s32")
f20 = _compiled("abs", "s32")
f21 = _compiled("neg", "s32")
f22 = _compiled("and", "b32")
f23 = _compiled("or", "b32")
f24 = _compiled("xor", "b32")
f25 = _compiled("not", "b32")
f26 = _compiled("not", "pred")
f27 = _compiled("popc", "b32")
f28 = _compiled("clz", "b32")
f29 = _compiled("clz", "b64")
f30 = _compiled("brev", "b32")
f31 = _compiled("brev", "b64")
f32 = _compiled("bfe", "u32")
f33 = _compiled("bfe", "s32")
f34 = _compiled("bfe", "u64")
f35 = _compiled("bfe", "s64")
f36 = _compiled("bfi", "b32")
f37 = _compiled("bfi", "b64")
f38 = _compiled("prmt", "b32")
f39 = _compiled("lop3", "b32")
f40 = _compiled("shl", "b16")
f41 = _compiled("shl", "b32")
f42 = _compiled("shl", "b64")
f43 = _compiled("shr", "u16")
f44 = _compiled("shr", "s16")
f45 = _compiled("shf", "l", "wrap", "b32")
f46 = _compiled("shf", "l", "clamp", "b32")
f47 = _compiled("shf", "r", "wrap", "b32")
f48 = _compiled("shf", "r", "clamp", "b32")
f49 = _compiled("selp", "b32")
f50 = _compiled("setp", "eq", "u32")
f51 = _compiled("setp", "eq", "s32")
f52 = _compiled("setp", "eq", "f32")
f53 = _compiled("setp", "eq", "f64")
f54 = _compiled("setp", "ne", "u32")
f55 = _compiled("setp", "ne", "s32")
f56 = _compiled("setp", "ne", "f32")
f57 = _compiled("setp", "ne", "f64")
f58 = _compiled("setp", "lt", "u32")
f59 = _compiled("setp", "lt", "s32")
f60 = _compiled("setp", "lt", "f32")
f61 = _compiled("setp", "lt", "f64")
f62 = _compiled("setp", "le", "u32")
f63 = _compiled("setp", "le", "s32")
f64 = _compiled("setp", "le", "f32")
f65 = _compiled("setp", "le", "f64")
f66 = _compiled("setp", "gt", "u32")
f67 = _compiled("setp", "gt", "s32")
f68 = _compiled("setp", "gt", "f32")
f69 = _compiled("setp", "gt", "f64")
f70 = _compiled("setp", "ge", "u32")
f71 = _compiled("setp", "ge", "s32")
f72 = _compiled("setp", "ge", "f32")
f73 = _compiled("setp", "ge", "f64")
f74 = _compiled("setp", "equ", "f32")
f75 = _compiled("setp", "equ", "f64")
f76 = _compiled("setp", "neu", "f32")
f77 = _compiled("setp", "neu", "f64")
f78 = _compiled("setp", "ltu", "f32")
f79 = _compiled("setp", "ltu", "f64")
f80 = _compiled("setp", "leu", "f32")
f81 = _compiled("setp", "leu", "f64")
f82 = _compiled("setp", "gtu", "f32")
f83 = _compiled("setp", "gtu", "f64")
f84 = _compiled("setp", "geu", "f32")
f85 = _compiled("setp", "geu", "f64")
f86 = _compiled("setp", "num", "f32")
f87 = _compiled("setp", "num", "f64")
f88 = _compiled("setp", "nan", "f32")
f89 = _compiled("setp", "nan", "f64")
f90 = _compiled("add", "f32")
f91 = _compiled("add", "f64")
f92 = _compiled("sub", "f32")
f93 = _compiled("sub", "f64")
f94 = _compiled("mul", "f32")
f95 = _compiled("mul", "f64")
f96 = _compiled("fma", "rn", "f32")
f97 = _compiled("fma", "rn", "f64")
f98 = _compiled("div", "rn", "f32")
f99 = _compiled("div", "rn", "f64")
f100 = _compiled("neg", "f32")
f101 = _compiled("neg", "f64")
f102 = _compiled("abs", "f32")
f103 = _compiled("abs", "f64")
f104 = _compiled("min", "f32")
f105 = _compiled("min", "f64")
f106 = _compiled("max", "f32")
f107 = _compiled("max", "f64")
f108 = _compiled("sqrt", "rn", "f32")
f109 = _compiled("sqrt", "rn", "f64")
f110 = _compiled("rcp", "rn", "f32")
f111 = _compiled("rcp", "rn", "f64")
f112 = _compiled("rcp", "approx", "ftz", "f64")
f113 = _compiled("add", "ftz", "f32")
f114 = _compiled("sub", "ftz", "f32")
f115 = _compiled("mul", "ftz", "f32")
f116 = _compiled("fma", "rn", "ftz", "f32")
f117 = _compiled("max", "ftz", "f32")
f118 = _compiled("fma", "rm", "f32")
f119 = _compiled("copysign", "f32")
f120 = _compiled("copysign", "f64")
f121 = _compiled("add", "f16")
f122 = _compiled("add", "bf16")
f123 = _compiled("add", "f16x2")
f124 = _compiled("add", "bf16x2")
f125 = _compiled("sub", "f16")
f126 = _compiled("sub", "bf16")
f127 = _compiled("sub", "f16x2")
f128 = _compiled("sub", "bf16x2")
f129 = _compiled("mul", "f16")
f130 = _compiled("mul", "bf16")
f131 = _compiled("mul", "f16x2")
f132 = _compiled("mul", "bf16x2")
f133 = _compiled("fma", "rn", "f16")
f134 = _compiled("fma", "rn", "bf16")
f135 = _compiled("fma", "rn", "f16x2")
f136 = _compiled("fma", "rn", "bf16x2")
f137 = _compiled("max", "f16")
f138 = _compiled("max", "bf16")
f139 = _compiled("max", "f16x2")
f140 = _compiled("max", "bf16x2")
f141 = _compiled("ex2", "approx", "f32")
f142 = _compiled("lg2", "approx", "f32")
f143 = _compiled("rcp", "approx", "f32")
f144 = _compiled("rsqrt", "approx", "f32")
f145 = _compiled("sqrt", "approx", "f32")
f146 = _compiled("sin", "approx", "f32")
f147 = _compiled("cos", "approx", "f32")
f148 = _compiled("div", "approx", "f32")
f149 = _compiled("tanh", "approx", "f32")
f150 = _compiled("ex2", "approx", "ftz", "f32")
f151 = _compiled("lg2", "approx", "ftz", "f32")
f152 = _compiled("rcp", "approx", "ftz", "f32")
f153 = _compiled("rsqrt", "approx", "ftz", "f32")
f154 = _compiled("sqrt", "approx", "ftz", "f32")
f155 = _compiled("div", "approx", "ftz", "f32")
f156 = _compiled("div", "full", "f32")
f157 = _compiled("rsqrt", "approx", "f64")
f158 = _compiled("cvt", "rn", "f32", "u32")
f159 = _compiled("cvt", "rn", "f32", "s32")
f160 = _compiled("cvt", "rn", "f32", "u64")
f161 = _compiled("cvt", "rn", "f32", "s64")
f162 = _compiled("cvt", "rn", "f64", "u32")
f163 = _compiled("cvt", "rn", "f64", "s32")
f164 = _compiled("cvt", "rzi", "u32", "f32")
f165 = _compiled("cvt", "rzi", "s32", "f32")
f166 = _compiled("cvt", "rzi", "u64", "f32")
f167 = _compiled("cvt", "rzi", "s64", "f32")
f168 = _compiled("cvt", "rzi", "u32", "f64")
f169 = _compiled("cvt", "rzi", "s32", "f64")
f170 = _compiled("cvt", "rzi", "u64", "f64")
f171 = _compiled("cvt", "rzi", "s64", "f64")
f172 = _compiled("cvt", "f64", "f32")
f173 = _compiled("cvt", "rn", "f32", "f64")
f174 = _compiled("cvt", "f32", "f16")
f175 = _compiled("cvt", "rn", "f16", "f32")
f176 = _compiled("cvt", "rn", "f16x2", "f32")
f177 = _compiled("cvt", "f32", "bf16")
f178 = _compiled("cvt", "rn", "bf16", "f32")
f179 = _compiled("cvt", "rn", "bf16x2", "f32")
f180 = _compiled("cvt", "rn", "f16", "s32")
f181 = _compiled("cvt", "sat", "f32", "f32")
f182 = _compiled("cvt", "rni", "s32", "f32")
f183 = _compiled("cvt", "rna", "tf32", "f32")
f184 = _compiled("cvt", "rni", "f32", "f32")
f185 = _compiled("cvt", "rni", "f64", "f64")
f186 = _compiled("cvt", "rzi", "f32", "f32")
f187 = _compiled("cvt", "rzi", "f64", "f64")
f188 = _compiled("cvt", "rmi", "f32", "f32")
f189 = _compiled("cvt", "rmi", "f64", "f64")
f190 = _compiled("cvt", "rpi", "f32", "f32")
f191 = _compiled("cvt", "rpi", "f64", "f64")


@within
def compute(code, r, a, b, c, d):
    """Row r = what instruction `code` makes of rows a to d, raw bits, for all lanes; rows are pointers."""
    if code == 0:  # add.u32
        for i in range(LANES):
            r[i] = U64(f0(a[i], b[i]))
    elif code == 1:  # add.s32
        for i in range(LANES):
            r[i] = U64(f1(I64(a[i]), I64(b[i])))
    elif code == 2:  # sub.u32
        for i in range(LANES):
            r[i] = U64(f2(a[i], b[i]))
    elif code == 3:  # sub.s32
        for i in range(LANES):
            r[i] = U64(f3(I64(a[i]), I64(b[i])))
    elif code == 4:  # mul.lo.u32
        for i in range(LANES):
            r[i] = U64(f4(a[i], b[i]))
    elif code == 5:  # mul.lo.s32
        for i in range(LANES):
            r[i] = U64(f5(I64(a[i]), I64(b[i])))
    elif code == 6:  # mad.wide.u32
        for i in range(LANES):
            r[i] = U64(f6(a[i], b[i], c[i]))
    elif code == 7:  # mad.wide.s32
        for i in range(LANES):
            r[i] = U64(f7(I64(a[i]), I64(b[i]), I64(c[i])))
    elif code == 8:  # mul.hi.u32
        for i in range(LANES):
            r[i] = U64(f8(a[i], b[i]))
    elif code == 9:  # mul.hi.s32
        for i in range(LANES):
            r[i] = U64(f9(I64(a[i]), I64(b[i])))
    elif code == 10:  # mul.hi.u64
        for i in range(LANES):
            r[i] = U64(f10(a[i], b[i]))
    elif code == 11:  # mul.hi.s64
        for i in range(LANES):
            r[i] = U64(f11(I64(a[i]), I64(b[i])))
    elif code == 12:  # div.u32
        for i in range(LANES):
            r[i] = U64(f12(a[i], b[i]))
    elif code == 13:  # div.s32
        for i in range(LANES):
            r[i] = U64(f13(I64(a[i]), I64(b[i])))
    elif code == 14:  # rem.u32
        for i in range(LANES):
            r[i] = U64(f14(a[i], b[i]))
    elif code == 15:  # rem.s32
        for i in range(LANES):
            r[i] = U64(f15(I64(a[i]), I64(b[i])))
    elif code == 16:  # min.u32
        for i in range(LANES):
            r[i] = U64(f16(a[i], b[i]))
    elif code == 17:  # min.s32
        for i in range(LANES):
            r[i] = U64(f17(I64(a[i]), I64(b[i])))
    elif code == 18:  # max.u32
        for i in range(LANES):
            r[i] = U64(f18(a[i], b[i]))
    elif code == 19:  # max.s32
        for i in range(LANES):
            r[i] = U64(f19(I64(a[i]), I64(b[i])))
    elif code == 20:  # abs.s32
        for i in range(LANES):
            r[i] = U64(f20(I64(a[i])))
    elif code == 21:  # neg.s32
        for i in range(LANES):
            r[i] = U64(f21(I64(a[i])))
    elif code == 22:  # and.b32
        for i in range(LANES):
            r[i] = U64(f22(a[i], b[i]))
    elif code == 23:  # or.b32
        for i in range(LANES):
            r[i] = U64(f23(a[i], b[i]))
    elif code == 24:  # xor.b32
        for i in range(LANES):
            r[i] = U64(f24(a[i], b[i]))
    elif code == 25:  # not.b32
        for i in range(LANES):
            r[i] = U64(f25(a[i]))
    elif code == 26:  # not.pred
        for i in range(LANES):
            r[i] = U64(f26(a[i]))
    elif code == 27:  # popc.b32
        for i in range(LANES):
            r[i] = U64(f27(a[i]))
    elif code == 28:  # clz.b32
        for i in range(LANES):
            r[i] = U64(f28(a[i]))
    elif code == 29:  # clz.b64
        for i in range(LANES):
            r[i] = U64(f29(a[i]))
    elif code == 30:  # brev.b32
        for i in range(LANES):
            r[i] = U64(f30(a[i]))
    elif code == 31:  # brev.b64
        for i in range(LANES):
            r[i] = U64(f31(a[i]))
    elif code == 32:  # bfe.u32
        for i in range(LANES):
            r[i] = U64(f32(a[i], b[i], c[i]))
    elif code == 33:  # bfe.s32
        for i in range(LANES):
            r[i] = U64(f33(I64(a[i]), b[i], c[i]))
    elif code == 34:  # bfe.u64
        for i in range(LANES):
            r[i] = U64(f34(a[i], b[i], c[i]))
    elif code == 35:  # bfe.s64
        for i in range(LANES):
            r[i] = U64(f35(I64(a[i]), b[i], c[i]))
    elif code == 36:  # bfi.b32
        for i in range(LANES):
            r[i] = U64(f36(a[i], b[i], c[i], d[i]))
    elif code == 37:  # bfi.b64
        for i in range(LANES):
            r[i] = U64(f37(a[i], b[i], c[i], d[i]))
    elif code == 38:  # prmt.b32
        for i in range(LANES):
            r[i] = U64(f38(a[i], b[i], c[i]))
    elif code == 39:  # lop3.b32
        for i in range(LANES):
            r[i] = U64(f39(a[i], b[i], c[i], d[i]))
    elif code == 40:  # shl.b16
        for i in range(LANES):
            r[i] = U64(f40(a[i], b[i]))
    elif code == 41:  # shl.b32
        for i in range(LANES):
            r[i] = U64(f41(a[i], b[i]))
    elif code == 42:  # shl.b64
        for i in range(LANES):
            r[i] = U64(f42(a[i], b[i]))
    elif code == 43:  # shr.u16
        for i in range(LANES):
            r[i] = U64(f43(a[i], b[i]))
    elif code == 44:  # shr.s16
        for i in range(LANES):
            r[i] = U64(f44(I64(a[i]), b[i]))
    elif code == 45:  # shf.l.wrap.b32
        for i in range(LANES):
            r[i] = U64(f45(a[i], b[i], c[i]))
    elif code == 46:  # shf.l.clamp.b32
        for i in range(LANES):
            r[i] = U64(f46(a[i], b[i], c[i]))
    elif code == 47:  # shf.r.wrap.b32
        for i in range(LANES):
            r[i] = U64(f47(a[i], b[i], c[i]))
    elif code == 48:  # shf.r.clamp.b32
        for i in range(LANES):
            r[i] = U64(f48(a[i], b[i], c[i]))
    elif code == 49:  # selp.b32
        for i in range(LANES):
            r[i] = U64(f49(a[i], b[i], c[i]))
    elif code == 50:  # setp.eq.u32
        for i in range(LANES):
            r[i] = U64(f50(a[i], b[i])[0])
    elif code == 51:  # setp.eq.s32
        for i in range(LANES):
            r[i] = U64(f51(I64(a[i]), I64(b[i]))[0])
    elif code == 52:  # setp.eq.f32
        for i in range(LANES):
            r[i] = U64(f52(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 53:  # setp.eq.f64
        for i in range(LANES):
            r[i] = U64(f53(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 54:  # setp.ne.u32
        for i in range(LANES):
            r[i] = U64(f54(a[i], b[i])[0])
    elif code == 55:  # setp.ne.s32
        for i in range(LANES):
            r[i] = U64(f55(I64(a[i]), I64(b[i]))[0])
    elif code == 56:  # setp.ne.f32
        for i in range(LANES):
            r[i] = U64(f56(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 57:  # setp.ne.f64
        for i in range(LANES):
            r[i] = U64(f57(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 58:  # setp.lt.u32
        for i in range(LANES):
            r[i] = U64(f58(a[i], b[i])[0])
    elif code == 59:  # setp.lt.s32
        for i in range(LANES):
            r[i] = U64(f59(I64(a[i]), I64(b[i]))[0])
    elif code == 60:  # setp.lt.f32
        for i in range(LANES):
            r[i] = U64(f60(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 61:  # setp.lt.f64
        for i in range(LANES):
            r[i] = U64(f61(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 62:  # setp.le.u32
        for i in range(LANES):
            r[i] = U64(f62(a[i], b[i])[0])
    elif code == 63:  # setp.le.s32
        for i in range(LANES):
            r[i] = U64(f63(I64(a[i]), I64(b[i]))[0])
    elif code == 64:  # setp.le.f32
        for i in range(LANES):
            r[i] = U64(f64(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 65:  # setp.le.f64
        for i in range(LANES):
            r[i] = U64(f65(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 66:  # setp.gt.u32
        for i in range(LANES):
            r[i] = U64(f66(a[i], b[i])[0])
    elif code == 67:  # setp.gt.s32
        for i in range(LANES):
            r[i] = U64(f67(I64(a[i]), I64(b[i]))[0])
    elif code == 68:  # setp.gt.f32
        for i in range(LANES):
            r[i] = U64(f68(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 69:  # setp.gt.f64
        for i in range(LANES):
            r[i] = U64(f69(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 70:  # setp.ge.u32
        for i in range(LANES):
            r[i] = U64(f70(a[i], b[i])[0])
    elif code == 71:  # setp.ge.s32
        for i in range(LANES):
            r[i] = U64(f71(I64(a[i]), I64(b[i]))[0])
    elif code == 72:  # setp.ge.f32
        for i in range(LANES):
            r[i] = U64(f72(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 73:  # setp.ge.f64
        for i in range(LANES):
            r[i] = U64(f73(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 74:  # setp.equ.f32
        for i in range(LANES):
            r[i] = U64(f74(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 75:  # setp.equ.f64
        for i in range(LANES):
            r[i] = U64(f75(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 76:  # setp.neu.f32
        for i in range(LANES):
            r[i] = U64(f76(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 77:  # setp.neu.f64
        for i in range(LANES):
            r[i] = U64(f77(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 78:  # setp.ltu.f32
        for i in range(LANES):
            r[i] = U64(f78(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 79:  # setp.ltu.f64
        for i in range(LANES):
            r[i] = U64(f79(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 80:  # setp.leu.f32
        for i in range(LANES):
            r[i] = U64(f80(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 81:  # setp.leu.f64
        for i in range(LANES):
            r[i] = U64(f81(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 82:  # setp.gtu.f32
        for i in range(LANES):
            r[i] = U64(f82(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 83:  # setp.gtu.f64
        for i in range(LANES):
            r[i] = U64(f83(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 84:  # setp.geu.f32
        for i in range(LANES):
            r[i] = U64(f84(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 85:  # setp.geu.f64
        for i in range(LANES):
            r[i] = U64(f85(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 86:  # setp.num.f32
        for i in range(LANES):
            r[i] = U64(f86(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 87:  # setp.num.f64
        for i in range(LANES):
            r[i] = U64(f87(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 88:  # setp.nan.f32
        for i in range(LANES):
            r[i] = U64(f88(float_f32(a[i]), float_f32(b[i]))[0])
    elif code == 89:  # setp.nan.f64
        for i in range(LANES):
            r[i] = U64(f89(float_f64(a[i]), float_f64(b[i]))[0])
    elif code == 90:  # add.f32
        for i in range(LANES):
            r[i] = bits_f32(f90(float_f32(a[i]), float_f32(b[i])))
    elif code == 91:  # add.f64
        for i in range(LANES):
            r[i] = bits_f64(f91(float_f64(a[i]), float_f64(b[i])))
    elif code == 92:  # sub.f32
        for i in range(LANES):
            r[i] = bits_f32(f92(float_f32(a[i]), float_f32(b[i])))
    elif code == 93:  # sub.f64
        for i in range(LANES):
            r[i] = bits_f64(f93(float_f64(a[i]), float_f64(b[i])))
    elif code == 94:  # mul.f32
        for i in range(LANES):
            r[i] = bits_f32(f94(float_f32(a[i]), float_f32(b[i])))
    elif code == 95:  # mul.f64
        for i in range(LANES):
            r[i] = bits_f64(f95(float_f64(a[i]), float_f64(b[i])))
    elif code == 96:  # fma.rn.f32
        for i in range(LANES):
            r[i] = bits_f32(f96(float_f32(a[i]), float_f32(b[i]), float_f32(c[i])))
    elif code == 97:  # fma.rn.f64
        for i in range(LANES):
            r[i] = bits_f64(f97(float_f64(a[i]), float_f64(b[i]), float_f64(c[i])))
    elif code == 98:  # div.rn.f32
        for i in range(LANES):
            r[i] = bits_f32(f98(float_f32(a[i]), float_f32(b[i])))
    elif code == 99:  # div.rn.f64
        for i in range(LANES):
            r[i] = bits_f64(f99(float_f64(a[i]), float_f64(b[i])))
    elif code == 100:  # neg.f32
        for i in range(LANES):
            r[i] = bits_f32(f100(float_f32(a[i])))
    elif code == 101:  # neg.f64
        for i in range(LANES):
            r[i] = bits_f64(f101(float_f64(a[i])))
    elif code == 102:  # abs.f32
        for i in range(LANES):
            r[i] = bits_f32(f102(float_f32(a[i])))
    elif code == 103:  # abs.f64
        for i in range(LANES):
            r[i] = bits_f64(f103(float_f64(a[i])))
    elif code == 104:  # min.f32
        for i in range(LANES):
            r[i] = bits_f32(f104(float_f32(a[i]), float_f32(b[i])))
    elif code == 105:  # min.f64
        for i in range(LANES):
            r[i] = bits_f64(f105(float_f64(a[i]), float_f64(b[i])))
    elif code == 106:  # max.f32
        for i in range(LANES):
            r[i] = bits_f32(f106(float_f32(a[i]), float_f32(b[i])))
    elif code == 107:  # max.f64
        for i in range(LANES):
            r[i] = bits_f64(f107(float_f64(a[i]), float_f64(b[i])))
    elif code == 108:  # sqrt.rn.f32
        for i in range(LANES):
            r[i] = bits_f32(f108(float_f32(a[i])))
    elif code == 109:  # sqrt.rn.f64
        for i in range(LANES):
            r[i] = bits_f64(f109(float_f64(a[i])))
    elif code == 110:  # rcp.rn.f32
        for i in range(LANES):
            r[i] = bits_f32(f110(float_f32(a[i])))
    elif code == 111:  # rcp.rn.f64
        for i in range(LANES):
            r[i] = bits_f64(f111(float_f64(a[i])))
    elif code == 112:  # rcp.approx.ftz.f64
        for i in range(LANES):
            r[i] = bits_f64(f112(float_f64(a[i])))
    elif code == 113:  # add.ftz.f32
        for i in range(LANES):
            r[i] = bits_f32(f113(float_f32(a[i]), float_f32(b[i])))
    elif code == 114:  # sub.ftz.f32
        for i in range(LANES):
            r[i] = bits_f32(f114(float_f32(a[i]), float_f32(b[i])))
    elif code == 115:  # mul.ftz.f32
        for i in range(LANES):
            r[i] = bits_f32(f115(float_f32(a[i]), float_f32(b[i])))
    elif code == 116:  # fma.rn.ftz.f32
        for i in range(LANES):
            r[i] = bits_f32(f116(float_f32(a[i]), float_f32(b[i]), float_f32(c[i])))
    elif code == 117:  # max.ftz.f32
        for i in range(LANES):
            r[i] = bits_f32(f117(float_f32(a[i]), float_f32(b[i])))
    elif code == 118:  # fma.rm.f32
        for i in range(LANES):
            r[i] = bits_f32(f118(float_f32(a[i]), float_f32(b[i]), float_f32(c[i])))
    elif code == 119:  # copysign.f32
        for i in range(LANES):
            r[i] = U64(f119(a[i], b[i]))
    elif code == 120:  # copysign.f64
        for i in range(LANES):
            r[i] = U64(f120(a[i], b[i]))
    elif code == 121:  # add.f16
        for i in range(LANES):
            r[i] = U64(f121(a[i], b[i]))
    elif code == 122:  # add.bf16
        for i in range(LANES):
            r[i] = U64(f122(a[i], b[i]))
    elif code == 123:  # add.f16x2
        for i in range(LANES):
            r[i] = U64(f123(a[i], b[i]))
    elif code == 124:  # add.bf16x2
        for i in range(LANES):
            r[i] = U64(f124(a[i], b[i]))
    elif code == 125:  # sub.f16
        for i in range(LANES):
            r[i] = U64(f125(a[i], b[i]))
    elif code == 126:  # sub.bf16
        for i in range(LANES):
            r[i] = U64(f126(a[i], b[i]))
    elif code == 127:  # sub.f16x2
        for i in range(LANES):
            r[i] = U64(f127(a[i], b[i]))
    elif code == 128:  # sub.bf16x2
        for i in range(LANES):
            r[i] = U64(f128(a[i], b[i]))
    elif code == 129:  # mul.f16
        for i in range(LANES):
            r[i] = U64(f129(a[i], b[i]))
    elif code == 130:  # mul.bf16
        for i in range(LANES):
            r[i] = U64(f130(a[i], b[i]))
    elif code == 131:  # mul.f16x2
        for i in range(LANES):
            r[i] = U64(f131(a[i], b[i]))
    elif code == 132:  # mul.bf16x2
        for i in range(LANES):
            r[i] = U64(f132(a[i], b[i]))
    elif code == 133:  # fma.rn.f16
        for i in range(LANES):
            r[i] = U64(f133(a[i], b[i], c[i]))
    elif code == 134:  # fma.rn.bf16
        for i in range(LANES):
            r[i] = U64(f134(a[i], b[i], c[i]))
    elif code == 135:  # fma.rn.f16x2
        for i in range(LANES):
            r[i] = U64(f135(a[i], b[i], c[i]))
    elif code == 136:  # fma.rn.bf16x2
        for i in range(LANES):
            r[i] = U64(f136(a[i], b[i], c[i]))
    elif code == 137:  # max.f16
        for i in range(LANES):
            r[i] = U64(f137(a[i], b[i]))
    elif code == 138:  # max.bf16
        for i in range(LANES):
            r[i] = U64(f138(a[i], b[i]))
    elif code == 139:  # max.f16x2
        for i in range(LANES):
            r[i] = U64(f139(a[i], b[i]))
    elif code == 140:  # max.bf16x2
        for i in range(LANES):
            r[i] = U64(f140(a[i], b[i]))
    elif code == 141:  # ex2.approx.f32
        for i in range(LANES):
            r[i] = bits_f32(f141(float_f32(a[i])))
    elif code == 142:  # lg2.approx.f32
        for i in range(LANES):
            r[i] = bits_f32(f142(float_f32(a[i])))
    elif code == 143:  # rcp.approx.f32
        for i in range(LANES):
            r[i] = bits_f32(f143(float_f32(a[i])))
    elif code == 144:  # rsqrt.approx.f32
        for i in range(LANES):
            r[i] = bits_f32(f144(float_f32(a[i])))
    elif code == 145:  # sqrt.approx.f32
        for i in range(LANES):
            r[i] = bits_f32(f145(float_f32(a[i])))
    elif code == 146:  # sin.approx.f32
        for i in range(LANES):
            r[i] = bits_f32(f146(float_f32(a[i])))
    elif code == 147:  # cos.approx.f32
        for i in range(LANES):
            r[i] = bits_f32(f147(float_f32(a[i])))
    elif code == 148:  # div.approx.f32
        for i in range(LANES):
            r[i] = bits_f32(f148(float_f32(a[i]), float_f32(b[i])))
    elif code == 149:  # tanh.approx.f32
        for i in range(LANES):
            r[i] = bits_f32(f149(float_f32(a[i])))
    elif code == 150:  # ex2.approx.ftz.f32
        for i in range(LANES):
            r[i] = bits_f32(f150(float_f32(a[i])))
    elif code == 151:  # lg2.approx.ftz.f32
        for i in range(LANES):
            r[i] = bits_f32(f151(float_f32(a[i])))
    elif code == 152:  # rcp.approx.ftz.f32
        for i in range(LANES):
            r[i] = bits_f32(f152(float_f32(a[i])))
    elif code == 153:  # rsqrt.approx.ftz.f32
        for i in range(LANES):
            r[i] = bits_f32(f153(float_f32(a[i])))
    elif code == 154:  # sqrt.approx.ftz.f32
        for i in range(LANES):
            r[i] = bits_f32(f154(float_f32(a[i])))
    elif code == 155:  # div.approx.ftz.f32
        for i in range(LANES):
            r[i] = bits_f32(f155(float_f32(a[i]), float_f32(b[i])))
    elif code == 156:  # div.full.f32
        for i in range(LANES):
            r[i] = bits_f32(f156(float_f32(a[i]), float_f32(b[i])))
    elif code == 157:  # rsqrt.approx.f64
        for i in range(LANES):
            r[i] = bits_f64(f157(float_f64(a[i])))
    elif code == 158:  # cvt.rn.f32.u32
        for i in range(LANES):
            r[i] = bits_f32(f158(a[i]))
    elif code == 159:  # cvt.rn.f32.s32
        for i in range(LANES):
            r[i] = bits_f32(f159(I64(a[i])))
    elif code == 160:  # cvt.rn.f32.u64
        for i in range(LANES):
            r[i] = bits_f32(f160(a[i]))
    elif code == 161:  # cvt.rn.f32.s64
        for i in range(LANES):
            r[i] = bits_f32(f161(I64(a[i])))
    elif code == 162:  # cvt.rn.f64.u32
        for i in range(LANES):
            r[i] = bits_f64(f162(a[i]))
    elif code == 163:  # cvt.rn.f64.s32
        for i in range(LANES):
            r[i] = bits_f64(f163(I64(a[i])))
    elif code == 164:  # cvt.rzi.u32.f32
        for i in range(LANES):
            r[i] = U64(f164(float_f32(a[i])))
    elif code == 165:  # cvt.rzi.s32.f32
        for i in range(LANES):
            r[i] = U64(f165(float_f32(a[i])))
    elif code == 166:  # cvt.rzi.u64.f32
        for i in range(LANES):
            r[i] = U64(f166(float_f32(a[i])))
    elif code == 167:  # cvt.rzi.s64.f32
        for i in range(LANES):
            r[i] = U64(f167(float_f32(a[i])))
    elif code == 168:  # cvt.rzi.u32.f64
        for i in range(LANES):
            r[i] = U64(f168(float_f64(a[i])))
    elif code == 169:  # cvt.rzi.s32.f64
        for i in range(LANES):
            r[i] = U64(f169(float_f64(a[i])))
    elif code == 170:  # cvt.rzi.u64.f64
        for i in range(LANES):
            r[i] = U64(f170(float_f64(a[i])))
    elif code == 171:  # cvt.rzi.s64.f64
        for i in range(LANES):
            r[i] = U64(f171(float_f64(a[i])))
    elif code == 172:  # cvt.f64.f32
        for i in range(LANES):
            r[i] = bits_f64(f172(float_f32(a[i])))
    elif code == 173:  # cvt.rn.f32.f64
        for i in range(LANES):
            r[i] = bits_f32(f173(float_f64(a[i])))
    elif code == 174:  # cvt.f32.f16
        for i in range(LANES):
            r[i] = bits_f32(f174(a[i]))
    elif code == 175:  # cvt.rn.f16.f32
        for i in range(LANES):
            r[i] = U64(f175(float_f32(a[i])))
    elif code == 176:  # cvt.rn.f16x2.f32
        for i in range(LANES):
            r[i] = U64(f176(float_f32(a[i]), float_f32(b[i])))
    elif code == 177:  # cvt.f32.bf16
        for i in range(LANES):
            r[i] = U64(f177(a[i]))
    elif code == 178:  # cvt.rn.bf16.f32
        for i in range(LANES):
            r[i] = U64(f178(float_f32(a[i])))
    elif code == 179:  # cvt.rn.bf16x2.f32
        for i in range(LANES):
            r[i] = U64(f179(float_f32(a[i]), float_f32(b[i])))
    elif code == 180:  # cvt.rn.f16.s32
        for i in range(LANES):
            r[i] = U64(f180(I64(a[i])))
    elif code == 181:  # cvt.sat.f32.f32
        for i in range(LANES):
            r[i] = bits_f32(f181(float_f32(a[i])))
    elif code == 182:  # cvt.rni.s32.f32
        for i in range(LANES):
            r[i] = U64(f182(float_f32(a[i])))
    elif code == 183:  # cvt.rna.tf32.f32
        for i in range(LANES):
            r[i] = U64(f183(a[i]))
    elif code == 184:  # cvt.rni.f32.f32
        for i in range(LANES):
            r[i] = bits_f32(f184(float_f32(a[i])))
    elif code == 185:  # cvt.rni.f64.f64
        for i in range(LANES):
            r[i] = bits_f64(f185(float_f64(a[i])))
    elif code == 186:  # cvt.rzi.f32.f32
        for i in range(LANES):
            r[i] = bits_f32(f186(float_f32(a[i])))
    elif code == 187:  # cvt.rzi.f64.f64
        for i in range(LANES):
            r[i] = bits_f64(f187(float_f64(a[i])))
    elif code == 188:  # cvt.rmi.f32.f32
        for i in range(LANES):
            r[i] = bits_f32(f188(float_f32(a[i])))
    elif code == 189:  # cvt.rmi.f64.f64
        for i in range(LANES):
            r[i] = bits_f64(f189(float_f64(a[i])))
    elif code == 190:  # cvt.rpi.f32.f32
        for i in range(LANES):
            r[i] = bits_f32(f190(float_f32(a[i])))
    elif code == 191:  # cvt.rpi.f64.f64
        for i in range(LANES):
            r[i] = bits_f64(f191(float_f64(a[i])))
