# SPDX-License-Identifier: Apache-2.0
"""Writes the files that describe a report from the field table in src/format/report_fields.h.

These are the JSON schema, its page, the viewer's types, and the properties in the type stub. Run
this script with the built extension after a change to the table. `--check` only compares, and exits
with status 1 if a file is out of date.
"""

import json
import re
import sys
from pathlib import Path

from cyclewatch import _native

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "docs" / "formats" / "report.schema.json"
PAGE = ROOT / "docs" / "formats" / "report_fields.md"
TYPES = ROOT / "viewer" / "src" / "report" / "fields.ts"
STUB = ROOT / "cyclewatch" / "_native.pyi"

VERSION = _native.REPORT_SCHEMA_VERSION
LINE_LENGTH = 100


def snake_case(name):
    """Return the name of a struct in the schema: 'FindingPart' -> 'finding_part'."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def with_definitions(schema):
    """Return `schema` with references to the definitions of the file."""
    if "$ref" in schema:
        return {"$ref": f"#/$defs/{snake_case(schema['$ref'])}"}
    inner = {
        key: with_definitions(schema[key])
        for key in ("items", "additionalProperties")
        if key in schema
    }
    return {**schema, **inner}


def definition(struct):
    """Return the JSON Schema of a struct."""
    fields = struct["fields"]
    return {
        "type": "object",
        "description": struct["text"],
        "required": [field["name"] for field in fields if field["required"]],
        "properties": {
            field["name"]: {**with_definitions(field["schema"]), "description": field["text"]}
            for field in fields
        },
    }


def json_schema(structs):
    """Return the text of the JSON Schema file."""
    report = definition(structs["Report"])
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"cyclewatch report, version {VERSION}",
        "type": "object",
        "description": "The report of a watch. Ignore unknown fields.",
        "required": ["schema", "schema_version", *report["required"]],
        "properties": {
            "schema": {"const": "cyclewatch-report"},
            "schema_version": {"const": VERSION},
            **report["properties"],
        },
        "$defs": {
            snake_case(name): definition(struct)
            for name, struct in structs.items()
            if name != "Report"
        },
    }
    return json.dumps(schema, indent=2) + "\n"


def type_in_words(schema):
    """Return the type of a field for the page."""
    if "$ref" in schema:
        return f"[{schema['$ref']}](#{schema['$ref'].lower()})"
    if "items" in schema:
        return f"list of {type_in_words(schema['items'])}"
    if "additionalProperties" in schema:
        return "object of integers"
    return "one of the words" if "enum" in schema else schema["type"]


def page(structs):
    """Return the text of the page with all fields."""
    parts = [
        "<!-- Written by scripts/report_fields.py. -->\n# The fields of a report\n\n"
        "All fields of [the report as JSON](report_json.md), in file order. Names in `code` of the "
        "form `Collection.number` are those of the Python API.\n"
    ]
    for name in ["Report", *(name for name in structs if name != "Report")]:
        struct = structs[name]
        rows = [
            f"| `{field['name']}` | {type_in_words(field['schema'])} | {field['text']} |"
            for field in struct["fields"]
        ]
        parts.append(
            f"\n## {name}\n\n{struct['text']}\n\n| field | type | meaning |\n|---|---|---|\n"
            + "\n".join(rows)
            + "\n"
        )
    return "".join(parts)


def typescript_type(schema):
    """Return the TypeScript type of a field."""
    if "$ref" in schema:
        return schema["$ref"]
    if "items" in schema:
        item = typescript_type(schema["items"])
        return f"({item})[]" if " | " in item else f"{item}[]"
    if "additionalProperties" in schema:
        return "Record<string, number>"
    if "enum" in schema:
        return " | ".join(f'"{word}"' for word in schema["enum"])
    return {"integer": "number"}.get(schema["type"], schema["type"])


def typescript(structs):
    """Return the text of the viewer's types."""
    parts = [
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// The fields of a report. Written by scripts/report_fields.py.\n"
    ]
    for name, struct in structs.items():
        lines = [
            f"    {field['name']}{'' if field['required'] else '?'}: "
            f"{typescript_type(field['schema'])}; // {field['text']}"
            for field in struct["fields"]
        ]
        parts.append(
            f"\n// {struct['text']}\nexport interface {name} {{\n" + "\n".join(lines) + "\n}\n"
        )
    return "".join(parts)


def python_type(schema):
    """Return the type of a property."""
    if "$ref" in schema:
        return schema["$ref"]
    if "items" in schema:
        return f"list[{python_type(schema['items'])}]"
    if "additionalProperties" in schema:
        return "dict[str, int]"
    if "enum" in schema:
        return "Literal[" + ", ".join(f'"{word}"' for word in schema["enum"]) + "]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[schema["type"]]


def stub_property(field):
    """Return the declaration of a property, in the layout of the formatter."""
    kind = python_type(field["schema"]) + (" | None" if field["may_be_none"] else "")
    line = f"    def {field['attribute']}(self) -> {kind}: ..."
    if len(line) > LINE_LENGTH:
        words = "".join(f'        "{word}",\n' for word in field["schema"]["enum"])
        line = f"    def {field['attribute']}(\n        self,\n    ) -> Literal[\n{words}    ]: ..."
    return f"    @property\n{line}\n"


def stub(structs, text):
    """Return `text` with the properties between the two comments in the class of each struct."""

    def replace(match):
        fields = structs[match["name"]]["fields"]
        properties = [stub_property(field) for field in fields if field["attribute"] is not None]
        return match["start"] + "".join(properties) + match["end"]

    return re.sub(
        r"(?P<start>class (?P<name>\w+):\n    # fields\n)(?:.*\n)*?(?P<end>    # end of fields\n)",
        replace,
        text,
    )


def main(arguments):
    """Write or compare the files; return the exit status."""
    structs = _native.report_fields()
    files = {
        SCHEMA: json_schema(structs),
        PAGE: page(structs),
        TYPES: typescript(structs),
        STUB: stub(structs, STUB.read_text(encoding="utf-8")),
    }
    out_of_date = [
        path
        for path, text in files.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if arguments == ["--check"]:
        for path in out_of_date:
            print(f"{path.relative_to(ROOT)} is out of date: run scripts/report_fields.py")
        return 1 if out_of_date else 0
    for path in out_of_date:
        path.write_text(files[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
