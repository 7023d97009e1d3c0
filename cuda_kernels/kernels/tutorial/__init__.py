"""The kernels of the MatmulTutorial ladder: tiles in blocks, and crosswise."""
