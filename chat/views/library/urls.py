"""Addresses of the library."""

from django.urls import path

from chat.views.library import (
    code_files,
    code_names,
    code_uploads,
    files,
    folders,
    history,
    moves,
    notes,
    search,
    tags,
    threads,
    trash,
)

urlpatterns = [
    path("", folders.home, name="library-home"),
    path("<slug:slug>/", folders.folder, name="library"),
    path("<slug:slug>/search/", search.search, name="library-search"),
    path("<slug:slug>/new/", notes.new, name="library-new"),
    path("<slug:slug>/preview/", notes.preview, name="library-preview"),
    path("<slug:slug>/notes/<path:path>", notes.note, name="library-note"),
    path("<slug:slug>/raw/<path:path>", files.download_note, name="library-note-download"),
    path("<slug:slug>/edit/<path:path>", notes.edit, name="library-edit"),
    path("<slug:slug>/move/<path:path>", moves.move, name="library-move"),
    path("<slug:slug>/delete/<path:path>", trash.delete, name="library-delete"),
    path("<slug:slug>/history/<path:path>", history.history, name="library-history"),
    path("<slug:slug>/versions/<int:number>/<path:path>", history.version, name="library-version"),
    path("<slug:slug>/restore/<int:number>/<path:path>", history.restore, name="library-restore"),
    path("<slug:slug>/trash/", trash.trash, name="library-trash"),
    path("<slug:slug>/trash/<int:note_id>/", trash.restore_deleted, name="library-undelete"),
    path("<slug:slug>/delete-file/<path:path>", trash.delete_file, name="library-delete-file"),
    path(
        "<slug:slug>/trash/files/<int:file_id>/", trash.restore_file, name="library-undelete-file"
    ),
    path("<slug:slug>/threads/", threads.thread_list, name="library-threads"),
    path("<slug:slug>/new-thread/", threads.new_thread, name="library-new-thread"),
    path("<slug:slug>/threads/<str:name>/", threads.thread, name="library-thread"),
    path("<slug:slug>/threads/<str:name>/push/", threads.push, name="library-push"),
    path(
        "<slug:slug>/threads/<str:name>/status/",
        threads.change_status,
        name="library-thread-status",
    ),
    path(
        "<slug:slug>/threads/<str:name>/withdraw/<int:number>/",
        threads.withdraw,
        name="library-withdraw",
    ),
    path("<slug:slug>/code/", code_files.folder, name="library-code"),
    path("<slug:slug>/code/names/", code_names.symbol, name="library-code-symbol"),
    path("<slug:slug>/code/map/", code_names.repo_map, name="library-code-map"),
    path("<slug:slug>/code/files/<path:path>", code_files.file, name="library-code-file"),
    path("<slug:slug>/code/upload/", code_uploads.upload, name="library-code-upload"),
    path(
        "<slug:slug>/code/upload/piece/",
        code_uploads.upload_piece,
        name="library-code-upload-piece",
    ),
    path(
        "<slug:slug>/code/upload/progress/",
        code_uploads.upload_progress,
        name="library-code-progress",
    ),
    path(
        "<slug:slug>/code/checkouts/<int:checkout_id>/",
        code_uploads.checkout,
        name="library-code-checkout",
    ),
    path(
        "<slug:slug>/code/checkouts/<int:checkout_id>/remove/",
        code_uploads.remove,
        name="library-code-remove",
    ),
    path("<slug:slug>/tags/", tags.tags, name="library-tags"),
    path("<slug:slug>/files/<path:path>", files.attachment, name="library-file"),
    path("<slug:slug>/download/", files.download, name="library-download"),
    path("<slug:slug>/upload/", files.upload, name="library-upload"),
    path("<slug:slug>/upload/piece/", files.upload_piece, name="library-upload-piece"),
]
