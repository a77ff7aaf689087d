# SPDX-License-Identifier: Apache-2.0
"""`%load_ext tare` gives `%tare` for a line and `%%tare` for a cell of a notebook."""

from __future__ import annotations

from types import CodeType
from typing import Any

from tare._profile import measure
from tare._result import Profile


def _compiled(shell: Any, source: str) -> CodeType:
    transformed = shell.input_transformer_manager.transform_cell(source)
    filename = shell.compile.cache(transformed, shell.execution_count)
    return compile(transformed, filename, "exec", dont_inherit=True)


def register(shell: Any) -> None:
    """Give an IPython shell the magics."""

    def tare(line: str, cell: str | None = None) -> Profile:
        """Run a line or a cell under the profiler and show where its time went.

        %tare f(x)          the line; `profile = %tare f(x)` keeps the profile
        %%tare              the cell below
        """
        label = "%tare" if cell is None else "%%tare"
        code = _compiled(shell, line if cell is None else cell)
        profile, raised = measure(label, code, shell.user_global_ns, shell.user_ns)
        if raised is not None:
            from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

            display(profile)
            raise raised
        return profile

    shell.register_magic_function(tare, "line_cell", "tare")
