"""The exercises, a module for each lesson: their questions, and the checks of an answer. They contain no answers."""
