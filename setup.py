"""The long description, all that setup.cfg cannot say: the README as a package index can show it.

An index has the text alone, where links to files of the repository would lead nowhere.  They become words, with the
file in brackets where the words do not name it; links to the web stay.
"""
import pathlib
import re

from setuptools import setup

LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\((?!https?:|mailto:|#)([^)\s]+)\)")


def plain(link: "re.Match[str]") -> str:
    """The words of a link, and where it leads."""
    return link[1] if link[1] == link[2] else f"{link[1]} ({link[2]})"


README = pathlib.Path(__file__).with_name("README.md").read_text(encoding="utf-8")
setup(long_description=LINK.sub(plain, README), long_description_content_type="text/markdown")
