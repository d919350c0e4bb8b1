"""Behaviours that packages bring: registered at start-up, read like any other."""

from agents.core.behaviours.behaviour import Behaviour
from agents.core.behaviours.reader import read_behaviour
from agents.core.behaviours.sexp import InvalidBehaviour
from agents.core.behaviours.shipped import BEHAVIOUR_NAMES, load_shipped_texts
from agents.core.behaviours.vocabulary import BehaviourVocabulary
from agents.core.registry import RegistrationError, Registry

PACKAGED: Registry[Behaviour] = Registry("behaviour")


def register_behaviour(text: str) -> Behaviour:
    """Offer a behaviour as a mode to everybody on the site."""
    try:
        behaviour = read_behaviour(text, BehaviourVocabulary(behaviours=load_shipped_texts()))
    except InvalidBehaviour as error:
        raise RegistrationError(f"a behaviour cannot be read: {error}") from None
    if behaviour.name in BEHAVIOUR_NAMES:
        text = f"behaviour {behaviour.name!r} comes with Oracle. Give yours another name."
        raise RegistrationError(text)
    PACKAGED.register(behaviour.name, behaviour)
    return behaviour
