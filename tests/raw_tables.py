"""Four raw tables as people have them, with a known signal: a frame of texts, its target, the columns that matter."""

import numpy as np
import pandas as pd

ADJECTIVES = ["red", "blue", "old", "new", "broken", "shiny", "excellent", "poor", "tiny", "large", "wooden", "cheap"]
NOUNS = ["chair", "table", "lamp", "desk", "sofa", "shelf", "clock", "mirror", "bed", "box"]


def gaps(rng, texts, word, share=0.08):
    """Put a word for missing into some entries."""
    return np.where(rng.random(len(texts)) < share, word, np.asarray(texts, dtype=object))


def sales(n=400, seed=0):
    """Return orders: money with gaps, percent, a weight with a unit, a customer number."""
    rng = np.random.default_rng(seed)
    price, discount, weight = rng.lognormal(6, 0.6, n), rng.uniform(0, 40, n), rng.gamma(4, 3, n)
    y = np.log(price) + 0.04 * discount + 0.12 * weight + 0.1 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "customer_id": rng.permutation(20 * n)[:n] + 15_000_000,
            "price": gaps(rng, [f"${value:,.2f}" for value in price], "N/A"),
            "discount": [f"{value:.1f} %" for value in discount],
            "weight": gaps(rng, [f"{value:.1f} kg" for value in weight], ""),
            "note": rng.choice(["gift", "express", "none given"], n),
        }
    )
    return frame.assign(score=y.round(4)), "score", ("price", "discount", "weight")


def shop(n=500, seed=1):
    """Return visits: a local date with the day first whose month and weekday matter, money with a decimal comma."""
    rng = np.random.default_rng(seed)
    day = np.datetime64("2021-01-01") + rng.integers(0, 730, n).astype("m8[D]")
    stamp = pd.DatetimeIndex(day)
    spent = rng.lognormal(6.5, 0.7, n)
    season, weekend = np.cos(2 * np.pi * stamp.day_of_year / 365), stamp.day_of_week >= 5
    y = 2 * season + 1.5 * weekend + 0.8 * np.log(spent) + 0.2 * rng.normal(size=n)
    euros = [f"{value:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".") + " €" for value in spent]
    frame = pd.DataFrame(
        {"when": stamp.strftime("%d.%m.%Y"), "spent": gaps(rng, euros, "NA"), "till": rng.integers(1, 9, n)}
    )
    return frame.assign(crowd=y.round(4)), "crowd", ("when", "spent")


def people(n=500, seed=2):
    """Return applicants: years with bounds, an age in ranges, years since the last job with a word among them."""
    rng = np.random.default_rng(seed)
    years, age, since = rng.integers(0, 25, n), rng.integers(18, 60, n), rng.integers(0, 7, n)
    score = 0.25 * years - 0.08 * (age - 38) - 1.2 * (since == 0) + 0.3 * since
    ages = np.array(["below21", "21-25", "26-30", "31-40", "41-50", "50plus"])
    frame = pd.DataFrame(
        {
            "experience": np.where(years > 20, ">20", np.where(years < 1, "<1", years.astype(str))),
            "age": ages[np.searchsorted([20, 25, 30, 40, 50], age)],
            "last_job": np.where(since == 0, "never", np.where(since > 4, ">4", since.astype(str))),
            "city": rng.choice(["Rome", "Bonn", "Oslo", "null"], n),
        }
    )
    y = np.where(score + 0.7 * rng.normal(size=n) > np.median(score), "yes", "no")
    return frame.assign(hired=y), "hired", ("experience", "age", "last_job")


def adverts(n=500, seed=3):
    """Return adverts: a free text whose words matter, a posting date in words, a code that means nothing."""
    rng = np.random.default_rng(seed)
    texts = [f"{' '.join(rng.choice(ADJECTIVES, 3))} {rng.choice(NOUNS)}, lot {rng.integers(10_000)}" for _ in range(n)]
    stamp = pd.DatetimeIndex(np.datetime64("2019-01-01") + rng.integers(0, 1400, n).astype("m8[D]"))
    value = np.array([("excellent" in text) - 1.0 * ("broken" in text) + 0.7 * ("sofa" in text) for text in texts])
    y = value + 0.0015 * (stamp - stamp.min()).days.to_numpy() + 0.15 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "code": [f"{value:012x}" for value in rng.integers(0, 2**48, n)],
            "text": gaps(rng, texts, ""),
            "posted": [f"{when:%b} {when.day}, {when.year}" for when in stamp],
            "seller": rng.choice(["shop", "private", "-"], n),
        }
    )
    return frame.assign(worth=y.round(4)), "worth", ("text", "posted")


RAW = {"sales": sales, "shop": shop, "people": people, "adverts": adverts}
