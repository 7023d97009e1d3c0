"""From PTX text to what it says as data (`machine.ptx.syntax`): `grammar.parse`, by `tokens`, `declarations` and what they
hold at the start (`initial`), `body`, `operands`, `constants` and `scopes`; `other_files`: what is told of files of others.
"""
