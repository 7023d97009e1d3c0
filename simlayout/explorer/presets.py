"""The examples that the page offers: one row each, and what there is to see in it."""

from dataclasses import dataclass

from simlayout.explorer.state import State, Use, single


@dataclass(frozen=True)
class Preset:
    """title: what the page lists. state: what it then shows."""

    title: str
    state: State


MFMA = (Use("store", "ds_write_b128", "8*i + tid // 8, 8*(tid % 8)", "i=8"),
        Use("load A", "ds_read_b128", "16*m + tid % 16, 32*k + 8*(tid // 16)", "m=4, k=2"))
DISPUTED = "f32", "ds_read_b32", "k, 2*(tid % 32) + tid // 32", "k=16"        # free by one source, by the other not
WMMA = "f16", "ds_read_b128", "tid % 16, 8*k", "k=4"
PLAIN, COLUMN = ("f16", "ldmatrix.x4"), ("f32", "ld.shared.b32", "tid, k", "k=32")

PRESETS = (
    Preset("16x16, as it is", single("(16,16):(16,1)", *PLAIN)),
    Preset("16x16, swizzled", single("Sw<1,3,3> o (16,16):(16,1)", *PLAIN)),
    Preset("16x32, as it is", single("(16,32):(32,1)", *PLAIN)),
    Preset("16x32, swizzled", single("Sw<2,3,3> o (16,32):(32,1)", *PLAIN)),
    Preset("16x64, as it is", single("(16,64):(64,1)", *PLAIN)),
    Preset("16x64, swizzled", single("Sw<3,3,3> o (16,64):(64,1)", *PLAIN)),
    Preset("16x64, padded", single("(16,64):(72,1)", *PLAIN)),
    Preset("16x256, swizzled", single("Sw<3,3,5> o (16,256):(256,1)", *PLAIN)),
    Preset("128x64, swizzled", single("Sw<3,3,3> o (128,64):(64,1)", *PLAIN)),
    Preset("64x32, rotated", single("Rot<8,4,64,4> o (64,32):(32,1)", *PLAIN)),
    Preset("32x32 f32, by columns", single("(32,32):(32,1)", *COLUMN)),
    Preset("32x32 f32, padded", single("(32,32):(33,1)", *COLUMN)),
    Preset("32x32 f32, swizzled", single("Sw<5,0,5> o (32,32):(32,1)", *COLUMN)),
    Preset("gfx942: 64x64 for MFMA, as it is", State("(64,64):(64,1)", "f16", "gfx942", MFMA, shown=1)),
    Preset("gfx942: 64x64 for MFMA, swizzled", State("Sw<3,3,3> o (64,64):(64,1)", "f16", "gfx942", MFMA, shown=1)),
    Preset("gfx950: a read that is disputed", single("(16,64):(64,1)", *DISPUTED, arch="gfx950")),
    Preset("gfx1100: 16x32 for WMMA", single("(16,32):(32,1)", *WMMA, arch="gfx1100")),
)
