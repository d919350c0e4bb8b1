"""Addresses of the chat's sockets. The project is that of a conversation that is yet to begin."""

from channels.generic.websocket import AsyncWebsocketConsumer
from django.urls import path, re_path

from chat.close_codes import NOT_FOUND
from chat.live.consumer import ChatConsumer


class NotFoundConsumer(AsyncWebsocketConsumer):
    """There is nothing at this address. Accepted first, so that a page does not try again."""

    channel_layer_alias = "none"

    async def connect(self) -> None:
        await self.accept()
        await self.close(code=NOT_FOUND)


websocket_urlpatterns = [
    path("ws/<uuid:project_id>/<uuid:conversation_id>/", ChatConsumer.as_asgi()),  # type: ignore[arg-type]  # ASGI, not a view
    re_path("", NotFoundConsumer.as_asgi()),  # type: ignore[arg-type]  # the same
]
