"""The page about a concept of a language model.

``record`` holds what the page shows, ``gather`` computes it with the model, ``page`` draws it and computes nothing.
"""

from gramian.report.concept.page import write_concept_page
from gramian.report.concept.record import ConceptRecord, DamagePoint, MethodScores, ReadText, SteeredText

__all__ = ["ConceptRecord", "DamagePoint", "MethodScores", "ReadText", "SteeredText", "write_concept_page"]
