"""The text of published figures: tables made from the file, and speech of measurements found in documents."""

import re

NO_FILE = "stands in no file"
BEGIN, END = "<!-- figures: ", "<!-- /figures -->"
BLOCK = re.compile(r"<!-- figures: (?P<names>[^>]*?) -->\n(?P<body>.*?)<!-- /figures -->", re.DOTALL)
CODE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
# A number, and a unit that measurements have.
NUMBER = r"(?<![\w.,#§-])(?:\d[\d.,]*|tens|hundreds|thousands)(?: (?:of|thousand|million|billion))?[ -]?"
UNIT = (r"(?:(?:CPU[ -])?(?:ms|µs|us|ns|s|seconds?|milliseconds?|microseconds?|nanoseconds?|minutes?|hours?)\b"
        r"|[KMGT]i?B\b|times\b|fps\b"
        r"|\w+ (?:a|per) (?:CPU )?second\b|%|per cent\b)")
WORDS = r"\b(?:twice|half|thrice|(?:two|three|four|five|six|seven|eight|nine|ten|twenty|hundred|thousand) times) (?:as|faster|slower) \w+"
MEASURED = re.compile(f"{NUMBER}{UNIT}|{WORDS}")


def shown(value):
    """A number with three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{1 if value >= 10 else 2}f}" if value >= 1 else f"{value:.3g}"


def times(value):
    """A ratio: its first two digits, or three of those before the point."""
    if value >= 1000:
        value = float(f"{value:.3g}")
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 0.95 else f"{value:.2f}"


def quality(of):
    """What was found beside the time, as a text that follows it."""
    return "".join(f", {name} {value:.4g}" for name, value in of.get("quality", {}).items())


def peer_text(name, peer):
    """A peer's ratio with its spread, and the quality of what it found."""
    spread = f" ({times(peer['least'])} to {times(peer['most'])})" if peer["rounds"] > 1 else ""
    part = f", {peer['part']['name']} {times(peer['part']['ratio'])} times" if "part" in peer else ""
    return f"{name} {times(peer['ratio'])} times{spread}{part}{quality(peer)}"


def machine_text(machine):
    """A machine in words."""
    memory = f", {machine['memory_gib']} GiB" if "memory_gib" in machine else ""
    return f"{machine['cpu']}, {machine['cores']} cores{memory}"


def table(figures, measured):
    """The lines of a block: a row for each of `figures` that has been measured."""
    rows = [f for f in figures if f.name in measured]
    lines = ["| | Graphlume | peers, times as much: median (least to most) | measured |", "|---|---|---|---|"]
    for figure in rows:
        m = measured[figure.name]
        peers = "; ".join(peer_text(name, peer) for name, peer in m["peers"].items())
        origin = f"[{m['date']}]({figure.record})" if figure.record else m["date"]
        lines.append(f"| {figure.row} | {shown(m['value'])}{figure.unit and ' ' + figure.unit}{quality(m)} | {peers} | {origin}, {m['commit'][:8]} |")
    machines = dict.fromkeys(machine_text(measured[f.name]["machine"]) for f in rows)
    return [*lines, "", f"Machine: {'; '.join(machines)}." if rows else "Nothing has been measured yet."]


def chosen(names, figures):
    """The figures that the marker of a block names; `all` are those in their order."""
    by_name = {f.name: f for f in figures}
    if names == "all":
        return list(figures)
    return [by_name[name] for name in re.split(r",\s*", names)]


def rendered(text, figures, measured, prefix=""):
    """A document with its blocks made anew; `prefix` leads from its folder to the root."""
    def block(match):
        lines = [line.replace("](bench/", f"]({prefix}bench/") for line in table(chosen(match["names"], figures), measured)]
        return f"{BEGIN}{match['names']} -->\n" + "\n".join(lines) + f"\n{END}"
    return BLOCK.sub(block, text)


def speech(text):
    """(line, words, beginning, end) of each measurement in a document's own words: no block, no code."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    own = CODE.sub(blank, BLOCK.sub(blank, text))
    return [(own.count("\n", 0, m.start()) + 1, m[0], m.start(), m.end()) for m in MEASURED.finditer(own)]


def unlisted(name, text, exceptions):
    """Measurements that no exception covers, and exceptions that cover none; both as lines to print."""
    spans, problems = [], []
    found, text = speech(text), text.replace("\n", " ")
    for line, excerpt in exceptions:
        at = text.find(excerpt)
        end = at + len(excerpt)
        if at < 0 or not any(at <= b and e <= end for _, _, b, e in found):
            problems.append(f"{line}: nothing in {name} is excepted by \"{excerpt}\"")
        elif text.find(excerpt, at + 1) >= 0:
            problems.append(f"{line}: \"{excerpt}\" stands more than once in {name}: make it longer")
        else:
            spans.append((at, end))
    for number, words, begin, end in found:
        if not any(b <= begin and end <= e for b, e in spans):
            problems.append(f"{name}:{number}: \"{words}\" {NO_FILE}")
    return problems
