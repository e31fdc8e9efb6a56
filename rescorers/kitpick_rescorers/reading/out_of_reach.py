"""Requests that no API of a catalog can serve: small talk, manual work, and deeds in another product.

Each is recognised by an expression, and only if nothing that was found is about it: a catalog that has a tool
for jokes, for lawns or for the named product answers such a request as any other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from kitpick_engines.contract import Candidate
from kitpick_engines.text import split_identifier
from kitpick_rescorers.reading.glossary import UNSPACED, word_rows

_MAX_READ = 200
_MAX_TEXT = 1_000
_TALK_LIST = """
(hi|hello|hey|howdy|greetings|good (morning|afternoon|evening|night|day))( (there|all|everyone|everybody|team|bot|again))?
((many )?thanks|thank you|thx|cheers|ty)( (a lot|so much|very much|again|everyone|for (that|your help|everything)))?
bye|good ?bye|see you( later)?|talk (to you )?(later|soon)
ok|okay|yes|no|yep|nope|sure|great|cool|nice|perfect|awesome|fine|right|alright|lol|haha|wow|sounds good|got it
well done|good job|never ?mind|forget it|whatever|please|yes please|no thanks
how are (you|things)( (doing|today))*|how ('s|is) it going|what ?'s up|did you sleep well|nice to meet you
(that|this|it) (was|is) ((really|very|so) )?(great|helpful|good|nice|useful|funny|awesome|perfect|wrong)
you (are|were) ((really|so|very) )?(great|helpful|funny|wrong|right|the best|nice|smart)( about (that|this|it))?
i (love|like|hate) you|think again|who (are|made|created) you|what (are you|is your name)|how old are you
are you (an? )?(real|human|person|real person|robot|bot|ai|there|ok|okay|alive)|what is the meaning of life
"""  # noqa: E501
_TALK = (
    "|".join(_TALK_LIST.strip().splitlines()).replace("(", "(?:").replace(" ?", r"\s?").replace(" ", r"\s+")
)
_MOST_TALK = 10
"""Expressions that one request says, one after the other. Some are two others as well ("no thanks"), so that
without a bound the ways to read a row of them double with each."""
_SMALL_TALK = re.compile(
    rf"\W*(?:{_TALK})(?:[\s,.!;:?-]+(?:{_TALK})){{0,{_MOST_TALK - 1}}}\W*", re.IGNORECASE
)
_SAYS_NOTHING = "the request is small talk and asks for nothing that is to be done"
_ABOUT_TALK = re.compile(
    r"\b(?:hello|greet\w*|chat\s?bot|small\s?talk|echo\w*|converse|conversation with)\b", re.IGNORECASE
)
"""What a tool says that may be meant for small talk."""
_MAX_TALK = 80
_WORD = re.compile(r"[^\W_]+")


def _lines() -> Mapping[str, tuple[str, ...]]:
    """The expressions of small talk in each language of the glossary, from `small_talk.txt`."""
    rows = word_rows("small_talk.txt", most=1)
    return {language: tuple(said for each, said in rows if each == language) for language, _ in rows}


_LINES = _lines()
_TALK_WORDS = {
    language: frozenset("".join(said) if language in UNSPACED else _WORD.findall(" ".join(said)))
    for language, said in _LINES.items()
}
"""The words of each language's expressions; of one without spaces between words, its signs."""
TALK_WORDS = frozenset().union(*_TALK_WORDS.values())
"""Small talk begins with one of these: with a word, or with a sign."""

_A = (
    r"(?:\s+(?:the|my|our|your|his|her|their|an?|some|all|this|that|these|those|me|us|two|old|dirty|front|back"
    r"|[a-z]+'s))*"
)
_ASKING = (
    r"\A\W*(?:(?:please|hey|now|then|(?:can|could|would|will)\s+(?:you|somebody|someone)"
    r"|i\s+(?:want|need)\s+(?:you|someone|somebody)\s+to)\W+)*"
)
_LAST = (
    r"(?=\W*$|\s+(?:under|before|after|while|for|by|on|a|in|this|green|white|tomorrow|today|please|now)\b)"
)
_HANDS_LIST = """
mow cut trim: lawn grass hedges? hair nails beard: lawn grass hedge hair nail beard garden salon barber hairdresser
walk groom bathe: dogs? cats? puppy: dog cat pet puppy animal
paint repaint: fence walls? house ceiling garage kitchen bedroom: paint fence wall decorator handyman
do wash fold iron dry: laundry dishes shirts? clothes trousers car windows: laundry dish dishes dishwasher clothes wash car
sweep mop scrub dust: floors? kitchen bathroom stairs house carpets?: floor kitchen bathroom clean cleaning robot vacuum
water: plants? flowers? garden: plant flower garden irrigation sprinkler
fix repair unclog: tap faucet sink toilet roof bike bicycle heart: tap faucet sink toilet roof bike plumber repair handyman
make cook bake fry brew: sandwich sandwiches coffee tea breakfast lunch dinner cake soup toast: coffee recipe cook meal food
give: hug kiss massage: hug massage spa
shovel clear: snow: snow
change inflate swap: diapers? nappy tyres? tires? lightbulbs?: diaper nappy tyre tire bulb car home
take bring: rubbish garbage bins: rubbish garbage waste bin
sing: song lullaby birthday: sing song music audio speech voice
"""  # noqa: E501
_BROKEN = r"(?:\s+(?:leaking|leaky|broken|dripping|blocked|out|big|good|nice|happy|hot|fresh))*"


def _deed(verbs: str, things: str) -> str:
    wanted = "|".join(things.split())
    return (
        rf"{_ASKING}(?:{'|'.join(verbs.split())})(?:ing)?{_A}{_BROKEN}{_A}{_BROKEN}\s+(?:{wanted})\b{_LAST}"
    )


_BY_HAND = tuple(
    (_deed(verbs, things), frozenset(about.split()))
    for verbs, things, about in (line.split(":") for line in _HANDS_LIST.strip().splitlines())
)
"""Work of hands, as a pattern, and the words of which a tool for it has one."""

_PRODUCTS = """
airtable airbnb alexa alipay amazon asana azure basecamp bitbucket bluesky box bumble canva clickup
confluence contentful databricks deezer discord docusign dropbox ebay etsy evernote expedia facebook
fedex figma firebase freshdesk github gitlab gmail gusto heroku hubspot instagram intercom jenkins jira
kayak klarna klaviyo linkedin lyft mailchimp mastodon netflix netlify netsuite notion okta onedrive
opentable outlook pagerduty paypal pinterest pipedrive quickbooks quora reddit salesforce sendgrid
servicenow sharepoint shopify skype slack snapchat snowflake spotify steam strava stripe telegram tiktok
tinder todoist trello tripadvisor tumblr twilio twitch twitter typeform uber vercel venmo webex whatsapp
wikipedia woocommerce wordpress workday xero youtube zendesk zillow zoom
"""
_PRODUCT = frozenset(_PRODUCTS.split())
_ONE_HOUSE = (
    "github azure outlook onedrive sharepoint skype linkedin",
    "facebook instagram whatsapp",
    "jira confluence trello bitbucket",
    "gmail youtube firebase",
    "amazon alexa twitch",
    "salesforce slack",
    "twilio sendgrid",
)
_NAMES = "|".join(sorted(_PRODUCT))
_WORDS_TOO = "box bumble discord intercom kayak notion outlook slack snowflake steam stripe tinder zoom"
_ALSO_WORDS = frozenset(_WORDS_TOO.split())
"""Products whose names are words: they are meant where they are written with a capital inside a request."""
_UNSURE = 0.5
"""A request that names another product is answered by a hit that is more likely right than this."""
_CAPITALS = re.compile(r"(?<=[\w,] )[A-Z][A-Za-z]{2,}")
_ITS = (
    "account|board|card|channel|chat|contact|deal|document|dm|invitation|invite|issue|meeting|message|page"
    "|playlist|post|profile|repo|repository|story|task|ticket|tweet|video|workspace"
)
_THEN = "please|now|today|tomorrow|tonight|and|for|at|so|if|as|by|to|with|that"
_IN_PRODUCT = re.compile(
    rf"\b(?:on|in|into|onto|via|using)\s+(?:(?:my|our|the)\s+)?(?P<there>{_NAMES})\b"
    rf"(?!['’-]|\s+(?!(?:{_THEN})\b)[a-z])"
    rf"|\b(?:an?|the|my|our|new)\s+(?P<its>{_NAMES})\s+(?:{_ITS})\b",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"\b(?:{_NAMES})\b", re.IGNORECASE)
_MAY_BE_OUT_OF_REACH = re.compile(
    "|".join((rf"\A{_SMALL_TALK.pattern}\Z", rf"\b(?:{_NAMES})\b", *(deed for deed, _ in _BY_HAND))),
    re.IGNORECASE,
)
"""What a request has that may be one of these."""
_SAYING = re.compile(
    r"\b(?:about|that|saying|says|regarding|because|why|whether|if|how|when|called|named|titled|from)\b|[:\"'“`]",
    re.IGNORECASE,
)
"""What begins the words of a message or a note: what stands behind it is no place of the deed."""


def may_be_out_of_reach(text: str) -> bool:
    """Whether a request has what may be one of these. A longer one than `_MAX_READ` is never read so."""
    return len(text) <= _MAX_READ and _MAY_BE_OUT_OF_REACH.search(text) is not None


def out_of_reach(text: str, found: Sequence[Candidate], sure: float = 1.0) -> str:
    """Why nothing of what was found can be meant; empty where something may be.

    `found` has the candidates, best first; the surest of them is right with the probability `sure`.
    """
    read = text[: _MAX_READ + 1]
    if len(read) > _MAX_READ:
        return ""
    talk = _unless_about_talk(found) if _SMALL_TALK.fullmatch(read) else ""
    told = talk or _by_hand(read, found) or _elsewhere(read, found)
    return told or (_of_another(read, found) if sure < _UNSURE else "")


def small_talk(text: str, found: Iterable[Candidate]) -> str:
    """Why a request asks for nothing, whatever language it was taken for: it is small talk and no more.

    Where one of the candidates is about talk, the request may mean it.
    """
    read = unicodedata.normalize("NFC", text[: _MAX_TALK + 1]).strip()
    if len(read) > _MAX_TALK or not any(_expressions(each).fullmatch(read) for each in _languages(read)):
        return ""
    return _unless_about_talk(found)


def _unless_about_talk(found: Iterable[Candidate]) -> str:
    return "" if any(_ABOUT_TALK.search(_as_text(each)) for each in found) else _SAYS_NOTHING


def _languages(text: str) -> list[str]:
    """Languages of whose small talk all words of a text are."""
    words = frozenset(_WORD.findall(text.lower()))
    signs = frozenset("".join(words))
    known = _TALK_WORDS.items()
    return [language for language, own in known if own >= (signs if language in UNSPACED else words)]


@lru_cache(maxsize=len(UNSPACED) + 3)
def _expressions(language: str) -> re.Pattern[str]:
    """One expression or several, with signs between them; where words have no spaces, without, too."""
    one = "|".join(_LINES[language]).replace(" ?", r"\s?").replace(" ", r"\s+")
    between = r"\W*" if language in UNSPACED else r"\W+"
    more = rf"(?:{between}(?:{one})){{0,{_MOST_TALK - 1}}}"
    return re.compile(rf"\W*(?:{one}){more}\W*", re.IGNORECASE)


@lru_cache(maxsize=1)
def _by_hand_deeds() -> Sequence[tuple[re.Pattern[str], frozenset[str]]]:
    """`_BY_HAND`, compiled where a request may be one of these: most are not."""
    return [(re.compile(deed, re.IGNORECASE), about) for deed, about in _BY_HAND]


def _by_hand(text: str, found: Iterable[Candidate]) -> str:
    said = [(deed.group(), about) for pattern, about in _by_hand_deeds() if (deed := pattern.search(text))]
    if not said:
        return ""
    held = frozenset().union(*(_words(_as_text(each)) for each in found))
    missing = next((deed for deed, about in said if about.isdisjoint(held)), "")
    told = f"the request asks for work of hands ({missing[:60]!r}), and nothing found is about it"
    return told if missing else ""


def _elsewhere(text: str, found: Sequence[Candidate]) -> str:
    saying = _SAYING.search(text)
    place = _IN_PRODUCT.search(text, 0, saying.start() if saying else len(text))
    if place is None or not found:
        return ""
    product = (place["there"] or place["its"]).lower()
    texts = [_words(_as_text(each)) for each in found]
    nearest = texts[0] & _PRODUCT - _house(product)
    if not nearest or any(not _house(product).isdisjoint(words) for words in texts) or nearest & _words(text):
        return ""
    return f"the request is to be done in {place['there'] or place['its']}, and nothing found is of it"


def _of_another(text: str, found: Sequence[Candidate]) -> str:
    saying = _SAYING.search(text)
    said = text[: saying.start()] if saying else text
    products = [match.group() for match in _NAMED.finditer(said) if _is_product(match)]
    if not products or not found:
        return ""
    texts = [_words(_as_text(each)) for each in found]
    meant = frozenset().union(*(_house(product.lower()) for product in products))
    meant |= {word.lower() for word in _CAPITALS.findall(text)} - _PRODUCT
    if any(not meant.isdisjoint(words) for words in texts) or _names_a_tool(text, found, texts):
        return ""
    return f"the request names {products[0]}, and nothing found is of it"


def _names_a_tool(text: str, found: Sequence[Candidate], texts: Sequence[frozenset[str]]) -> bool:
    """Whether a request has a word of a tool's name that no other tool's texts have."""
    asked = _words(text)
    for key, tool in {each.tool_key: each.tool for each in found}.items():
        others = (words for each, words in zip(found, texts, strict=True) if each.tool_key != key)
        if (_words(tool) & asked).difference(*others):
            return True
    return False


def _is_product(match: re.Match[str]) -> bool:
    """Whether a name is meant as one: some are words as well."""
    name = match.group()
    return name.lower() not in _ALSO_WORDS or (match.start() > 0 and name[0].isupper())


@lru_cache(maxsize=len(_PRODUCT))
def _house(product: str) -> frozenset[str]:
    """The product with others that its maker's tools may be named after."""
    return frozenset({product}).union(*(group.split() for group in _ONE_HOUSE if product in group.split()))


def _as_text(candidate: Candidate) -> str:
    """Its names and description, as far as they are read."""
    return " ".join(map(split_identifier, (candidate.api, candidate.tool))) + " " + candidate.text[:_MAX_TEXT]


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", text.lower()))
