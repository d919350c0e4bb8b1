"""Chunks as JSON Schema, from the dataclasses that they are."""

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from agents.core.chunks import OPTIONAL_FIELDS, WIRE_NAMES, OracleStreamChunk

Json = dict[str, Any]
MODE: JsonSchemaMode = "serialization"
BASE_PROPERTIES: Json = {
    "seq": {"type": "integer", "minimum": 1, "description": "1, 2, 3, … without gaps."},
    "at": {"type": "string", "format": "date-time"},
    "parent": {"type": "string", "description": "The call that started the subagent, if any."},
}


def build_chunk_schemas() -> Json:
    """Return one component for each type, those they are made of, and `Chunk` for any of them."""
    components: Json = {}
    names: dict[str, str] = {}
    for kind in OracleStreamChunk.__args__:
        made = TypeAdapter(kind).json_schema(mode=MODE, ref_template="#/components/schemas/{model}")
        components.update(made.pop("$defs", {}))
        name = names[kind.type] = f"{kind.__name__.removesuffix('Message')}Chunk"
        components[name] = _wire_schema(kind, made)
    refs = {kind: f"#/components/schemas/{name}" for kind, name in names.items()}
    components["Chunk"] = {
        "description": "Readers must ignore types that they do not know.",
        "oneOf": [{"$ref": ref} for ref in refs.values()],
        "discriminator": {"propertyName": "type", "mapping": refs},
    }
    return components


def _wire_schema(kind: Any, made: Json) -> Json:
    own = {
        WIRE_NAMES.get(name, name): about
        for name, about in made["properties"].items()
        if name not in BASE_PROPERTIES
    }
    return {
        "type": "object",
        "description": made.get("description", ""),
        "properties": {"type": {"const": kind.type}, **BASE_PROPERTIES, **own},
        "required": [
            "type",
            "seq",
            "at",
            *(name for name in own if name not in OPTIONAL_FIELDS[kind]),
        ],
    }
