"""The fixed phrases: all that the embedded model ever says in its own words."""

ENGLISH = {
    "declared": "Answered without a language model: these are passages of your notes.",
    "plain": "Answered without a language model.",
    "nearest": "Nothing in the notes answers this directly; these come closest:",
    "nothing": "I found nothing about this in the notes.",
    "looked": "I looked for: {}.",
    "quoted": "“{}”",
    "unread": "Found by searching; I could not read the whole notes.",
    "no_tool": "I cannot look into the notes here: the tool vault_search is not offered.",
    "failed": "The notes could not be searched:",
    "not_yet": "I have not looked into the notes yet, and this was the last iteration.",
    "empty": "There are no notes yet. Add some, and ask again.",
    "above": "Already answered above:",
    "no_more": "The notes say no more about this than the answer above.",
    "about": "About “{}”:",
    "more": "There is more; ask for one of them.",
    "result": "The tool says:",
    "welcome": "You are welcome.",
    "talk": "Ask me about your notes: who, when, where, how many, why or how; “list …”, "
    "“summarise …”, “compare … and …” or “where is … mentioned?”.",
}
GERMAN = {
    "declared": "Ohne Sprachmodell beantwortet: Das sind Stellen aus deinen Notizen.",
    "plain": "Ohne Sprachmodell beantwortet.",
    "nearest": "Nichts in den Notizen beantwortet das unmittelbar; am nächsten kommen:",
    "nothing": "Dazu habe ich in den Notizen nichts gefunden.",
    "looked": "Gesucht habe ich nach: {}.",
    "quoted": "„{}“",
    "unread": "Durch Suchen gefunden; ganz lesen konnte ich die Notizen nicht.",
    "no_tool": "Ich kann hier nicht in die Notizen sehen: Das Werkzeug vault_search fehlt.",
    "failed": "Die Notizen ließen sich nicht durchsuchen:",
    "not_yet": "Ich habe noch nicht in die Notizen gesehen, und dies war die letzte Runde.",
    "empty": "Es gibt noch keine Notizen. Lege welche an und frage noch einmal.",
    "above": "Oben schon beantwortet:",
    "no_more": "Mehr als oben steht dazu nicht in den Notizen.",
    "about": "Zu „{}“:",
    "more": "Es gibt noch mehr; frage nach einer davon.",
    "result": "Das Werkzeug sagt:",
    "welcome": "Gern geschehen.",
    "talk": "Frage mich nach deinen Notizen: wer, wann, wo, wie viel, warum oder wie; „liste …“, "
    "„fasse … zusammen“, „vergleiche … und …“ oder „wo wird … erwähnt?“.",
}
NOTHING = (ENGLISH["nothing"], GERMAN["nothing"])
