#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""schema.py NAME: does each line, or document, of stdin have the schema of that name?

The schemas are those of Documentation/command.rst: after ``name``:: a document with
the type of each value in place of the value.
"""
import json
import os
import re
import sys

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../Documentation/command.rst")

TYPES = {
    "text": lambda v: isinstance(v, str) and v.isascii() and v.isprintable(),
    "digits": lambda v: isinstance(v, str) and v.isdigit(),
    "count": lambda v: type(v) is int and v >= 0,
    "id": lambda v: type(v) is int and v >= 0,
    "seconds": lambda v: type(v) in (int, float) and v >= 0,
    "bool": lambda v: type(v) is bool,
}


def schemas():
    with open(PAGE, encoding="utf-8") as page:
        blocks = re.findall(r"^``([a-z -]+)``[^\n]*(?:\n[^\n]+)?::\n\n((?:  [^\n]*\n)+)",
                            page.read(), re.M)
    found = {}
    for name, text in blocks:
        if text.lstrip()[0] in "[{":
            found[name] = json.loads(text)
    return found


def check(value, schema, where):
    """Raises ValueError where @value is not of @schema."""
    if isinstance(schema, dict):
        if not isinstance(value, dict) or list(value) != list(schema):
            raise ValueError(f"{where}: {value!r} has not the keys {list(schema)}")
        for key, inner in schema.items():
            check(value[key], inner, f"{where}.{key}")
    elif isinstance(schema, list):
        if not isinstance(value, list):
            raise ValueError(f"{where}: {value!r} is no array")
        for number, element in enumerate(value):
            check(element, schema[0], f"{where}[{number}]")
    elif not isinstance(schema, str):
        if value != schema:
            raise ValueError(f"{where}: {value!r} is not {schema!r}")
    elif schema.endswith("?"):
        if value is not None:
            check(value, schema[:-1], where)
    elif schema in TYPES:
        if not TYPES[schema](value):
            raise ValueError(f"{where}: {value!r} is no {schema}")
    else:
        check(value, SCHEMAS[schema], where)


def documents(text):
    """One behind the other, as top prints them."""
    decoder = json.JSONDecoder()
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        yield document
        text = text.lstrip()[end:]


SCHEMAS = schemas()
number = 0
try:
    for document in documents(sys.stdin.read()):
        check(document, SCHEMAS[sys.argv[1]], sys.argv[1])
        number += 1
except (ValueError, KeyError) as error:
    sys.exit(f"{error}")
if not number:
    sys.exit("there is no document")
print(number)
