"""The fakes themselves, tested: a fake that lies makes every other test lie."""
