"""The model client: any OpenAI-compatible chat-completions endpoint, as the loop's `ChatModel`.

Bytes become payloads (`sse`), payloads become events (`assembly`, `deltas`, `text_calls`), and
`client` and `stream` do the talking. Everything but those two is free of I/O.
"""
