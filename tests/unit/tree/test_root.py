from dpbb.tree import Root, leaf_of_path


def test_owned_ancestors_are_those_with_the_same_first_leaf():
    """An ancestor is owned by the root whose first leaf is its own."""
    for path in [(), (0,), (3,), (0, 0), (2, 0, 0), (0, 1, 0), (1, 0, 2)]:
        first = leaf_of_path(6, path)
        owned = sum(leaf_of_path(6, path[:d]) == first for d in range(len(path)))
        assert Root(path).owned_ancestors == owned
