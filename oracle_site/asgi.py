"""What the server loads: pages and API over HTTP, chat over WebSocket."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oracle_site.settings")

pages = get_asgi_application()

from chat.routing import websocket_urlpatterns  # noqa: E402  # it needs the apps to be loaded
from oracle_site.api_handler import ApiHandler, PathDispatcher  # noqa: E402  # the same
from oracle_site.password_queue import PasswordQueue  # noqa: E402  # the same
from oracle_site.user_concurrency import UserConcurrencyLimiter  # noqa: E402  # the same

# Full origins: another port or scheme on the same host is another site.
sockets = OriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)), settings.ORIGINS)  # type: ignore[arg-type]  # as documented
application = ProtocolTypeRouter(
    {
        "http": PathDispatcher(
            ApiHandler(), PasswordQueue(UserConcurrencyLimiter(pages), hashing=pages)
        ),
        "websocket": sockets,
    }
)
