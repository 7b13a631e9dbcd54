"""Tables of finished pages: cells get the heads of their columns. A narrow screen then shows a row as a list."""

import bs4

LONG, MANY = 50, 4  # letters and cells of a row that a phone does not show side by side
VERY_LONG = 400  # letters of a row that no screen shows side by side


def label_tables(app, pagename, templatename, context, doctree):
    """Hook of Sphinx: marks long tables of a page, and the cells of each with the head of its column."""
    if "<table" not in context.get("body", ""):
        return

    page = bs4.BeautifulSoup(context["body"], "html.parser")
    for table in page.find_all("table", class_="docutils"):
        _label(table)
    context["body"] = str(page)


def _label(table):
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
