"""Locales: the names we accept. A language without a word list is taken too, and read as English (see `Locale`)."""

import re

_NAME = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{2}))?(?:[-_.@][\w.@-]*)?", re.ASCII | re.IGNORECASE)

# ISO 639-1. Languages of three letters are taken as they come.
_LANGUAGES = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu
ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na
nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so
sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
# ISO 3166-1.
_COUNTRIES = """
ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw by bz
ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et fi fj fk fm fo
fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je
jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo
mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw
py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm
tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw
"""
# What a machine is set to that was set to nothing.
_NOWHERE = frozenset({"c", "posix"})


def canonical(name: str) -> str | None:
    """The locale of that name as `en` or `en_GB`, without an encoding; None where language or country is unknown."""
    if name.lower().partition(".")[0] in _NOWHERE:
        return "en_US"
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    language, country = match[1].lower(), match[2]
    if len(language) == 2 and language not in _LANGUAGES.split():
        return None
    if country is None:
        return language
    return f"{language}_{country.upper()}" if country.lower() in _COUNTRIES.split() else None
