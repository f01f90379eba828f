"""The documentation of the API for a page, generated only from the OpenAPI document."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]

# The nouns with which most programs begin come first.
_NOUNS = ("snoozes", "bulk", "when", "settings", "mailboxes", "webhooks")
_METHODS = ("post", "get", "put", "patch", "delete")


@dataclass(frozen=True, kw_only=True)
class Field:
    """A parameter or a field of a body. `schema` is the name of its values' schema, if it has a name."""

    name: str
    kind: str
    schema: str | None
    required: bool
    text: str
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Reply:
    status: str
    text: str
    schema: str | None
    media_type: str
    headers: tuple[str, ...]

    @property
    def refuses(self) -> bool:
        return self.status >= "400"


@dataclass(frozen=True, kw_only=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    text: str
    scopes: tuple[str, ...]
    deprecated: bool
    parameters: tuple[Field, ...]
    body: str | None
    replies: tuple[Reply, ...]


@dataclass(frozen=True, kw_only=True)
class Named:
    """A named schema, and its fields; a schema without fields has a kind."""

    name: str
    text: str
    kind: str
    fields: tuple[Field, ...]


def operations(document: Schema) -> list[Operation]:
    """Every operation, grouped by noun: the collection, an item, and its acts."""
    return [
        _operation(path, method, document["paths"][path][method])
        for path in sorted(document["paths"], key=_noun)
        for method in sorted(document["paths"][path], key=_METHODS.index)
    ]


def _noun(path: str) -> tuple[int, int, str]:
    noun = path.split("/")[1]
    return _NOUNS.index(noun) if noun in _NOUNS else len(_NOUNS), path.count("/"), path


def schemas(document: Schema) -> list[Named]:
    """Every schema, sorted by name."""
    return [
        Named(
            name=name,
            text=schema.get("description", ""),
            kind=kind_of(schema),
            fields=tuple(_fields(schema)),
        )
        for name, schema in sorted(document["components"]["schemas"].items())
    ]


def kind_of(schema: Schema) -> str:
    """The type of a schema in words, with its limits."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join("null" if value is None else f'"{value}"' for value in values)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(kind_of(option) for option in schema[several]))
    types = schema.get("type", "anything")
    words = [types] if isinstance(types, str) else list(types)
    if "items" in schema:
        words[0] = f"array of {kind_of(schema['items'])}"
    if "format" in schema:
        words[0] = f"{words[0]} ({schema['format']})"
    limits = [
        f"{word} {schema[key]}"
        for key, word in (
            ("minimum", "from"),
            ("maximum", "to"),
            ("minLength", "at least"),
            ("maxLength", "at most"),
            ("maxItems", "up to"),
        )
        if key in schema
    ]
    return ", ".join([" or ".join(words), *limits])


def _operation(path: str, method: str, described: Schema) -> Operation:
    parameters = tuple(
        Field(
            name=each["name"],
            kind=kind_of(each["schema"]),
            schema=_named(each["schema"]),
            required=each.get("required", False),
            text=each.get("description") or "",
            place=each["in"],
        )
        for each in described.get("parameters", ())
    )
    return Operation(
        id=described["operationId"],
        method=method.upper(),
        path=path,
        summary=described.get("summary", ""),
        text=described.get("description", ""),
        scopes=tuple(scope for one in described.get("security", ()) for names in one.values() for scope in names),
        deprecated=described.get("deprecated", False),
        parameters=parameters,
        body=_content(described.get("requestBody", {}))[0],
        replies=tuple(_reply(status, reply) for status, reply in described["responses"].items()),
    )


def _reply(status: str, reply: Schema) -> Reply:
    schema, media_type = _content(reply)
    return Reply(
        status=status,
        text=reply.get("description", ""),
        schema=schema,
        media_type=media_type,
        headers=tuple(reply.get("headers", ())),
    )


def _content(holder: Schema) -> tuple[str | None, str]:
    for media_type, content in holder.get("content", {}).items():
        return _named(content.get("schema", {})), media_type
    return None, ""


def _fields(schema: Schema) -> Iterator[Field]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        yield Field(
            name=name,
            kind=kind_of(field),
            schema=_named(field),
            required=name in required,
            text=field.get("description", ""),
        )


def _named(schema: Schema) -> str | None:
    """The name of the schema that this one references, directly, as a list's items, or as an alternative."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    inner = [schema["items"]] if "items" in schema else [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return next((name for each in inner if (name := _named(each)) is not None), None)
