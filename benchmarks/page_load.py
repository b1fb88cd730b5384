"""Time until the page of all verdicts is loaded in chromium, from a file.

    gramian reproduce --page
    python benchmarks/page_load.py run reproduction/index.html
    python benchmarks/page_load.py show

Each load is a new window without a cache. Times are milliseconds from the start of the navigation to the first paint
and to the end of the load event, when scripts have run and the search box answers. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parent / "results" / "page_load.json"
LOADS = 9
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_TIMES = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const load = performance.getEntriesByType("navigation")[0];
  return {paint: paint?.startTime ?? null, load: load.loadEventEnd, elements: document.querySelectorAll("*").length};
}"""


def run(page: Path) -> dict[str, Any]:
    """Load the page several times; the first load, which warms the caches of files, is not counted."""
    from playwright.sync_api import sync_playwright

    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise SystemExit(f"install one of {', '.join(BROWSERS)}")
    loads = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for _ in range(LOADS + 1):
            window = browser.new_context(viewport={"width": 1280, "height": 900})
            tab = window.new_page()
            tab.goto(page.resolve().as_uri(), wait_until="load")
            tab.wait_for_function("performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
            loads.append(tab.evaluate(_TIMES))
            window.close()
        version = browser.version
        browser.close()
    return {"browser": f"Chromium {version}", "bytes": page.stat().st_size, "loads": loads[1:]}


def sentence(record: dict[str, Any]) -> str:
    """Return the result as a sentence."""
    load = sorted(entry["load"] / 1000 for entry in record["loads"])
    paint = statistics.median(entry["paint"] / 1000 for entry in record["loads"] if entry["paint"] is not None)
    return (
        f"In {record['browser'].partition('.')[0]} the page of {record['bytes'] / 1e6:.0f} MB and "
        f"{record['loads'][0]['elements']:,} elements shows its first lines after {paint:.1f} s and is loaded after "
        f"{statistics.median(load):.1f} s (median of {len(load)} loads, {load[0]:.1f} to {load[-1]:.1f} s)."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run").add_argument("page", type=Path)
    commands.add_parser("show")
    given = parser.parse_args()
    if given.command == "run":
        RECORD.write_text(json.dumps(run(given.page), indent=1) + "\n", encoding="utf-8")
    print(sentence(json.loads(RECORD.read_text(encoding="utf-8"))))
