"""What both front ends run on: memory, barriers, asynchronous copies, warpgroups and counts."""
