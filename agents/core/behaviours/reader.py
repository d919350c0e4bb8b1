"""A behaviour from its text: everything is checked, and every problem told at once."""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from agents.core.behaviours.behaviour import Behaviour, BehaviourNode
from agents.core.behaviours.blackboard import (
    KIND_NAMES,
    BlackboardKey,
    BlackboardSchema,
    get_default_kind,
)
from agents.core.behaviours.nodes import NodeReader
from agents.core.behaviours.parts import NodeParts, is_node
from agents.core.behaviours.placement import Around
from agents.core.behaviours.ports import PortReader
from agents.core.behaviours.sexp import InvalidBehaviour, SourceForm, read_form
from agents.core.behaviours.signatures import MAX_NAME, MAX_NODES
from agents.core.behaviours.values import RUN_FACTS, ValueReader, get_literal, suggest_keyword
from agents.core.behaviours.vocabulary import BehaviourVocabulary
from agents.core.control.problems import PlacedProblem, suggest_name

TREE_KEYWORDS = ("description", "decision-tree", "blackboard-schema", "finally")
MAX_DESCRIPTION = 300
MAX_KEYS = 50
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,59}")


def read_behaviour(text: str, vocabulary: BehaviourVocabulary | None = None) -> Behaviour:
    """Read one behaviour. Raises InvalidBehaviour with all of its problems."""
    return _TreeReader(text, vocabulary or BehaviourVocabulary()).read()


class _TreeReader:
    """Reads one text. Those that read what it names count their nodes with it."""

    def __init__(
        self,
        text: str,
        vocabulary: BehaviourVocabulary,
        outer: "_TreeReader | None" = None,
        name: str = "",
    ) -> None:
        self.vocabulary = vocabulary
        self._text = text
        self._problems: list[PlacedProblem] = []
        self._counts: list[int] = outer._counts if outer else [0]
        self._chain: tuple[str, ...] = (*outer._chain, name) if outer else ()
        """The behaviours that are being read, from the outermost on."""
        self._forms: dict[str, SourceForm] = outer._forms if outer else {}
        self._named: dict[str, str] = outer._named if outer else {}

    def read(self, around: Around | None = None) -> Behaviour:
        form = self._read_form()
        plain = ValueReader(self._problems, {})
        if form.type != "(" or form.head != "tree":
            plain.refuse(form, 'a behaviour begins with (tree "its name"')
            raise InvalidBehaviour(self._problems)
        name, options, nodes = self._split_tree(form, plain)
        self._chain = self._chain or (name,)
        schema = self._read_schema(options.get("blackboard-schema"), plain)
        writable = {key: about.kind for key, about in schema.items()}
        inside = Around(ValueReader(self._problems, writable), writable)
        if around is not None:
            inside = Around(
                inside.values,
                writable,
                around.depth + 1,
                is_cleanup=around.is_cleanup,
                in_checkpoint=around.in_checkpoint,
                requests=around.requests,
            )
        reader = NodeReader(self)
        roots = [reader.read(node, inside) for node in nodes]
        cleanup = None
        if (last := options.get("finally")) is not None:
            cleanup = reader.read(last, Around(inside.values, writable, is_cleanup=True))
        description = self._read_text(options, "description", MAX_DESCRIPTION, plain)
        tree = self._read_decision_tree(options, plain)
        if self._problems:
            raise InvalidBehaviour(self._problems)
        return Behaviour(
            name=name,
            description=description,
            decision_tree=tree,
            schema=schema,
            root=roots[0],
            cleanup=cleanup,
            text=self._text,
            digest=self._build_digest(),
            reads_facts=_reads_facts(inside.values, [roots[0], cleanup]),
        )

    def _build_digest(self) -> str:
        """Return the digest of the text and of those that it names: together they are one."""
        known = sha256(self._text.encode())
        for name, text in sorted(self._named.items()):
            known.update(f"\0{name}\0{text}".encode())
        return known.hexdigest()

    def _read_form(self) -> SourceForm:
        """Read the form; of a behaviour that is named often, once."""
        name = self._chain[-1] if self._chain else ""
        if name not in self._forms:
            self._forms[name] = read_form(self._text)
        return self._forms[name]

    # -- the outermost form -----------------------------------------------------------------------

    def _split_tree(
        self, form: SourceForm, plain: ValueReader
    ) -> tuple[str, dict[str, SourceForm], list[SourceForm]]:
        """Return the name, what stands after each keyword, and the nodes, of which one is right."""
        name = ""
        rest = list(reversed(form.items[1:]))
        if not rest or rest[-1].type != "text":
            plain.refuse(form, 'a behaviour has a name in quotes: (tree "plan-then-do"')
        else:
            name = self._check_name(rest.pop(), plain)
        options: dict[str, SourceForm] = {}
        nodes: list[SourceForm] = []
        while rest:
            item = rest.pop()
            if item.type == "keyword":
                self._take_keyword(item, rest, options, plain)
            elif is_node(item):
                nodes.append(item)
            else:
                plain.refuse(item, "this does not belong in tree")
        if len(nodes) != 1:
            plain.refuse(nodes[1] if nodes else form, f"tree has one node, not {len(nodes)}")
        return name, options, nodes

    def _check_name(self, form: SourceForm, plain: ValueReader) -> str:
        name = form.text
        if len(name) > MAX_NAME or not _NAME.fullmatch(name):
            text = (
                f"a name has at most {MAX_NAME} lowercase letters, digits and hyphens: plan-then-do"
            )
            plain.refuse(form, text)
        return name

    def _take_keyword(
        self,
        keyword: SourceForm,
        rest: list[SourceForm],
        options: dict[str, SourceForm],
        plain: ValueReader,
    ) -> None:
        name = keyword.text
        if name not in TREE_KEYWORDS:
            near = suggest_keyword(name, TREE_KEYWORDS)
            plain.refuse(keyword, f"tree has no keyword :{name}{near}")
            if rest and not is_node(rest[-1]) and rest[-1].type != "keyword":
                rest.pop()
        elif name in options:
            plain.refuse(keyword, f":{name} is given twice")
        elif not rest or is_node(rest[-1]) != (name == "finally"):
            wanted = "a node" if name == "finally" else "a value"
            plain.refuse(keyword, f":{name} has {wanted} after it")
        else:
            options[name] = rest.pop()

    def _read_text(
        self, options: Mapping[str, SourceForm], name: str, at_most: int, plain: ValueReader
    ) -> str:
        form = options.get(name)
        if form is None:
            return ""
        if form.type != "text" or len(form.text) > at_most:
            plain.refuse(form, f"expected a text of at most {at_most} characters")
            return ""
        return form.text

    def _read_decision_tree(self, options: Mapping[str, SourceForm], plain: ValueReader) -> str:
        name = self._read_text(options, "decision-tree", MAX_NAME, plain)
        known = self.vocabulary.decision_trees
        if name and known is not None and name not in known:
            text = f"there is no decision tree {name!r}{suggest_name(name, known)}"
            plain.refuse(options["decision-tree"], text)
        return name or "default"

    def _read_schema(self, form: SourceForm | None, plain: ValueReader) -> BlackboardSchema:
        if form is None:
            return {}
        pairs = plain.read_pairs(form)
        if len(pairs) > MAX_KEYS:
            plain.refuse(form, f"a blackboard has at most {MAX_KEYS} keys")
        return {name: self._read_key(name, value, plain) for name, value in pairs.items()}

    def _read_key(self, name: str, form: SourceForm, plain: ValueReader) -> BlackboardKey:
        if not _KEY.fullmatch(name):
            plain.refuse(form, f":{name[:60]} is not a key: use lowercase letters, digits and _")
        if form.type == "word" and form.source in KIND_NAMES:
            return BlackboardKey(KIND_NAMES[form.source])
        if form.type == "word" and form.source not in ("true", "false", "nil"):
            near = suggest_name(form.source, KIND_NAMES)
            plain.refuse(form, f"there is no kind {form.source[:60]!r}{near}")
            return BlackboardKey(KIND_NAMES["any"])
        value = plain.read(form)
        if not value.is_literal:
            if not self._problems:
                plain.refuse(form, "a key begins with a value that is written here")
            return BlackboardKey(KIND_NAMES["any"])
        default: Any = get_literal(value)
        return BlackboardKey(get_default_kind(default), default)

    # -- what it names ----------------------------------------------------------------------------

    def count_node(self, form: SourceForm) -> int:
        self._counts[0] += 1
        if self._counts[0] > MAX_NODES:
            text = f"there are more than {MAX_NODES} nodes, with those of the behaviours it names"
            raise InvalidBehaviour([*self._problems, PlacedProblem(*form.place, text)])
        return self._counts[0]

    def read_named(
        self, parts: NodeParts, options: dict[str, Any], around: Around
    ) -> Behaviour | None:
        form = parts.subject[0]
        name, known = form.source, self.vocabulary.behaviours
        if name in self._chain:
            chain = " → ".join((*self._chain[self._chain.index(name) :], name))
            around.values.refuse(form, f"{name} would be in itself: {chain}")
            return None
        if name not in known:
            near = suggest_name(name, known)
            around.values.refuse(form, f"there is no behaviour {name[:80]!r}{near}")
            return None
        try:
            found = _TreeReader(known[name], self.vocabulary, self, name).read(around)
        except InvalidBehaviour as error:
            first = error.problems[0]
            around.values.refuse(form, f"the behaviour {name!r} has a problem at {first}")
            return None
        self._named[name] = known[name]
        options.update(PortReader(found, around).read(parts))
        return found


def _reads_facts(values: ValueReader, roots: Iterable[BehaviourNode | None]) -> bool:
    """Return whether something looks at the facts of a run, here or in what is named."""
    inside = (node.behaviour for root in roots if root is not None for node in root.walk())
    return not values.names_read.isdisjoint(RUN_FACTS) or any(
        other is not None and other.reads_facts for other in inside
    )
