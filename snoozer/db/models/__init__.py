"""ORM models of the tables, for queries and Alembic. Nothing is written through them."""

from snoozer.db.models.account import (
    Account,
    ApiToken,
    BulkAct,
    CapturedMail,
    IdempotencyKey,
    Identity,
    OwnAddress,
    QuotaUsage,
    Session,
    SignIn,
    TypedPhrase,
    UserPreset,
)
from snoozer.db.models.audit import AuditEntry
from snoozer.db.models.base import Base
from snoozer.db.models.case_view import SavedCaseView
from snoozer.db.models.cutover import ImportedJob, ShadowJob
from snoozer.db.models.day_shape import SavedDayShape
from snoozer.db.models.deletion import AccountDeletion
from snoozer.db.models.digest import Digest, DigestMember
from snoozer.db.models.feed import StoredFeed
from snoozer.db.models.imports import Import, ImportRow
from snoozer.db.models.list_change import ListChange, ListCheckpoint
from snoozer.db.models.mail_act import MailAct
from snoozer.db.models.mailbox import ConnectedMailbox, FlaggedMessage, MailboxSignIn
from snoozer.db.models.message import MailboxMessage, MessageOriginal, is_kept_by, is_message_of
from snoozer.db.models.operation import OperationMember, StoredOperation
from snoozer.db.models.operator_pause import Pause
from snoozer.db.models.push import PushDevice, PushKey, PushSend
from snoozer.db.models.snooze import (
    EMAIL,
    ArchivedSend,
    ArchivedSnooze,
    Event,
    Send,
    Snooze,
)
from snoozer.db.models.state import due_time, is_send_of, promised_time
from snoozer.db.models.webhook import WebhookDelivery, WebhookEndpoint
from snoozer.db.models.worker import CircuitBreaker, HousekeepingRun, QueueMinute, ServerStart, Worker

metadata = Base.metadata
