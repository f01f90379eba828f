"""The address and token with which a person's commands find their Snoozer."""

from pydantic import BaseModel, Field, SecretStr


class ClientSettings(BaseModel):
    """The part of the settings that is about it. Without a url it is that of BASE_URL."""

    client_url: str = Field(default="", alias="SNOOZER_URL")
    client_token: SecretStr = Field(default=SecretStr(""), alias="SNOOZER_TOKEN")
