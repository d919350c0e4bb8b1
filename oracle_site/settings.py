"""Settings, read from the environment. The defaults are the safe ones."""

import os
from pathlib import Path
from urllib.parse import urlsplit

from oracle_site.environment import (
    channel_layers,
    data_dir,
    database,
    env_bool,
    env_choice,
    env_list,
    secret_key,
)

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = data_dir(BASE_DIR / "var")

DEBUG = env_bool("ORACLE_DEBUG")
SECRET_KEY = secret_key(DATA_DIR)

# What the audit is signed with; earlier keys, after commas, are still believed (docs/audit.md).
AUDIT_KEYS = env_list("ORACLE_AUDIT_KEY", [f"audit of {SECRET_KEY}"])

# Full origins (scheme, host, port) that pages are served from.
PORT = os.environ.get("ORACLE_PORT") or "8000"
LOCAL_ORIGINS = [f"http://127.0.0.1:{PORT}", f"http://localhost:{PORT}"]
ORIGINS = env_list("ORACLE_ORIGINS", LOCAL_ORIGINS if DEBUG else [])
ALLOWED_HOSTS = env_list(
    "ORACLE_ALLOWED_HOSTS",
    ["127.0.0.1", "localhost", *(host for o in ORIGINS if (host := urlsplit(o).hostname))],
)
CSRF_TRUSTED_ORIGINS = ORIGINS

# Cookies and addresses are for HTTPS only, unless an origin with http:// was asked for.
HTTPS = not any(origin.startswith("http://") for origin in ORIGINS)
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]  # probes come over plain HTTP, from inside
if HTTPS:  # The server speaks plain HTTP: HTTPS ends at a proxy, which has to set this header.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 30 * 24 * 3600 if HTTPS else 0
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
X_FRAME_OPTIONS = "DENY"
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for subdomains: they are not ours to promise anything for
    "security.W021",  # HSTS preload: a choice for the owner of the domain
]

INSTALLED_APPS = [
    "oracle_site",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "agents",
    "chat",
    "settings_ui",
    "oracle_site.admin_site.AuditConfig",  # after agents: its charts need every reason registered
    *env_list("ORACLE_APPS", []),  # packages that extend Oracle: docs/extending.md
]

MIDDLEWARE = [
    "oracle_site.middleware.security_headers_middleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "oracle_site.user_concurrency.name_user_middleware",
]

ROOT_URLCONF = "oracle_site.urls"
ASGI_APPLICATION = "oracle_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [DATA_DIR / "templates", BASE_DIR / "templates"],  # an operator's own come first
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "agents.web.template_loader.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "settings_ui.context_processors.theme",
            ],
        },
    },
]

LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"  # Strict would sign people out who follow a link to a conversation
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

# Under ASGI a kept connection would outlive its request's thread.
DATABASES = {"default": {**database(DATA_DIR), "CONN_MAX_AGE": 0}}
CHANNEL_LAYERS = channel_layers()
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"  # filled by collectstatic
STATIC_ROOT.mkdir(exist_ok=True)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    # Names with a digest, so that browsers may keep them for ever.
    "staticfiles": {"BACKEND": "oracle_site.static_files.StaticFilesStorage"},
}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

# The model: any OpenAI-compatible endpoint. Without one, the embedded model quotes the notes.
ORACLE_LLM_BASE_URL = os.environ.get("ORACLE_LLM_BASE_URL", "").strip()
ORACLE_LLM_API_KEY = os.environ.get("ORACLE_LLM_API_KEY", "").strip()
ORACLE_LLM_MODEL = os.environ.get("ORACLE_LLM_MODEL", "").strip() or "gpt-4o-mini"
# Others at the same endpoint that people may choose for a question.
ORACLE_LLM_MODELS = tuple(
    filter(None, (name.strip() for name in os.environ.get("ORACLE_LLM_MODELS", "").split(",")))
)
# Endpoints that people may use instead, with keys of their own: none, the known ones, or any; and
# hosts, or hosts with ports, that may be inside this network ("*": all of it).
ORACLE_OWN_ENDPOINTS = env_choice("ORACLE_OWN_ENDPOINTS", ("presets", "yes", "no"))
ORACLE_INSIDE_ENDPOINTS = tuple(env_list("ORACLE_INSIDE_ENDPOINTS", []))

# The decision tree of a run that names none.
ORACLE_DEFAULT_TREE = os.environ.get("ORACLE_DEFAULT_TREE") or "default"

# What strings the turns of a run together, if it names no behaviour.
ORACLE_DRIVER = env_choice("ORACLE_DRIVER", ("oracle-agent", "plain"))

# To standard error, as a supervisor wants it; errors of pages too, which Django would mail.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"},
    },
    "filters": {
        "brief": {"()": "oracle_site.log_filters.SuppressTracebackFilter"},
        "links": {"()": "oracle_site.log_filters.HideLinksFilter"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["brief", "links"],
        },
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {"django": {"handlers": [], "level": "WARNING", "propagate": True}},
}
