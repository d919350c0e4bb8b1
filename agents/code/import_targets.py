"""Imports as files: what a statement names, found among the paths of the project. No I/O.

Each language has its own way; what is not in the project is found by none of them.
"""

import posixpath
import sys
from collections.abc import Callable

from agents.code.path_index import PathIndex

_SCRIPT_ENDINGS = (
    *("", ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts"),
    *("/index.ts", "/index.tsx", "/index.d.ts", "/index.js", "/index.jsx", "/index.mjs"),
)
_SOURCE_ENDINGS = (".c", ".cc", ".cpp", ".cxx", ".m")
_PYTHON_ENDINGS = (".py", "/__init__.py", ".pyi", "/__init__.pyi")


def resolve_import(language: str, path: str, target: str, index: PathIndex) -> list[str]:
    """Return the files that an import in a file means; none if it means something outside."""
    resolve = _RESOLVERS.get(language)
    return resolve(path, target, index) if resolve and target else []


def join_target(language: str, target: str, name: str) -> str:
    """Return the target of a module that was imported by name from another."""
    if language == "python":
        return f"{target}{name}" if target.endswith(".") else f"{target}.{name}"
    if language == "rust":
        return f"{target}::{name}"
    return ""


def list_package(language: str, path: str, index: PathIndex) -> list[str]:
    """Return the files that see each other's names without an import."""
    if language not in ("go", "java", "csharp"):
        return []
    ending = posixpath.splitext(path)[1]
    folder = posixpath.dirname(path)
    return [each for each in index.list_folder(folder) if each.endswith(ending)]


def _resolve_python(path: str, target: str, index: PathIndex) -> list[str]:
    if not target.startswith("."):
        found = index.find_module(target, path)
        is_known = found and target.partition(".")[0] in sys.stdlib_module_names
        return [] if is_known else found
    name = target.lstrip(".")
    dots = len(target) - len(name)
    end = name.replace(".", "/")
    folder = posixpath.dirname(path)
    for _ in range(dots - 1):
        folder = posixpath.dirname(folder)
    base = posixpath.join(folder, end) if end else folder
    endings = _PYTHON_ENDINGS if end else ("/__init__.py",)
    return index.find_first((base + ending).lstrip("/") for ending in endings)


def _resolve_script(path: str, target: str, index: PathIndex) -> list[str]:
    if not target.startswith("."):
        return []
    base = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    found = index.find_first(base + ending for ending in _SCRIPT_ENDINGS)
    stem, ending = posixpath.splitext(base)
    if not found and ending in (".js", ".mjs", ".cjs", ".jsx"):  # TypeScript names what it becomes
        found = index.find_first(stem + ending for ending in _SCRIPT_ENDINGS[1:])
    return found


def _resolve_go(path: str, target: str, index: PathIndex) -> list[str]:
    parts = target.split("/")
    for start in range(len(parts)):
        folder = index.find_folder("/".join(parts[start:]), path)
        if folder is not None:
            files = [each for each in index.list_folder(folder) if each.endswith(".go")]
            if files:
                return files
    return []


def _resolve_rust(path: str, target: str, index: PathIndex) -> list[str]:
    parts = [part for part in target.split("::") if part]
    folder = posixpath.dirname(path)
    if parts and parts[0] in ("self", "super"):
        if posixpath.basename(path) not in ("mod.rs", "lib.rs", "main.rs"):
            folder = posixpath.splitext(path)[0]
        while parts and parts[0] in ("self", "super"):
            folder = posixpath.dirname(folder) if parts.pop(0) == "super" else folder
        return _find_module(parts, lambda end: index.find_first([f"{folder}/{end}".lstrip("/")]))
    if parts and parts[0] == "crate":
        return _find_module(parts[1:], lambda end: index.find_ending(end, path))
    if len(parts) > 1:  # another crate of the same workspace
        root = index.find_folder(f"{parts[0].replace('_', '-')}/src", path)
        root = root or index.find_folder(f"{parts[0]}/src", path)
        if root:
            found = _find_module(parts[1:], lambda end: index.find_first([f"{root}/{end}"]))
            return found or index.find_first([f"{root}/lib.rs"])
    return _find_module(parts, lambda end: index.find_first([f"{folder}/{end}".lstrip("/")]))


def _find_module(parts: list[str], find: Callable[[str], list[str]]) -> list[str]:
    """Return the file of the longest beginning of a path that is a module."""
    for count in range(len(parts), 0, -1):
        name = "/".join(parts[:count])
        if found := find(f"{name}.rs") or find(f"{name}/mod.rs"):
            return found
    return []


def _resolve_java(path: str, target: str, index: PathIndex) -> list[str]:
    name = target.replace(".", "/")
    if found := index.find_ending(f"{name}.java", path):
        return found
    folder = index.find_folder(name, path)
    files = index.list_folder(folder) if folder is not None else []
    return [each for each in files if each.endswith(".java")]


def _resolve_include(path: str, target: str, index: PathIndex) -> list[str]:
    near = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    found = index.find_first([near]) or index.find_ending(target.lstrip("./"), path)
    stems = [posixpath.splitext(each)[0] for each in found]
    return [*found, *(s + e for s in stems for e in _SOURCE_ENDINGS if s + e in index.paths)]


def _resolve_csharp(path: str, target: str, index: PathIndex) -> list[str]:
    parts = target.split(".")
    for start in range(len(parts)):
        folder = index.find_folder("/".join(parts[start:]), path)
        if folder is not None:
            return [each for each in index.list_folder(folder) if each.endswith(".cs")]
    return []


def _resolve_ruby(path: str, target: str, index: PathIndex) -> list[str]:
    name = target.removesuffix(".rb")
    near = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return index.find_first([f"{near}.rb"]) or index.find_ending(f"{name.lstrip('./')}.rb", path)


def _resolve_php(path: str, target: str, index: PathIndex) -> list[str]:
    if target.endswith(".php"):
        return _resolve_include(path, target.lstrip("/"), index)
    parts = [part for part in target.split("\\") if part]
    for start in range(len(parts)):
        if found := index.find_ending("/".join(parts[start:]) + ".php", path):
            return found
    return []


_RESOLVERS: dict[str, Callable[[str, str, PathIndex], list[str]]] = {
    "bash": _resolve_include,
    "c": _resolve_include,
    "cpp": _resolve_include,
    "csharp": _resolve_csharp,
    "go": _resolve_go,
    "java": _resolve_java,
    "javascript": _resolve_script,
    "php": _resolve_php,
    "python": _resolve_python,
    "ruby": _resolve_ruby,
    "rust": _resolve_rust,
    "typescript": _resolve_script,
}
