"""The GPU engine: CUDA kernels as package data, compiled for every instance shape."""
