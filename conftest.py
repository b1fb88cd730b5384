"""Shape checks for the whole run: every jaxtyping annotation in gramian is enforced, in tests only."""

from shapes import install

install()
