"""From PTX text to what it says as data (`machine.ptx.syntax`): `grammar.parse`."""
