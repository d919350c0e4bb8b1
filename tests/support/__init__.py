"""Fakes that keep accounts: scripted models, endpoints, tools and time.

`script.py` is the language. `endpoint.py` plays a script over a real socket, `transport.py` in
process through httpx, `scripted_model.py` as a ChatModel without HTTP. `virtual.py` is time.
"""
