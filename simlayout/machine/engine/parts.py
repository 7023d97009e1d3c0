"""What the classes have in common of which a Warp is made: each uses attributes and methods of the others."""

from typing import TYPE_CHECKING, Any


class WarpPart:
    """A part of a Warp. For a type checker it may have any attribute: those of the whole Warp are written where it is."""

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...
