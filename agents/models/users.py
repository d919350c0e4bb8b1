"""Users are Django's own; this is the one whom a site has before anybody signs in."""

LOCAL_USER = "local"
