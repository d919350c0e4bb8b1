"""A project's code, as it goes out."""

from pydantic import Field

from agents.code.service import Certainty, CodeHit, Definition, Reference
from chat.api.schemas import Query, Schema

NO_NULL = r"^[^\x00]*$"
MAX_LINES = 2_000


class CodeSearchQuery(Query):
    q: str = Field(min_length=1, max_length=500, pattern=NO_NULL, description="Words or names.")
    limit: int = Field(5, ge=1, le=20)
    language: str = Field("", max_length=20, pattern=NO_NULL, description="Such as python.")


class CodeFileQuery(Query):
    path: str = Field(min_length=1, max_length=500, pattern=NO_NULL)
    first: int = Field(1, ge=1, le=10_000_000, description="The first line to send.")
    count: int = Field(MAX_LINES, ge=1, le=MAX_LINES, description="How many lines at most.")


class DefinitionQuery(Query):
    symbol: str = Field(min_length=1, max_length=200, pattern=NO_NULL)
    scope: str = Field("", max_length=500, pattern=NO_NULL, description="A folder; empty: all.")


class ReferenceQuery(Query):
    symbol: str = Field(min_length=1, max_length=200, pattern=NO_NULL)
    limit: int = Field(20, ge=1, le=50)


class MapQuery(Query):
    scope: str = Field(
        "", max_length=500, pattern=NO_NULL, description="A folder, or what a question is about."
    )
    max_tokens: int = Field(2_000, ge=500, le=8_000)


class CodeHitView(Schema):
    path: str
    language: str
    symbol: str = Field(description="The definition around the line; empty outside of any.")
    line: int
    snippet: str
    score: float = Field(description="From 0 to 1.")

    @classmethod
    def build(cls, hit: CodeHit) -> "CodeHitView":
        return cls(
            path=hit.path,
            language=hit.language,
            symbol=hit.symbol,
            line=hit.line,
            snippet=hit.snippet,
            score=hit.score,
        )


class CodeHitList(Schema):
    hits: list[CodeHitView] = Field(description="Best first.")
    missing_words: list[str] = Field(description="Words that no file of the project has.")


class DefinitionView(Schema):
    path: str
    name: str
    container: str = Field(description="What it is defined in, such as a class.")
    kind: str
    line: int
    end_line: int
    signature: str
    excerpt: str = Field(description="Its first lines.")

    @classmethod
    def build(cls, found: Definition) -> "DefinitionView":
        return cls(
            path=found.path,
            name=found.name,
            container=found.container,
            kind=found.kind,
            line=found.line,
            end_line=found.end_line,
            signature=found.signature,
            excerpt=found.excerpt,
        )


class DefinitionList(Schema):
    definitions: list[DefinitionView]


class ReferenceView(Schema):
    path: str
    line: int
    text: str
    certainty: Certainty

    @classmethod
    def build(cls, found: Reference) -> "ReferenceView":
        return cls(path=found.path, line=found.line, text=found.text, certainty=found.certainty)


class ReferenceList(Schema):
    definitions: list[DefinitionView]
    references: list[ReferenceView] = Field(description="Most certain first.")
    total: int


class MappedFileView(Schema):
    path: str
    definitions: list[DefinitionView]


class MapView(Schema):
    files: list[MappedFileView]
    file_count: int = Field(description="Of all files that it was chosen from.")
    definition_count: int = Field(description="Of all definitions that it was chosen from.")


class CodeFileView(Schema):
    path: str
    language: str
    reading: str = Field(description="parsed, words, or listed: how much of it is known.")
    size: int
    blob_hash: str = Field(description="What git calls its content.")
    line_count: int
    first: int
    lines: list[str]
