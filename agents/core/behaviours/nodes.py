"""The nodes of a behaviour, read from their forms: each checked by what its kind wants."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from agents.core.behaviours.behaviour import Behaviour, BehaviourNode, BoundValue
from agents.core.behaviours.options import OptionReader
from agents.core.behaviours.parts import NodeParts, is_node, split_node, write_label
from agents.core.behaviours.placement import CHECKPOINT, Around, check_place, enter_node
from agents.core.behaviours.sexp import MAX_DEPTH, SourceForm
from agents.core.behaviours.signatures import MAX_ITERATIONS, NODE_KINDS, NodeKind, NodeOption
from agents.core.behaviours.values import NO_VALUE, get_literal, suggest_keyword
from agents.core.behaviours.vocabulary import BehaviourVocabulary
from agents.core.behaviours.words import BehaviourWord, WordType
from agents.core.control.kinds import ANY, TRUTH, ListKind, fits
from agents.core.control.problems import suggest_name
from agents.core.reasons import REASONS, Outcome


class SubBehaviours(Protocol):
    """Who reads the behaviours that are named in another, and counts all nodes."""

    vocabulary: BehaviourVocabulary

    def count_node(self, form: SourceForm) -> int:
        """Return the number of the next node, or refuse the whole text."""
        ...

    def read_named(
        self, parts: NodeParts, options: dict[str, Any], around: Around
    ) -> Behaviour | None:
        """Return another behaviour, read as it stands here; its ports are added to the options."""
        ...


@dataclass(slots=True)
class _Bound:
    """What a node comes to, besides its options and children."""

    subject: Any = None
    word: BehaviourWord | None = None
    behaviour: Behaviour | None = None


class NodeReader:
    def __init__(self, subs: SubBehaviours) -> None:
        self._subs = subs
        self._vocabulary = subs.vocabulary
        self._binders: Mapping[str, Callable[[NodeParts, dict[str, Any], Around], _Bound]] = {
            "action": self._bind_action,
            "approve": self._bind_text,
            "call": self._bind_call,
            "condition": self._bind_condition,
            "decorator": self._bind_decorator,
            "fail": self._bind_text,
            "for-each": self._bind_for_each,
            "notify": self._bind_text,
            "parallel": self._bind_parallel,
            "repeater": self._bind_repeater,
            "set": self._bind_set,
            "stop": self._bind_stop,
            "subtree": self._bind_subtree,
        }

    def read(self, form: SourceForm, around: Around) -> BehaviourNode:
        """Read a node and all that is in it."""
        number = self._subs.count_node(form)
        kind = NODE_KINDS.get(form.head)
        if kind is None or around.depth > MAX_DEPTH:
            return self._refuse_node(form, around, number)
        parts = split_node(form, kind, self._list_options(form, kind), around.values)
        check_place(form, around)
        options = self._read_options(parts, kind, around)
        binder = self._binders.get(form.head)
        bound = binder(parts, options, around) if binder else _Bound()
        inside = self._enter(form, options, bound, around)
        children = tuple(self.read(child, inside) for child in parts.children)
        if bound.behaviour is not None:
            children = (bound.behaviour.root,)
        return BehaviourNode(
            number=number,
            kind=form.head,
            label=write_label(form),
            place=form.place,
            subject=bound.subject,
            options=options,
            children=children,
            word=bound.word,
            behaviour=bound.behaviour,
        )

    def _refuse_node(self, form: SourceForm, around: Around, number: int) -> BehaviourNode:
        """Refuse an unknown node; what is in it is read all the same, so that all is found."""
        if around.depth > MAX_DEPTH:
            around.values.refuse(form, f"this is nested more than {MAX_DEPTH} deep")
        elif not form.head:
            around.values.refuse(form, "a node begins with its kind, such as (sequence")
        else:
            near = suggest_name(form.head, NODE_KINDS)
            around.values.refuse(form, f"there is no node {form.head[:80]!r}{near}")
        if around.depth <= MAX_DEPTH:
            deeper = replace(around, depth=around.depth + 1)
            for item in form.items:
                if is_node(item):
                    self.read(item, deeper)
        return BehaviourNode(number, form.head, "", form.place)

    def _enter(
        self, form: SourceForm, options: Mapping[str, Any], bound: _Bound, around: Around
    ) -> Around:
        """Return what is around the children of a node."""
        if form.head == "for-each":
            kind = bound.subject.kind if isinstance(bound.subject, BoundValue) else ANY
            item = kind.item if isinstance(kind, ListKind) else ANY
            values = around.values.with_item(options.get("as", "item"), item)
            around = replace(around, values=values, gathers=around.in_parallel)
        return enter_node(form.head, around, bound.word.name if bound.word else "")

    # -- options ----------------------------------------------------------------------------------

    def _list_options(self, form: SourceForm, kind: NodeKind) -> Mapping[str, NodeOption] | None:
        """Return the keywords of a node; those of a decorator are what its class takes."""
        if form.head != "decorator":
            return kind.options
        name = form.items[1].source if len(form.items) > 1 else ""
        word = self._vocabulary.words.find("decorator", name)
        if word is None:
            return None
        return {
            name.replace("_", "-"): NodeOption(
                type="flag" if parameter.kind == TRUTH else "value", kind=parameter.kind, about=""
            )
            for name, parameter in word.parameters.items()
        }

    def _read_options(self, parts: NodeParts, kind: NodeKind, around: Around) -> dict[str, Any]:
        known = self._list_options(parts.form, kind) or {}
        reader = self._build_option_reader(around)
        return {
            name: reader.read(known[name], form)
            for name, form in parts.options.items()
            if name in known
        }

    def _build_option_reader(self, around: Around) -> OptionReader:
        return OptionReader(around.values, around.writable, self._vocabulary.tools, around.gathers)

    # -- kinds ------------------------------------------------------------------------------------

    def _bind_repeater(self, parts: NodeParts, options: dict[str, Any], around: Around) -> _Bound:
        if options.get("until-success") and options.get("until-failure"):
            around.values.refuse(parts.form, "give :until-success or :until-failure, not both")
        until = bool(options.get("until-success"))
        wanted = options.get("max-iterations", MAX_ITERATIONS)
        if isinstance(wanted, BoundValue) and wanted.is_literal:
            wanted = get_literal(wanted)
        return _Bound((until if until or options.get("until-failure") else None, wanted))

    def _bind_for_each(self, parts: NodeParts, options: dict[str, Any], around: Around) -> _Bound:
        if not parts.subject:
            return _Bound()
        return _Bound(around.values.read(parts.subject[0], ListKind(ANY)))

    def _bind_parallel(self, parts: NodeParts, options: dict[str, Any], around: Around) -> _Bound:
        loops = [child for child in parts.children if child.head == "for-each"]
        if loops and len(parts.children) > 1:
            text = "a parallel has calls, or one for-each: not both"
            around.values.refuse(loops[0], text)
        return _Bound()

    def _bind_decorator(self, parts: NodeParts, options: dict[str, Any], around: Around) -> _Bound:
        word = self._find_word("decorator", parts, around)
        if word is None:
            return _Bound()
        if word.name == CHECKPOINT and (around.in_checkpoint or around.is_cleanup):
            around.values.refuse(parts.form, f"{CHECKPOINT} cannot be used here: one is enough")
        named = {name.replace("-", "_"): value for name, value in options.items()}
        self._check_missing(word, named, parts, around)
        if all(name in named for name in word.parameters if word.parameters[name].is_required):
            self._try_decorator(word, named, parts, around)
        return _Bound(named, word)

    def _try_decorator(
        self, word: BehaviourWord, named: dict[str, Any], parts: NodeParts, around: Around
    ) -> None:
        """Build a decorator once: what its class refuses is told now, and not in a run."""
        if None in named.values():
            return
        try:
            word.use(**named)
        except Exception as error:
            around.values.refuse(parts.form, f"{word.name}: {error}")

    def _bind_subtree(self, parts: NodeParts, options: dict[str, Any], around: Around) -> _Bound:
        name = parts.subject[0].source if parts.subject else ""
        if parts.children:
            for option in parts.options.values():
                text = "only another behaviour has keys of its own: these nodes share them all"
                around.values.refuse(option, text)
            return _Bound(name)
        behaviour = self._subs.read_named(parts, options, around) if name else None
        return _Bound(name, behaviour=behaviour)

    def _bind_condition(self, parts: NodeParts, options: dict[str, Any], around: Around) -> _Bound:
        if parts.subject and parts.subject[0].type == "text":
            return _Bound(around.values.read_condition(parts.subject[0]))
        return _Bound(word=self._find_word("condition", parts, around))

    def _bind_action(self, parts: NodeParts, options: dict[str, Any], around: Around) -> _Bound:
        word = self._find_word("action", parts, around)
        args: dict[str, BoundValue] = options.get("args", {})
        if word is None:
            return _Bound()
        for name, value in args.items():
            known = word.parameters.get(name)
            place = parts.options["args"]
            if known is None:
                near = suggest_keyword(name, word.parameters)
                around.values.refuse(place, f"{word.name} takes no :{name}{near}")
            elif not fits(value.kind, known.kind):
                text = f"{word.name} takes {known.kind.name} as :{name}, not {value.kind.name}"
                around.values.refuse(place, text)
        self._check_missing(word, args, parts, around)
        return _Bound(word=word)

    def _check_missing(
        self, word: BehaviourWord, given: Mapping[str, Any], parts: NodeParts, around: Around
    ) -> None:
        for name, parameter in word.parameters.items():
            if parameter.is_required and name not in given:
                shown = name.replace("_", "-") if word.type == "decorator" else name
                around.values.refuse(parts.form, f"{word.name} needs :{shown}")

    def _find_word(self, type_: WordType, parts: NodeParts, around: Around) -> BehaviourWord | None:
        """Return the registered word that a node names, `:fn` before its own name."""
        if not parts.subject:
            return None
        form = parts.options.get("fn", parts.subject[0])
        words = self._vocabulary.words
        word = words.find(type_, form.text)
        if word is None:
            near = suggest_name(form.text, words.list_names(type_))
            around.values.refuse(form, f"there is no {type_} {form.text[:80]!r}{near}")
        return word

    def _bind_call(self, parts: NodeParts, options: dict[str, Any], around: Around) -> _Bound:
        if around.in_parallel and not around.gathers and "into" in parts.options:
            text = "parallel calls have no :into: use a for-each to gather their results"
            around.values.refuse(parts.options["into"], text)
        if not parts.subject:
            return _Bound()
        name = self._build_option_reader(around).check_tool(parts.subject[0])
        self._check_arguments(name, options.get("args", {}), parts, around)
        return _Bound(name)

    def _check_arguments(
        self, tool: str, args: Mapping[str, BoundValue], parts: NodeParts, around: Around
    ) -> None:
        """Refuse what a tool would refuse, as far as it is known before a run."""
        tools = self._vocabulary.tools
        if not isinstance(tools, Mapping) or tool not in tools:
            return
        parameters, refuse = tools[tool], around.values.refuse
        form = parts.options.get("args")
        for key, place in zip(form.items[::2], form.items[1::2], strict=False) if form else ():
            name, value = key.text, args.get(key.text)
            if key.type != "keyword":
                continue
            if (known := parameters.get(name)) is None:
                near = suggest_keyword(name, parameters)
                refuse(key, f"{tool} takes no :{name[:80]}{near}")
            elif value is None or value is NO_VALUE:
                continue
            elif not fits(value.kind, known.kind):
                text = f"{tool} takes {known.kind.name} as :{name}, not {value.kind.name}"
                refuse(place, text)
            elif value.is_literal and (fault := known.find_fault(get_literal(value))):
                refuse(place, f"{tool} refuses this as :{name}: {fault}")
        for name, parameter in parameters.items():
            if parameter.is_required and name not in args:
                refuse(parts.form, f"{tool} needs :{name}")

    def _bind_set(self, parts: NodeParts, options: dict[str, Any], around: Around) -> _Bound:
        if not parts.subject:
            return _Bound()
        key, value = parts.subject
        bound = around.values.read(value)
        name = self._build_option_reader(around).find_writable(key, bound.kind)
        if "most" in options and not fits(bound.kind, ListKind(ANY)):
            around.values.refuse(parts.options["most"], ":most applies only to a list")
        return _Bound((name, bound))

    def _bind_text(self, parts: NodeParts, options: dict[str, Any], around: Around) -> _Bound:
        return _Bound(around.values.read_template(parts.subject[0]) if parts.subject else None)

    def _bind_stop(self, parts: NodeParts, options: dict[str, Any], around: Around) -> _Bound:
        if not parts.subject:
            return _Bound()
        reasons = [code for code, reason in REASONS if reason.outcome is Outcome.LIMITED]
        form = parts.subject[0]
        if form.source not in reasons:
            known = f"; the reasons are {', '.join(reasons)}"
            near = suggest_name(form.source, reasons) or known
            text = f"there is no reason {form.source[:80]!r} for which a behaviour may stop{near}"
            around.values.refuse(form, text)
        return _Bound(form.source)
