"""Search over the texts of a project. The databases find candidates, `ranking` orders them."""
