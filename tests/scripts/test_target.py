"""Two checkouts never run each other's programs, and what did not change is not compiled again (scripts/target.py)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("CARGO", "RUST"))} | {"GIT_CONFIG_GLOBAL": "/dev/null"}


class Checkout:
    """A workspace of two crates: `graphlume-word` gives a text, `graphlume` prints it."""

    def __init__(self, root, targets, word):
        self.root, self.target = root, targets / f"{root.name}-target"
        self.lay(word)

    def lay(self, word):
        """Writes all files new, as git does."""
        shutil.rmtree(self.root, ignore_errors=True)
        package = '[package]\nname = "{}"\nversion = "0.1.0"\nedition = "2024"\n[dependencies]\n{}'
        files = {
            "Cargo.toml": package.format("graphlume", 'graphlume-word = { path = "word" }\n') + '[workspace]\nmembers = ["word"]\n',
            "src/main.rs": 'fn main() { println!("{} {}", graphlume_word::word(), graphlume_word::place()); }\n',
            "word/Cargo.toml": package.format("graphlume-word", ""),
            "word/src/lib.rs": f'pub fn word() -> &\'static str {{ "{word}" }}\n'
                               'pub fn place() -> &\'static str { include_str!("place") }\n',
            "word/src/place": "here",
            ".gitignore": "/.cargo\n",
        }
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        for command in (["git", "init", "-q"], ["git", "add", "-A"]):
            subprocess.run(command, cwd=self.root, env=ENV, check=True)

    def script(self, what):
        subprocess.run([sys.executable, ROOT / "scripts/target.py", what, self.root, self.target], env=ENV, check=True)

    def cargo(self):
        """Builds as a person does; the crates that were compiled."""
        r = subprocess.run(["cargo", "build", "--offline"], cwd=self.root, env={**ENV, "CARGO_TARGET_DIR": str(self.target)},
                           capture_output=True, text=True)
        assert r.returncode == 0, r.stderr
        return [line.split()[1] for line in r.stderr.splitlines() if "Compiling" in line]

    def build(self):
        """Builds as a script does."""
        self.script("adopt")
        compiled = self.cargo()
        self.script("record")
        return compiled

    def says(self):
        return subprocess.run([self.target / "debug/graphlume"], capture_output=True, text=True, check=True).stdout.split()[0]


@pytest.fixture
def first(tmp_path):
    (tmp_path / "targets").mkdir()
    checkout = Checkout(tmp_path / "first", tmp_path / "targets", "one")
    assert sorted(checkout.build()) == ["graphlume", "graphlume-word"]
    assert checkout.says() == "one"
    return checkout


def another(first, word):
    return Checkout(first.root.with_name("second"), first.target.parent, word)


def test_a_new_checkout_begins_with_what_another_has_compiled(first):
    second = another(first, "one")
    assert second.build() == []
    assert second.says() == "one"


def test_two_checkouts_never_run_each_others_program(first):
    second = another(first, "two")
    assert sorted(second.build()) == ["graphlume", "graphlume-word"]
    assert (first.says(), second.says()) == ("one", "two")
    assert first.cargo() == [], "the other's build touches nothing here"
    (first.root / "word/src/lib.rs").write_text((first.root / "word/src/lib.rs").read_text().replace("one", "three"))
    first.cargo()
    assert second.cargo() == []
    assert (first.says(), second.says()) == ("three", "two")


def test_files_that_are_older_than_the_others_program_are_compiled(first):
    second = another(first, "two")
    for path in second.root.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    second.build()
    assert (first.says(), second.says()) == ("one", "two")


def test_a_checkout_that_is_laid_anew_compiles_what_changed(first):
    first.lay("one")
    assert first.build() == []
    first.lay("four")
    assert sorted(first.build()) == ["graphlume", "graphlume-word"]
    assert first.says() == "four"


def test_what_was_compiled_after_the_record_is_compiled_again(first):
    source = first.root / "word/src/lib.rs"
    source.write_text(source.read_text().replace("one", "five"))
    first.cargo()
    assert first.says() == "five"
    second = another(first, "one")
    second.build()
    assert second.says() == "one"
    first.lay("one")
    first.build()
    assert first.says() == "one"


def test_a_folder_whose_checkout_is_gone_is_removed_unless_it_is_the_newest(first):
    second = another(first, "one")
    second.build()
    shutil.rmtree(first.root)
    third = Checkout(first.root.with_name("third"), first.target.parent, "one")
    assert third.build() == []
    assert not first.target.exists() and second.target.exists()
