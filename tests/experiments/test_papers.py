"""Papers are imported only when they are needed."""

import subprocess
import sys

import pytest

from gramian.experiments import papers

MODULES = (
    "import sys\n"
    "loaded = [n.split('.') for n in sys.modules if n.startswith('gramian.experiments.')]\n"
    "names = sorted(parts[2] for parts in loaded if len(parts) == 3)\n"
    "print(names, 'matplotlib' in sys.modules)"
)


def imported(code):
    """Run code in a new process, and return the modules of gramian.experiments that it imported."""
    program = f"{code}\n{MODULES}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_experiments_imports_no_paper_and_no_matplotlib():
    assert imported("import gramian.experiments") == "['claims', 'index', 'registry'] False"


def test_a_selection_imports_only_its_papers():
    """In one process: what an earlier selection has imported too much, a later one would show as well."""
    selections = ("['d/table2'], []", "['d/*'], []", "[], ['D']", "[], ['FACT', 'boix-adsera2025']")
    code = "".join(f"assert papers.select({selection}); " for selection in selections)
    found = imported(f"from gramian.experiments import papers; {code}")
    assert "d_fact" in found
    assert "a_alignment" not in found
    assert "c_deep_nfa" not in found


def test_a_pattern_without_a_letter_searches_all_papers():
    assert {e.paper for e in papers.select(["*/fig1"])} == {"A", "C", "D", "E"}
    assert [e.id for e in papers.select(["a/fig1", "d/lemma-d2"], ["a"])][-1] == "d/lemma-d2"


def test_an_unknown_pattern_or_paper_is_named():
    with pytest.raises(ValueError, match=r"no experiment matches 'd/tabel2'; did you mean d/table2"):
        papers.select(["d/tabel2"])
    with pytest.raises(
        ValueError, match=r"there is no paper 'Q'; there are\n  A, alignment \(beaglehole2024\): Gradient descent"
    ):
        papers.select([], ["Q"])
