"""The laws of the house that the import linter cannot see."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from snoozer.db.statements import names, sources

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "snoozer"
SOURCES = sources()
# The modules that are one function a statement, and the nouns of these.
STATEMENT_NOUNS = {
    "accounts": ["accounts"],
    "archive": ["archive"],
    "audit": ["audit"],
    "breaker": ["breaker"],
    "bulk_acts": ["bulk_acts"],
    "case_views": ["case_views"],
    "cutover": ["cutover"],
    "day_shapes": ["day_shapes"],
    "digests": ["digests"],
    "events": ["events"],
    "health_checks": ["health_checks"],
    "deletions": ["deletions"],
    "feeds": ["feeds"],
    "grants": ["grants"],
    "imports": ["imports"],
    "ledger": ["ledger"],
    "mailbox_leases": ["mailbox_leases"],
    "mailbox_store": ["messages"],
    "mailboxes": ["mailboxes"],
    "notifications": ["push", "webhooks"],
    "operations": ["operations"],
    "pauses": ["pauses"],
    "queue": ["queue", "peek"],
    "quotas": ["quotas"],
    "replies": ["replies"],
    "timeline": ["timeline"],
    "workers": ["workers"],
}
# Modules that are continued in another one.
PARTS = {"queue": ["queue", "changes"], "notifications": ["notifications", "push", "webhooks"]}
# Functions that read by the ORM, and what calls no statement, or several.
WITHOUT_COUNTERPART = {
    "day_shapes": {"shape_of"},
    "digests": {"add_members"},
    "queue": {"asked_terms", "held"},
    "health_checks": {"violations"},
    "mailbox_store": {"move"},
}
MAX_LINES = 400
TEST_FOLDERS = {"unit", "db", "imap", "mail", "web", "browser", "process", "chaos"}
# Of other projects: SQLAlchemy's rows, aiosmtpd's line endings, the standard library's codecs.
PRIVATE_NAMES_OF_OTHERS = {"_mapping", "_fix_eols", "encodings._cache"}
QUEUE_COLUMNS = ["claimed_at", "claimed_by", "claim_token", "lease_expires_at"]

_STATEMENT = re.compile(
    r"^\s*(SELECT\s.+\sFROM\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|WITH\s+\w+\s+AS\s*\()", re.S
)
_WRITE = re.compile(r"\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+email_snoozes\b", re.I)


def modules() -> Iterator[Path]:
    return PACKAGE.rglob("*.py")


def strings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_sql_text_lives_in_sql_files_only() -> None:
    found = [str(path) for path in modules() for text in strings(path) if _STATEMENT.match(text)]
    assert found == []


def test_only_settings_reads_the_environment() -> None:
    environ = re.compile(r"\bos\.(environ|getenv)\b|\bfrom os import .*\b(environ|getenv)\b|\(BaseSettings\b")
    readers = {path.relative_to(PACKAGE).as_posix() for path in modules() if environ.search(path.read_text())}
    assert readers == {"settings.py"}


def test_only_the_import_of_a_zip_unpacks_files() -> None:
    """`restoring` bounds what it unpacks, and so must what joins this list. The other two only compress."""
    imports = re.compile(r"^\s*(?:import|from) (?:zipfile|tarfile|gzip|bz2|lzma|zlib|shutil)\b", re.MULTILINE)
    unpacking = re.compile(r"decompress|unpack_archive|extract|ZipFile|tarfile|GzipFile|(?:gzip|bz2|lzma)\.open")
    found = {path.name for path in modules() if imports.search(source := path.read_text()) and unpacking.search(source)}
    assert found == {"restoring.py", "originals.py", "compression.py"}


def test_no_file_is_too_long_to_read_whole() -> None:
    files = [
        path for folder in (PACKAGE, ROOT / "tests") for path in folder.rglob("*") if path.suffix in {".py", ".sql"}
    ]
    assert [str(path) for path in files if len(path.read_text().splitlines()) > MAX_LINES] == []


def test_the_storm_has_every_test_with_a_long_run() -> None:
    storm = (ROOT / "Makefile").read_text().partition("\nstorm:")[2].partition("\n\n")[0]
    listed = [ROOT / path for path in re.findall(r"tests/\S+", storm)]
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    long = [path for path in files if re.search(r"SNOOZER_STORM|import .*\bFULL\b", path.read_text())]
    assert [path for path in long if not any(path.is_relative_to(one) for one in listed)] == []
    assert [path for path in listed if not path.exists()] == []


def test_the_wheel_has_every_package() -> None:
    """setup.py finds the folders with an `__init__.py`."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_write_to_the_queue_is_a_file_of_the_queue() -> None:
    writers = {name.partition("/")[0] for name, source in SOURCES.items() if _WRITE.search(_code(source.text))}
    assert writers == {"queue"}


def test_the_orm_writes_nothing() -> None:
    written = re.compile(r"\bsession\.(add|add_all|merge|delete|flush)\(|(?<!\.)\b(insert|update|delete)\(\s*[A-Z]")
    reading = [PACKAGE / "db" / "queries", PACKAGE / "web"]
    guilty = [
        str(path)
        for folder in reading
        for path in folder.rglob("*.py")
        if re.search(r"sqlalchemy", path.read_text()) and written.search(path.read_text())
    ]
    assert guilty == []


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_every_statement_begins_with_what_it_promises(name: str) -> None:
    first = SOURCES[name].text.splitlines()[0]
    assert first.startswith("-- ")
    assert first[3].isupper()


def statement_module(name: str) -> Path:
    [found] = [path for room in ("db", "queue") if (path := PACKAGE / room / f"{name}.py").exists()]
    return found


@pytest.mark.parametrize("module", STATEMENT_NOUNS)
def test_each_statement_has_one_function_of_its_name(module: str) -> None:
    trees = [ast.parse(statement_module(part).read_text()) for part in PARTS.get(module, [module])]
    defined = [node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    functions = {name for name in defined if not name.startswith("_")}
    verbs = {verb for noun in STATEMENT_NOUNS[module] for verb in names(noun)}
    assert functions ^ verbs == WITHOUT_COUNTERPART.get(module, set())


@pytest.mark.parametrize("name", ["recover", "release"])
def test_a_statement_that_may_retire_a_row_has_one_predicate_for_it(name: str) -> None:
    code = _code(SOURCES[f"queue/{name}"].text)
    [inactive] = re.findall(r"inactive = (.+),", code)
    [outcome] = re.findall(r"outcome = CASE WHEN (.+) THEN 'retired' END", code)
    [finished_at] = re.findall(r"finished_at = CASE WHEN (.+) THEN CURRENT_TIMESTAMP END", code)
    assert inactive == outcome == finished_at


def test_statements_that_clear_a_claim_do_it_in_one_order() -> None:
    for verb in names("queue"):
        code = _code(SOURCES[f"queue/{verb}"].text)
        if "claimed_at = NULL" in code:
            places = [code.index(f"{column} = NULL") for column in QUEUE_COLUMNS]
            assert places == sorted(places), verb


def test_what_locks_a_limited_number_of_rows_is_materialized() -> None:
    """An inlined sub-select may be run again for each row, and take more than its LIMIT."""
    for name, source in SOURCES.items():
        code = _code(source.text)
        if "SKIP LOCKED" in code:
            assert re.search(r"AS MATERIALIZED \([^;]*?SKIP LOCKED", code, re.S), name


def test_no_module_is_named_for_odds_and_ends() -> None:
    drawers = {"utils", "helpers", "common", "manager", "service", "misc"}
    assert [path for path in modules() if path.stem in drawers] == []


def test_what_tests_share_is_in_no_test_file() -> None:
    taken = re.compile(r"^from tests\.[\w.]*\btest_\w+ import", re.M)
    guilty = [str(path) for path in (ROOT / "tests").rglob("*.py") if taken.search(path.read_text())]
    assert guilty == []


def test_every_folder_of_tests_is_named_for_what_it_needs() -> None:
    files = {path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*.py")}
    assert {path.parts[0] for path in files if len(path.parts) > 1} == TEST_FOLDERS


def test_tests_touch_no_private_name_of_the_product() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in (ROOT / "tests").rglob("*.py")
        for line, name in _private_names(ast.parse(path.read_text()))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("engine._pool", ["engine._pool"]),
        ("make().inner._x = 1", ["make().inner._x"]),
        ("from snoozer.queue.queue import _parts, claim", ["_parts"]),
        ("from snoozer import _app", ["_app"]),
        ("import snoozer._app", ["snoozer._app"]),
        ("from snoozer.web._app import create", ["snoozer.web._app"]),
        ("monkeypatch.setattr(queue, '_clock', 1)", ["_clock"]),
        ("monkeypatch.setattr('snoozer.queue.queue._clock', 1)", ["snoozer.queue.queue._clock"]),
        ("self._x + cls._y + row._mapping.a + obj.__dict__ + encodings._cache", []),
        ("from tests.db.rows import _row", []),
        ("monkeypatch.setattr(module, '__doc__', '_')", []),
    ],
)
def test_what_counts_as_a_private_name(source: str, found: list[str]) -> None:
    assert [name for _, name in _private_names(ast.parse(source))] == found


def _private_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=attribute) if _is_private(attribute):
                if PRIVATE_NAMES_OF_OTHERS.isdisjoint({attribute, ast.unparse(node)}):
                    yield node.lineno, ast.unparse(node)
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] == "snoozer":
                imported = [module, *(alias.name for alias in names)]
                yield from ((node.lineno, name) for name in imported if _is_private(name))
            case ast.Import(names=names):
                imported = [alias.name for alias in names if alias.name.split(".")[0] == "snoozer"]
                yield from ((node.lineno, name) for name in imported if _is_private(name))
            case ast.Call(func=ast.Attribute(attr="setattr" | "delattr"), args=[*targets]):
                named = [x.value for x in targets[:2] if isinstance(x, ast.Constant) and isinstance(x.value, str)]
                yield from ((node.lineno, name) for name in named if _is_private(name))


def _is_private(dotted: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in dotted.split("."))


def _code(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


def test_each_decision_has_a_number_of_its_own() -> None:
    numbers = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("0*.md")]
    assert len(numbers) > 20
    assert sorted(set(numbers)) == sorted(numbers)
