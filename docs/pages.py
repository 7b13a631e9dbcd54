"""Finished pages for narrow screens: a row of a table is shown as a list, and a picture leads to its full size."""

import bs4

LONG, MANY = 50, 4  # letters and cells of a row that a phone does not show side by side
VERY_LONG = 400  # letters of a row that no screen shows side by side


def finish(app, pagename, templatename, context, doctree):
    """Hook of Sphinx: writes the body of a page anew."""
    page = bs4.BeautifulSoup(context.get("body", ""), "html.parser")
    for table in page.find_all("table", class_="docutils"):
        _label(table)
    for picture in page.find_all("img"):
        if not picture.find_parent("a") and not picture.find_parent(class_="sd-card"):
            picture.wrap(page.new_tag("a", href=picture["src"]))

    context["body"] = str(page)


def _label(table):
    """Mark a long table, and its cells with the heads of their columns."""
    heads = [head.get_text(" ", strip=True) for head in table.select("thead th")]
    rows = table.select("tbody tr")
    longest = max((len(row.get_text(" ", strip=True)) for row in rows), default=0)
    if not heads or longest < LONG and len(heads) < MANY:
        return

    table["class"] = [*table.get("class", []), "very-long" if longest >= VERY_LONG else "long"]
    for row in rows:
        for cell, head in zip(row.find_all("td", recursive=False), heads):
            if cell.get_text(strip=True) or cell.find("img"):
                cell["data-head"] = head
