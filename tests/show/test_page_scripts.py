"""The scripts of a page stand in one scope: two functions of one name would replace each other silently."""

import re
from collections import Counter

import pytest

from tolcost.show import html

_DEFINED = re.compile(r"^(?:async )?function\*? (\w+)", re.MULTILINE)


@pytest.mark.parametrize("page", html._PARTS)
def test_no_two_functions_of_a_page_have_one_name(page: str) -> None:
    _, scripts = html._PARTS[page]
    texts = (html._FOLDER.joinpath(name).read_text(encoding="utf-8") for name in scripts)
    names = Counter(name for text in texts for name in _DEFINED.findall(text))
    assert names or page == "document"
    assert [name for name, times in names.items() if times > 1] == []
