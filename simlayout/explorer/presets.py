"""The examples that the page offers: one row each, and what there is to see in it."""

from dataclasses import dataclass

from simlayout.explorer.state import State, single


@dataclass(frozen=True)
class Preset:
    """title: what the page lists. state: what it then shows."""

    title: str
    state: State


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
)
