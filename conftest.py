"""Shape checks for the whole run: every jaxtyping annotation in gramian is enforced, in tests only."""

from jaxtyping import install_import_hook

install_import_hook("gramian", "shapes.checked")
