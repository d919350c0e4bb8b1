"""Name the user that a site has before anybody signs in. Users are Django's own."""

LOCAL_USER = "local"
