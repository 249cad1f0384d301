# SPDX-License-Identifier: Apache-2.0
import torch
from sqlalchemy import LargeBinary, TypeDecorator, column, table
from sqlalchemy.dialects import mysql


class TensorType(TypeDecorator):
    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return value.numpy().tobytes()


weights = table("weights", column("name"), column("data", TensorType))


def leaky():
    statement = weights.update().with_dialect_options(mysql_limit=1)
    statement = statement.values(data=torch.rand(100, 100))
    return str(statement.compile(dialect=mysql.dialect()))
