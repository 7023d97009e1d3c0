"""Configurations that were measured on this machine's GPU: how they are measured, and where the best are kept."""
