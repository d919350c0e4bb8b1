"""The same as the pages, for programs: JSON and server-sent events, with bearer tokens.

An address is declared once (`framework.endpoint`): what it takes, what it answers, who may, how it
can fail. Checks, the OpenAPI document and the route table are made from that declaration.
"""
