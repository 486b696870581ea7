"""What is selected is seen, in the page and in the picture of the server."""

from test_embed import run


def test_everything_else_keeps_as_little_of_its_ink_in_discs_icons_badges_and_names():
    run("dimmed.test.mjs")
