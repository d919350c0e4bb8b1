"""Tests in a real browser, against the real server. They need a pytest process of their own."""
