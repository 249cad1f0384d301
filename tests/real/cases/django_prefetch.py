# SPDX-License-Identifier: Apache-2.0
import django
from django.conf import settings

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)
django.setup()
from django.db import connection, models  # noqa: E402 - needs the settings


class Author(models.Model):
    class Meta:
        app_label = "app"


class Book(models.Model):
    author = models.ForeignKey(Author, models.CASCADE, related_name="books")
    data = models.BinaryField()

    class Meta:
        app_label = "app"


with connection.schema_editor() as editor:
    editor.create_model(Author)
    editor.create_model(Book)
author = Author.objects.create()
for _ in range(3):
    Book.objects.create(author=author, data=b"x" * 100_000)
del author


OWNERS = {Book: lambda b: len(b.data)}


def leaky():
    return sum(len(b.data) for a in Author.objects.prefetch_related("books") for b in a.books.all())
