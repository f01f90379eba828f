"""The most of each quota, as the operator sets it."""

from typing import Annotated, Self

from pydantic import BaseModel, Field

MEBIBYTE = 1024 * 1024

_Limit = Annotated[int, Field(ge=0, lt=2**62)]


class Limits(BaseModel):
    """The most of each quota; 0 means no limit."""

    snoozes_per_minute: _Limit = Field(default=240, alias="SNOOZER_LIMIT_SNOOZES_PER_MINUTE")
    snoozes_per_day: _Limit = Field(default=5_000, alias="SNOOZER_LIMIT_SNOOZES_PER_DAY")
    token_snoozes_per_minute: _Limit = Field(default=120, alias="SNOOZER_LIMIT_TOKEN_SNOOZES_PER_MINUTE")
    requests_per_minute: _Limit = Field(default=1_200, alias="SNOOZER_LIMIT_REQUESTS_PER_MINUTE")
    token_requests_per_minute: _Limit = Field(default=600, alias="SNOOZER_LIMIT_TOKEN_REQUESTS_PER_MINUTE")
    upload_bytes_per_day: _Limit = Field(default=256 * MEBIBYTE, alias="SNOOZER_LIMIT_UPLOAD_BYTES_PER_DAY")
    failed_tokens_per_minute: _Limit = Field(default=20, alias="SNOOZER_LIMIT_FAILED_TOKENS_PER_MINUTE")
    sign_ins_per_hour: _Limit = Field(default=100, alias="SNOOZER_LIMIT_SIGN_INS_PER_HOUR")
    mails_per_day: _Limit = Field(default=2_000, alias="SNOOZER_LIMIT_MAILS_PER_DAY")
    mailbox_checks_per_hour: _Limit = Field(default=20, alias="SNOOZER_LIMIT_MAILBOX_CHECKS_PER_HOUR")
    exports_per_hour: _Limit = Field(default=20, alias="SNOOZER_LIMIT_EXPORTS_PER_HOUR")
    imported_snoozes_per_day: _Limit = Field(default=20_000, alias="SNOOZER_LIMIT_IMPORTED_SNOOZES_PER_DAY")
    mail_bytes_per_day: _Limit = Field(default=1024 * MEBIBYTE, alias="SNOOZER_LIMIT_MAIL_BYTES_PER_DAY")

    @property
    def limits(self) -> Self:
        """These settings, for a reader that needs the quotas alone."""
        return self
