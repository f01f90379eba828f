"""Charset names as messages declare them."""

import encodings

import pytest

from snoozer.mail.charsets import decode_bytes

# A sentence of each language, and the charsets in which it is written.
SENTENCES = {
    "Уважаемые коллеги, завтра в десять часов состоится собрание.": ("koi8_r", "cp1251", "cp866"),
    "Шановні колеги, запрошуємо вас на зустріч завтра о десятій. Її проведе Олена Їжак": ("koi8_u", "cp1251"),
    "いつもお世話になっております。明日の会議は午後三時からです。": ("cp932", "euc_jp", "iso2022_jp"),
    "明天下午三点在二楼会议室开会，请准时参加。": ("gb2312",),
    "明天下午三點在二樓會議室開會，請準時參加。": ("big5",),
    "안녕하세요. 내일 오후 세 시에 회의가 있습니다.": ("euc_kr",),
    "السلام عليكم، نود دعوتكم إلى اجتماع غدا في الساعة العاشرة": ("cp1256",),
    "שלום רב, הישיבה תתקיים מחר בשעה עשר בבוקר במשרד הראשי": ("cp1255", "iso8859_8"),
    "เรียนทุกท่าน ขอเชิญประชุมพรุ่งนี้เวลาสิบโมงเช้า": ("cp874",),
    "Αγαπητοί συνάδελφοι, η συνάντηση θα γίνει αύριο στις δέκα": ("iso8859_7", "cp1253"),
    "Değerli arkadaşlar, yarın saat onda toplantımız var. Işık Şahin": ("iso8859_9", "cp1254"),
    "Szanowni Państwo, zapraszamy jutro o godzinie dziesiątej. Łukasz Żółć": ("iso8859_2", "cp1250"),
    "Vážení kolegové, zítra v deset hodin se koná schůzka. Děkuji, Jiří": ("iso8859_2", "cp1250"),
    "Tisztelt Kollégák, holnap tíz órakor. Üdvözlettel, Győző Fűrész": ("iso8859_2", "cp1250"),
    "Gerbiami kolegos, kviečiame jus į susitikimą rytoj. Ačiū, Žydrūnas": ("cp1257",),
    "Liebe Kollegen, morgen um zehn Uhr. Viele Grüße aus Köln": ("cp1252",),
    "Chers collègues, la réunion aura lieu demain à dix heures. Où êtes-vous ?": ("cp1252",),
}


@pytest.mark.parametrize("times", [1, 90])
@pytest.mark.parametrize(("text", "charset"), [(text, one) for text, charsets in SENTENCES.items() for one in charsets])
def test_a_text_without_a_label_is_read_by_its_letters(text: str, charset: str, times: int) -> None:
    long = "\n".join([text] * times)
    assert decode_bytes(long.encode(charset), None) == long


@pytest.mark.parametrize(("text", "charset"), [(text, charsets[0]) for text, charsets in SENTENCES.items()])
def test_a_page_without_a_label_is_read_by_its_letters(text: str, charset: str) -> None:
    page = "".join(f"<p style='color:red'><font size=2>{word}</font>&nbsp;</p>" for word in text.split())
    assert decode_bytes(page.encode(charset), None) == page


@pytest.mark.parametrize("text", SENTENCES)
def test_a_text_in_utf_8_under_the_label_of_another_charset_is_read(text: str) -> None:
    assert decode_bytes(text.encode(), "iso-8859-1") == text
    assert decode_bytes((text * 3).encode(), "windows-1251") == text * 3


@pytest.mark.parametrize("charset", ["koi8_r", "gb2312", "big5", "euc_kr"])
def test_a_text_in_another_script_under_the_label_of_latin_letters_is_read(charset: str) -> None:
    text = next(text for text, charsets in SENTENCES.items() if charset in charsets)
    assert decode_bytes(text.encode(charset), "iso-8859-1") == text


@pytest.mark.parametrize(
    ("charset", "text"), [("cp1252", "Ã¼ber • • • ÀÉÎÕÜ"), ("koi8_r", "её"), ("cp874", "เขต"), ("gb18030", "模模模模")]
)
def test_a_label_that_may_be_right_is_taken(charset: str, text: str) -> None:
    assert decode_bytes(text.encode(charset), charset) == text


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("ISO-8859-1", b"caf\xe9 \x80", "café €"),
        ("'utf-8'", "é".encode(), "é"),
        ("KS_C_5601-1987", b"\xbd\xba", "스"),
        ("ansi_x3.4-1968", b"x", "x"),
        ("unicode_escape", rb"\x41", r"\x41"),
        ("raw-unicode-escape", rb"\u0041", r"\u0041"),
        ("zlib", b"x", "x"),
        ("nonsense", "é".encode(), "é"),
    ],
)
def test_a_name_is_understood_or_guessed(name: str, data: bytes, text: str) -> None:
    assert decode_bytes(data, name) == text


def test_unknown_names_are_not_cached() -> None:
    cache = encodings._cache
    decode_bytes(b"x", "utf-8")
    before = len(cache)
    for number in range(100):
        decode_bytes(b"x", f"no-such-{number}")
        decode_bytes(b"x", "utf" + "-" * number + "8")
    assert len(cache) == before
