"""The pool engine: one pool of open nodes, whose children are bounded in batches."""
