"""The description of the API."""

from typing import Any

from pydantic import RootModel


class Document(RootModel[dict[str, Any]]):
    """An OpenAPI document."""
