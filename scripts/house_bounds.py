"""Reads and lowers the bounds of the house rules."""


class Bounds:
    """The bounds in a file: a line has one figure or three, and the name of what they bound. What has no line has no
    place that counts: its bound is 0."""

    def __init__(self, path):
        self.path = path
        self.bounds, self.figures = {}, {}
        for line in path.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                numbers, name = self.parsed(line)
                self.bounds[name] = numbers

    @staticmethod
    def parsed(line):
        words = line.split()
        count = next(at for at, word in enumerate(words) if not word.isdigit())
        return tuple(map(int, words[:count])), " ".join(words[count:])

    def of(self, name, figures):
        return self.bounds.get(name, (0,) * figures)

    def note(self, name, figures):
        """Remembers what was counted."""
        self.figures[name] = figures

    def unknown(self):
        """The names that are bounded and were not counted."""
        return [name for name in self.bounds if name not in self.figures]

    def lower(self):
        """Writes the figures that are below their bounds, and leaves out lines without any place left."""
        lines = []
        for line in self.path.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                name = self.parsed(line)[1]
                figures = [min(pair) for pair in zip(self.bounds[name], self.figures.get(name, self.bounds[name]))]
                if not any(figures) or name not in self.figures:
                    continue
                line = f"{' '.join(f'{figure:3}' for figure in figures)}  {name}"
            lines.append(line)
        self.path.write_text("\n".join(lines) + "\n")
