"""The public data that the studies read: fetched by one command, and read in its makers' formats or in others."""

from askwho_studies.data._get import get
from askwho_studies.data._housing import FILE as HOUSING_FILE
from askwho_studies.data._housing import read_housing
from askwho_studies.data._inventory import inventory, told
from askwho_studies.data._pictures import read_split
from askwho_studies.data._place import FOLDER, Form, Held, command, held, require
from askwho_studies.data._sets import SETS, Archive, PublicSet, Sum
from askwho_studies.data._votes import PEOPLE, VOTES, read_people, read_votes

__all__ = [
    "FOLDER",
    "HOUSING_FILE",
    "PEOPLE",
    "SETS",
    "VOTES",
    "Archive",
    "Form",
    "Held",
    "PublicSet",
    "Sum",
    "command",
    "get",
    "held",
    "inventory",
    "read_housing",
    "read_people",
    "read_split",
    "read_votes",
    "require",
    "told",
]
