"""From a parsed function to a program: `lower.Lowering` makes it, `program.Program` is what it makes."""
