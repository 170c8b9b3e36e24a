"""What a pass frees is kept for the next."""

import torch


def keep_freed_memory() -> None:
    """Let the C library keep up to 64 megabytes of what was freed.

    Passes free all their arrays at once. The GNU library then gives the memory
    back to the system, and the next pass pays for every page of it again: a
    tenth of a step of training. It keeps twice the largest block it ever saw
    freed; one of 31 megabytes, never touched, is the largest that counts.
    """
    torch.empty(31 << 20, dtype=torch.uint8)
