"""Written calls of every family, good and broken, each with what must come of it.

End tags are put together by functions, so that the samples read like the syntax they test.
"""

import json
from dataclasses import dataclass, field

KNOWN = frozenset({"vault_search", "vault_read", "think", "search", "my-tool"})


@dataclass(frozen=True)
class Sample:
    written: str
    shown: str
    calls: list[tuple[str, object]] = field(default_factory=list)
    """The complete ones."""
    malformed: int = 0


def element(tag: str, inside: str, attributes: str = "") -> str:
    return f"<{tag}{attributes}>{inside}</{tag.partition('=')[0]}>"


def hermes(inside: str) -> str:
    return element("tool_call", inside)


def invoke(name: str, *parameters: tuple[str, str], prefix: str = "") -> str:
    inside = "".join(
        "\n" + element(f"{prefix}parameter", value, f' name="{key}"') for key, value in parameters
    )
    return element(f"{prefix}invoke", f"{inside}\n", f' name="{name}"')


def function(name: str, *parameters: tuple[str, str]) -> str:
    inside = "".join("\n" + element(f"parameter={key}", value) for key, value in parameters)
    return element(f"function={name}", f"{inside}\n")


def deepseek(*items: str, bar: str = "\uff5c", space: str = "\u2581") -> str:
    def tag(words: str) -> str:
        return f"<{bar}{words.replace(' ', space)}{bar}>"

    calls = "\n".join(
        tag("tool call begin") + item.replace("SEP", tag("tool sep")) + tag("tool call end")
        for item in items
    )
    return tag("tool calls begin") + calls + tag("tool calls end")


SEARCH = '{"name": "vault_search", "arguments": {"query": "owls"}}'
OWLS = ("vault_search", {"query": "owls"})
FENCED = 'functionSEPvault_search\n```json\n{"query": "owls"}\n```'
TRICKY = {
    "query": 'a </tool_call> } { " \\ ] end',
    "tags": ["</function>", {"deep": [1, 2.5, None]}],
}
TRICKY_JSON = json.dumps(TRICKY)

GOOD = {
    "hermes": Sample(f"Let me look.\n{hermes(SEARCH)}\n", "Let me look.\n\n", [OWLS]),
    "hermes on lines": Sample(hermes(f"\n{SEARCH}\n"), "", [OWLS]),
    "hermes, two objects": Sample(hermes(f"{SEARCH}\n{SEARCH}"), "", [OWLS, OWLS]),
    "hermes, two tags": Sample(f"{hermes(SEARCH)} {hermes(SEARCH)}", " ", [OWLS, OWLS]),
    "hermes, parameters": Sample(
        hermes('{"name": "think", "parameters": {"a": 1}}'), "", [("think", {"a": 1})]
    ),
    "hermes, no arguments": Sample(hermes('{"name": "think"}'), "", [("think", {})]),
    "hermes, null arguments": Sample(
        hermes('{"name": "think", "arguments": null}'), "", [("think", {})]
    ),
    "hermes, arguments as text": Sample(
        hermes('{"name": "think", "arguments": "{\\"a\\": 1}"}'), "", [("think", {"a": 1})]
    ),
    "hermes, unknown name": Sample(hermes('{"name": "fly"}'), "", [("fly", {})]),
    "hermes, line break in a string": Sample(
        hermes('{"name": "think", "arguments": {"a": "x\ny"}}'), "", [("think", {"a": "x\ny"})]
    ),
    "hermes, end tag and braces in strings": Sample(
        hermes(f'{{"name": "search", "arguments": {TRICKY_JSON}}}'), "", [("search", TRICKY)]
    ),
    "hermes around function tags": Sample(
        hermes("\n" + function("search", ("query", "owls")) + "\n"),
        "",
        [("search", {"query": "owls"})],
    ),
    "invoke": Sample(
        "a " + invoke("search", ("query", "owls")), "a ", [("search", {"query": "owls"})]
    ),
    "invoke, values": Sample(
        invoke("search", ("n", "5"), ("yes", "true"), ("s", '"5"'), ("o", '{"a": [1]}'), ("e", "")),
        "",
        [("search", {"n": 5, "yes": True, "s": '"5"', "o": {"a": [1]}, "e": ""})],
    ),
    "invoke, odd numbers": Sample(
        invoke("search", ("a", "NaN"), ("b", "1e999"), ("c", "9" * 5000)),
        "",
        [("search", {"a": "NaN", "b": "1e999", "c": "9" * 5000})],
    ),
    "invoke, no parameters": Sample(invoke("think"), "", [("think", {})]),
    "invoke, single quotes": Sample(invoke("think").replace('"', "'"), "", [("think", {})]),
    "invoke, more attributes": Sample(
        invoke("think", ("a", "b")).replace('name="a"', 'name="a" string="true"'),
        "",
        [("think", {"a": "b"})],
    ),
    "invoke, value on lines": Sample(
        invoke("think", ("a", "\nfirst\n\nlast\n")), "", [("think", {"a": "first\n\nlast"})]
    ),
    "invoke, tags in a value": Sample(
        invoke("think", ("a", f"x < y <b> {hermes(SEARCH)}")),
        "",
        [("think", {"a": f"x < y <b> {hermes(SEARCH)}"})],
    ),
    "function_calls": Sample(
        element("function_calls", "\n" + invoke("think") + "\n" + invoke("fly", ("a", "b")) + "\n"),
        "",
        [("think", {}), ("fly", {"a": "b"})],
    ),
    "prefixed invoke": Sample(
        invoke("think", ("a", "b"), prefix="antml:"), "", [("think", {"a": "b"})]
    ),
    "prefixed function_calls": Sample(
        "x" + element("antml:function_calls", invoke("think", prefix="antml:")) + "y",
        "xy",
        [("think", {})],
    ),
    "deepseek, fenced": Sample(deepseek(FENCED) + " x", " x", [OWLS]),
    "deepseek, two": Sample(deepseek(FENCED, FENCED), "", [OWLS, OWLS]),
    "deepseek, newer": Sample(deepseek('vault_searchSEP{"query": "owls"}'), "", [OWLS]),
    "deepseek, ascii": Sample(deepseek(FENCED, bar="|", space="_"), "", [OWLS]),
    "deepseek, ascii, newer": Sample(
        deepseek(f"searchSEP{TRICKY_JSON}", bar="|", space="_"), "", [("search", TRICKY)]
    ),
    "deepseek, mixed": Sample(deepseek(FENCED, bar="|"), "", [OWLS]),
    "function, json": Sample(element("function=search", '{"a": 1}'), "", [("search", {"a": 1})]),
    "function, tricky json": Sample(
        element("function=search", f" {TRICKY_JSON}\n"), "", [("search", TRICKY)]
    ),
    "function, parameters": Sample(
        function("search", ("query", "\nowls\n"), ("n", "3")),
        "",
        [("search", {"query": "owls", "n": 3})],
    ),
    "function, nothing inside": Sample(function("think"), "", [("think", {})]),
    "inline": Sample('I call vault_search{"query": "owls"} now.', "I call  now.", [OWLS]),
    "inline, first": Sample('think{}think{"a": 1}', "", [("think", {}), ("think", {"a": 1})]),
    "inline, tricky": Sample(f"(search{TRICKY_JSON})", "()", [("search", TRICKY)]),
    "inline, hyphen": Sample('my-tool{"a": "é"}', "", [("my-tool", {"a": "é"})]),
    "mixed": Sample(
        f"One {hermes(SEARCH)} two think{{}} three {invoke('think')} four {deepseek(FENCED)}.",
        "One  two  three  four .",
        [OWLS, ("think", {}), ("think", {}), OWLS],
    ),
    "after closed code": Sample(
        f"`<tool_call>` and ```xml\n{hermes(SEARCH)}\n``` then {hermes(SEARCH)}",
        f"`<tool_call>` and ```xml\n{hermes(SEARCH)}\n``` then ",
        [OWLS],
    ),
    "after an unclosed code span of an earlier line": Sample(
        f"a stray ` here\n{hermes(SEARCH)}", "a stray ` here\n", [OWLS]
    ),
    "after a broken call": Sample(
        f'a <tool_call>{{"name": oops {hermes(SEARCH)}', "a ", [OWLS], malformed=1
    ),
    "between broken calls": Sample(
        f"{hermes(SEARCH[:-1])} {hermes(SEARCH)} {hermes('{}')} x", "   x", [OWLS], malformed=2
    ),
    "after a mention": Sample(
        f"With <tool_call> as in {hermes(SEARCH)}", "With <tool_call> as in ", [OWLS]
    ),
    "hermes without its closing tag": Sample(f"a <tool_call>{SEARCH}\n", "a ", [OWLS]),
    "hermes with half its closing tag": Sample(f"<tool_call>{SEARCH}</tool_ca", "", [OWLS]),
    "hermes, two calls without a closing tag": Sample(
        f"<tool_call>{SEARCH}\n{SEARCH}", "", [OWLS, OWLS]
    ),
    "hermes, a call and a half": Sample(
        f"<tool_call>{SEARCH}{SEARCH[:9]}", "", [OWLS], malformed=1
    ),
    "inside an unclosed wrapper": Sample(
        "a <function_calls>" + invoke("think"), "a ", [("think", {})]
    ),
    "inside an unclosed wrapper, then text": Sample(
        f"<function_calls>{invoke('think')} I wait.\nAnd wait.",
        " I wait.\nAnd wait.",
        [("think", {})],
    ),
    "inside a wrapper with something else": Sample(
        f"<function_calls>{invoke('think')}; </function_calls>\nyes", "\nyes", [("think", {})]
    ),
    "inside an unclosed deepseek wrapper": Sample(
        deepseek(FENCED, FENCED)[: -len("<_tool_calls_end_>")], "", [OWLS, OWLS]
    ),
    "function tags inside an unclosed hermes wrapper": Sample(
        "<tool_call>\n" + function("search", ("query", "owls")), "", [("search", {"query": "owls"})]
    ),
    "a broken call inside a wrapper": Sample(
        element("function_calls", element("invoke", "x", ' name="fly"') + invoke("think")) + "y",
        "y",
        [("think", {})],
        malformed=1,
    ),
    "a broken call inside a deepseek wrapper": Sample(
        deepseek("functionSEPthink\n```json\n{oops}\n```", FENCED) + "y", "y", [OWLS], malformed=1
    ),
    "an unclosed call in a wrapper": Sample(
        "<function_calls>" + invoke("think") + invoke("search", ("a", "b"))[:-12],
        "",
        [("think", {})],
        malformed=1,
    ),
    "code after a broken call": Sample(
        f"a <tool_call>{{oops, as in `{hermes(SEARCH)}`", "a ", malformed=1
    ),
}

MALFORMED = {
    "unclosed hermes": "<tool_call>" + SEARCH[:-1],
    "unclosed hermes, then text": "<tool_call>" + SEARCH + " and so on",
    "hermes, a brace too many": hermes(SEARCH + "}"),
    "empty hermes": hermes(""),
    "hermes without name": hermes('{"arguments": {}}'),
    "hermes with odd arguments": hermes('{"name": "think", "arguments": [1]}'),
    "hermes with a list": hermes("[1]"),
    "hermes, not json": hermes("hello"),
    "hermes, missing brace": hermes(SEARCH[:-1]),
    "hermes, nan": hermes('{"name": "think", "arguments": {"a": NaN}}'),
    "hermes, infinite": hermes('{"name": "think", "arguments": {"a": 1e999}}'),
    "hermes, deep": hermes('{"a":' + "[" * 5000 + "]" * 5000 + "}"),
    "hermes, wrong bracket": hermes('{"name": "think"]'),
    "empty function_calls": element("function_calls", " "),
    "invoke without name": element("invoke", ""),
    "invoke with empty name": invoke(" "),
    "invoke, other tag inside": element("invoke", "<b>", ' name="think"'),
    "invoke, unclosed": invoke("think", ("a", "b"))[:-3],
    "wrong prefix inside": element("antml:function_calls", invoke("think").replace("<i", "< i")),
    "deepseek, unclosed": deepseek(FENCED)[:40],
    "deepseek, no json": deepseek("searchSEPhello"),
    "function without name": element("function=", "{}"),
    "function, not json": element("function=think", "hello"),
    "inline, unclosed": 'think{"a": 1',
    "inline, odd value": 'think{"a": oops}',
}

TEXT = {
    "hermes in a sentence": "Models write <tool_call> first.",
    "hermes around a word, in a sentence": "Write <tool_call>...</tool_call> around it.",
    "invoke in a sentence": "An <invoke> tag.\n\nIt has a name.",
    "prose": "Owls sleep by day. 3 < 4, a<b>c</b>, {x}, f(x) { return 1 }, `code`, ``` fence ```.",
    "half an opener": "see <tool_ca",
    "half a name": "I vault_sea",
    "a name": "Then I think",
    "invoker": '<invoker name="x">',
    "inline, unknown name": 'fly{"a": 1}',
    "inline, inside a word": 'rethink{"a": 1} re_think{"a": 1}',
    "inline, not json": "think{a: 1} think{ return 1; } think{'a': 1}",
    "inline, space": 'think {"a": 1}',
    "in a fence": f"```xml\n{hermes(SEARCH)}\n{invoke('think')}\nthink{{}}\n```",
    "in a longer fence": f"````md\n```\n{hermes(SEARCH)}\n```\n````",
    "in an unclosed fence": f"```\n{hermes(SEARCH)}",
    "in code": f"Write `{hermes(SEARCH)}`, ``think{{}} ` {invoke('think')}`` or `think{{}}`.",
}

SAMPLES = {
    **GOOD,
    **{name: Sample(f"So: {written}", "So: ", malformed=1) for name, written in MALFORMED.items()},
    **{name: Sample(written, written) for name, written in TEXT.items()},
}


@dataclass(frozen=True)
class Parts:
    """An answer that can be cut anywhere: text, and calls that begin with `marker`, in a wrapper
    or not."""

    marker: str
    calls: list[str]
    wrapper: tuple[str, str] = ("", "")
    closing: int = 0
    """The length of a call's closing tag, if it counts without."""

    @property
    def written(self) -> str:
        return "So: " + "".join(self.calls).join(self.wrapper)

    def expect(self, length: int) -> tuple[str, int, int]:
        """Return what is shown of the first `length` characters, and the number of complete and
        of malformed calls in them."""
        pos = len("So: " + self.wrapper[0])
        if length < pos + (0 if self.wrapper[0] else len(self.marker)):
            return self.written[:length], 0, 0
        complete = malformed = 0
        for call in self.calls:
            end = pos + len(call) - self.closing
            complete += end <= length
            malformed += pos + len(self.marker) <= length < end
            pos += len(call)
        return "So: ", complete, malformed or (0 if complete else 1)


def deepseek_parts(*items: str, bar: str, space: str) -> Parts:
    def tag(words: str) -> str:
        return f"<{bar}{words.replace(' ', space)}{bar}>"

    wrapper, marker = (tag("tool calls begin"), tag("tool calls end")), tag("tool call begin")
    written = deepseek(*items, bar=bar, space=space).removesuffix(wrapper[1])
    first, *others = written.removeprefix(wrapper[0]).split(marker)[1:]
    return Parts(marker, [marker + each.strip() for each in (first, *others)], wrapper)


PREFIX = "antml:"
SEARCHES = [invoke("search", ("query", "owls"), ("n", "5")), invoke("think", ("a", "<b> é"))]
PREFIXED = [invoke("think", ("a", "b"), prefix=PREFIX)]
FUNCTIONS = [function("search", ("query", "owls")), element("function=think", '{"a": 1}')]
PARTS = {
    "hermes": Parts("<tool_call>", [hermes(SEARCH)], closing=len("</tool_call>")),
    "hermes around function tags": Parts("<function=", FUNCTIONS, ("<tool_call>", "</tool_call>")),
    "function tags": Parts("<function=", FUNCTIONS[:1]),
    "function tags, json": Parts("<function=", FUNCTIONS[1:]),
    "inline": Parts("vault_search{", ['vault_search{"query": "owls"}']),
    "invoke": Parts("<invoke", SEARCHES[:1]),
    "prefixed invoke": Parts(f"<{PREFIX}invoke", PREFIXED),
    "function_calls": Parts("<invoke", SEARCHES, ("<function_calls>", "</function_calls>")),
    "prefixed function_calls": Parts(
        f"<{PREFIX}invoke", PREFIXED, (f"<{PREFIX}function_calls>", f"</{PREFIX}function_calls>")
    ),
    **{
        f"deepseek, {bar}{space}, {items[0]}": deepseek_parts(*items, bar=bar, space=space)
        for bar in "\uff5c|"
        for space in "\u2581_"
        for items in ((FENCED, FENCED), ('vault_searchSEP{"query": "owls"}',))
    },
}
