"""With which codes the server closes a page's socket, and what the page then says.

A page whose code has a sentence here shows it and stays away; after any other it comes back.
"""

SIGNED_OUT = 4401
NOT_ALLOWED = 4403
NOT_FOUND = 4404
TOO_MANY = 4429
SERVER_ERROR = 4500

SENTENCES = {
    SIGNED_OUT: "Signed out",
    NOT_ALLOWED: "Not yours",
    TOO_MANY: "Too many messages",
}
