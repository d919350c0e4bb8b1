"""What the server loads: pages over HTTP, chat over WebSocket."""

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oracle_site.settings")

pages = get_asgi_application()
application = ProtocolTypeRouter({"http": pages})
