"""The exercises, a module for each lesson: what they ask, and how an answer is judged. None of them knows an answer."""
