# SPDX-License-Identifier: Apache-2.0
"""A document creates sections, lists them and returns each to the caller."""

import weakref

EXPECTED = ["Section .document"]


class Section:
    def __init__(self, document, text):
        self.document = document
        self.text = text


class Document:
    def __init__(self):
        self.sections = []

    def add(self, text):
        section = Section(self, text)
        self.sections.append(section)
        return section


class FixedDocument(Document):
    def add(self, text):
        section = Section(weakref.proxy(self), text)
        self.sections.append(section)
        return section


def leaky(payload):
    document = Document()
    document.add(payload())
    document.add(payload())


def fixed(payload):
    document = FixedDocument()
    document.add(payload())
    document.add(payload())
