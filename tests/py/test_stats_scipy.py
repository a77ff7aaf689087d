# SPDX-License-Identifier: Apache-2.0
"""The statistics against scipy where scipy is exact, and against exact arithmetic where it is not."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="needs numpy and scipy: pip install scipy")
special = pytest.importorskip("scipy.special", reason="needs scipy: pip install scipy")
stats = pytest.importorskip("scipy.stats", reason="needs scipy: pip install scipy")

Ask = Callable[[Sequence[str]], list[list[float]]]
Tails = tuple[float, float, float]  # two-sided, less, greater


@pytest.fixture(scope="session")
def ask(build_dir: Path) -> Ask:
    program = build_dir / "tests" / "stats_cli"

    def answer(questions: Sequence[str]) -> list[list[float]]:
        done = subprocess.run(
            [program], input="\n".join(questions) + "\n", capture_output=True, text=True, check=True
        )
        lines = done.stdout.splitlines()
        assert len(lines) == len(questions)
        return [[float(word) for word in line.split()] for line in lines]

    return answer


def numbers(values: Sequence[float]) -> str:
    return f"{len(values)} " + " ".join(repr(float(value)) for value in values)


def close(got: float, want: float, relative: float = 1e-9) -> bool:
    return abs(got - want) <= relative * abs(want) + 1e-300


def tails_of(got: Sequence[float]) -> Tails:
    return got[1], got[2], got[3]


def assert_tails(got: Sequence[float], want: Tails, relative: float = 1e-9) -> None:
    for mine, theirs in zip(tails_of(got), want, strict=True):
        assert close(mine, theirs, relative), (got, want)


def two_sided(less: Fraction, greater: Fraction) -> Tails:
    return float(min(Fraction(1), 2 * min(less, greater))), float(less), float(greater)


def doubled_midranks(values: Sequence[float]) -> list[int]:
    return [sum(v < value for v in values) + sum(v <= value for v in values) + 1 for value in values]


def tied(rng: random.Random, count: int, kinds: int) -> list[float]:
    return [float(rng.randrange(kinds)) for _ in range(count)]


# ---- Mann-Whitney ----


def test_rank_sum_without_ties_equals_scipy_exact(ask: Ask) -> None:
    rng = np.random.default_rng(1)
    sizes = [(1, 1), (1, 2), (2, 1), (40, 40), (40, 1), (3, 40)]
    sizes += [tuple(rng.integers(1, 41, 2)) for _ in range(120)]
    cases = [(rng.normal(0, 1, m), rng.normal(rng.choice([0, 0.5, 2, 8]), 1, n)) for m, n in sizes]
    answers = ask([f"rank_sum {numbers(x)} {numbers(y)}" for x, y in cases])
    for (x, y), got in zip(cases, answers, strict=True):
        p = [
            stats.mannwhitneyu(x, y, alternative=side, method="exact")
            for side in ("two-sided", "less", "greater")
        ]
        assert got[0] == p[0].statistic
        assert_tails(got, (p[0].pvalue, p[1].pvalue, p[2].pvalue))
        assert got[5:7] == [1, 0]


def enumerated_rank_sum(x: Sequence[float], y: Sequence[float]) -> Tails:
    ranks = doubled_midranks([*x, *y])
    seen = sum(ranks[: len(x)])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(x))]
    return two_sided(
        Fraction(sum(s <= seen for s in sums), len(sums)), Fraction(sum(s >= seen for s in sums), len(sums))
    )


def test_rank_sum_with_ties_equals_enumeration(ask: Ask) -> None:
    rng = random.Random(2)
    cases = [([1.0], [1.0]), ([1.0, 1.0], [1.0]), ([2.0] * 8, [2.0] * 8)]
    for m, n in itertools.product(range(1, 9), range(1, 9)):
        cases.append((tied(rng, m, rng.choice([2, 3, 5, 9])), tied(rng, n, rng.choice([2, 3, 5, 9]))))
    answers = ask([f"rank_sum {numbers(x)} {numbers(y)}" for x, y in cases])
    for (x, y), got in zip(cases, answers, strict=True):
        assert_tails(got, enumerated_rank_sum(x, y), 1e-12)


def packed_rank_sum(x: Sequence[float], y: Sequence[float]) -> Tails:
    """The generating function of (how many are taken, their rank sum), a product over groups of ties, its
    coefficients being the digits of one whole number."""
    ranks = doubled_midranks([*x, *y])
    digit = math.comb(len(ranks), len(x)).bit_length() + 1
    row = digit * (sum(ranks) + 1)
    product = 1
    keep = (1 << (row * (len(x) + 1))) - 1
    for rank in sorted(set(ranks)):
        size = ranks.count(rank)
        factor = product
        product = sum(math.comb(size, k) * (factor << (k * (row + digit * rank))) for k in range(size + 1))
        product &= keep
    coefficients = product >> (row * len(x))
    seen = sum(ranks[: len(x)])
    ways = [coefficients >> (digit * s) & ((1 << digit) - 1) for s in range(sum(ranks) + 1)]
    everything = math.comb(len(ranks), len(x))
    assert sum(ways) == everything
    return two_sided(Fraction(sum(ways[: seen + 1]), everything), Fraction(sum(ways[seen:]), everything))


@pytest.mark.parametrize(
    ("m", "n", "kinds"), [(40, 40, 7), (40, 40, 60), (40, 40, 2), (40, 17, 12), (9, 40, 25)]
)
def test_rank_sum_with_ties_equals_exact_integers(ask: Ask, m: int, n: int, kinds: int) -> None:
    rng = random.Random(m * 1000 + n + kinds)
    x, y = tied(rng, m, kinds), [value + rng.choice([0, 0, 1]) for value in tied(rng, n, kinds)]
    far = [value + kinds - 2 for value in y]
    answers = ask([f"rank_sum {numbers(x)} {numbers(side)}" for side in (y, far)])
    for side, got in zip((y, far), answers, strict=True):
        assert got[5:7] == [1, 1]
        assert_tails(got, packed_rank_sum(x, side), 1e-12)


def test_scipys_exact_ignores_ties_and_ours_does_not(ask: Ask) -> None:
    x, y = [0.0, 0, 3, 3, 3, 3], [0.0, 1, 1, 2, 2, 3]
    (got,) = ask([f"rank_sum {numbers(x)} {numbers(y)}"])
    assert_tails(got, enumerated_rank_sum(x, y), 1e-12)
    assert round(got[1], 3) == 0.394
    assert round(stats.mannwhitneyu(x, y, method="exact").pvalue, 3) == 0.485


@pytest.mark.parametrize("kinds", [3, 40, 100000])
def test_large_rank_sum_equals_scipys_normal_approximation(ask: Ask, kinds: int) -> None:
    rng = random.Random(kinds)
    x, y = tied(rng, 101, kinds), [v + kinds // 8 for v in tied(rng, 70, kinds)]
    (got,) = ask([f"rank_sum {numbers(x)} {numbers(y)}"])
    p = [
        stats.mannwhitneyu(x, y, alternative=side, method="asymptotic").pvalue
        for side in ("two-sided", "less", "greater")
    ]
    assert_tails(got, (p[0], p[1], p[2]))
    assert got[5] == 0


# ---- signed rank ----


def test_signed_rank_without_ties_equals_scipy_exact(ask: Ask) -> None:
    rng = np.random.default_rng(3)
    cases = [rng.normal(rng.choice([0, 0.3, 1, 4]), 1, n) for n in range(1, 51)]
    cases += [rng.normal(0.1, 1, n) for n in (80, 200)]
    answers = ask([f"signed_rank wilcoxon {numbers(d)}" for d in cases])
    for d, got in zip(cases, answers, strict=True):
        p = [
            stats.wilcoxon(d, alternative=side, method="exact").pvalue
            for side in ("two-sided", "less", "greater")
        ]
        assert got[0] == stats.wilcoxon(d, alternative="greater", method="exact").statistic
        assert_tails(got, (p[0], p[1], p[2]))


def enumerated_signed_rank(differences: Sequence[float], pratt: bool) -> Tails:
    ranked = [d for d in differences if pratt or d != 0]
    ranks = doubled_midranks([abs(d) for d in ranked])
    scores = [r for r, d in zip(ranks, ranked, strict=True) if d != 0]
    seen = sum(r for r, d in zip(ranks, ranked, strict=True) if d > 0)
    sums = [
        sum(s for s, up in zip(scores, signs, strict=True) if up)
        for signs in itertools.product([0, 1], repeat=len(scores))
    ]
    return two_sided(
        Fraction(sum(s <= seen for s in sums), len(sums)), Fraction(sum(s >= seen for s in sums), len(sums))
    )


@pytest.mark.parametrize("zeros", ["pratt", "wilcoxon"])
def test_signed_rank_with_ties_and_zeros_equals_enumeration(ask: Ask, zeros: str) -> None:
    rng = random.Random(4)
    cases = [[0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0, -1.0, 0.0, 0.0]]
    cases += [[float(rng.randrange(-3, 5)) for _ in range(rng.randrange(1, 12))] for _ in range(60)]
    answers = ask([f"signed_rank {zeros} {numbers(d)}" for d in cases])
    for d, got in zip(cases, answers, strict=True):
        assert_tails(got, enumerated_signed_rank(d, zeros == "pratt"), 1e-12)


@pytest.mark.parametrize(("zeros", "theirs"), [("pratt", "pratt"), ("wilcoxon", "wilcox")])
def test_large_signed_rank_equals_scipys_normal_approximation(ask: Ask, zeros: str, theirs: str) -> None:
    rng = random.Random(5)
    d = [float(rng.randrange(-30, 34)) for _ in range(600)]
    (got,) = ask([f"signed_rank {zeros} {numbers(d)}"])
    p = [
        stats.wilcoxon(d, alternative=side, zero_method=theirs, correction=True, method="asymptotic").pvalue
        for side in ("two-sided", "less", "greater")
    ]
    assert got[5] == 0
    assert_tails(got, (p[0], p[1], p[2]))


# ---- Kolmogorov-Smirnov ----


def test_ks_equals_scipy_exact(ask: Ask) -> None:
    rng = np.random.default_rng(6)
    sizes = [(1, 1), (1, 5), (40, 40), (40, 39), (200, 300), (500, 500), (64, 96)]
    sizes += [tuple(rng.integers(1, 60, 2)) for _ in range(60)]
    cases = [(rng.normal(0, 1, m), rng.normal(rng.choice([0, 0.3, 1]), 1, n)) for m, n in sizes]
    cases += [(rng.integers(0, 9, m), rng.integers(0, 9, n)) for m, n in sizes[:20]]
    answers = ask([f"ks {numbers(x)} {numbers(y)}" for x, y in cases])
    for (x, y), got in zip(cases, answers, strict=True):
        want = stats.ks_2samp(x, y, method="exact")
        assert close(got[0], want.statistic, 1e-12)
        assert close(got[1], want.pvalue)
        assert got[5] == 1


def test_ks_small_p_equals_exact_integers(ask: Ask) -> None:
    """Where scipy takes 1 minus a number near 1, count the paths that leave the band in whole numbers."""
    m, n = 60, 45
    x, y = [float(i) for i in range(m)], [i + 0.5 + m * 0.9 for i in range(n)]
    (got,) = ask([f"ks {numbers(x)} {numbers(y)}"])
    gap = round(got[0] * m * n)
    inside = [[0] * (n + 1) for _ in range(m + 1)]
    inside[0][0] = 1
    for i, j in itertools.product(range(m + 1), range(n + 1)):
        if i + j and abs(i * n - j * m) < gap:
            inside[i][j] = (inside[i - 1][j] if i else 0) + (inside[i][j - 1] if j else 0)
    everything = math.comb(m + n, m)
    assert close(got[1], float(Fraction(everything - inside[m][n], everything)), 1e-12)
    assert got[1] < 1e-15


def test_large_ks_is_near_scipys_approximation(ask: Ask) -> None:
    rng = np.random.default_rng(7)
    cases = [(rng.normal(0, 1, 4000), rng.normal(shift, 1, 5000)) for shift in (0, 0.02, 0.04, 0.08)]
    answers = ask([f"ks {numbers(x)} {numbers(y)}" for x, y in cases])
    for (x, y), got in zip(cases, answers, strict=True):
        want = stats.ks_2samp(x, y, method="asymp")
        assert got[5] == 0
        assert close(got[0], want.statistic, 1e-12)
        assert close(got[1], want.pvalue, 0.02)


# ---- Welch and its special functions ----


def test_welch_equals_scipy(ask: Ask) -> None:
    rng = np.random.default_rng(8)
    cases = []
    for _ in range(150):
        m, n = rng.integers(2, 200, 2)
        scale = 10.0 ** rng.integers(-3, 4)
        cases.append(
            (
                rng.normal(5, 1, m) * scale,
                rng.normal(5 + rng.choice([0, 0.1, 3, 30]), rng.uniform(0.1, 3), n) * scale,
            )
        )
    answers = ask([f"welch {numbers(x)} {numbers(y)}" for x, y in cases])
    for (x, y), got in zip(cases, answers, strict=True):
        want = [
            stats.ttest_ind(x, y, equal_var=False, alternative=side)
            for side in ("two-sided", "less", "greater")
        ]
        assert close(got[0], want[0].statistic, 1e-10)
        assert close(got[4], want[0].df, 1e-10)
        assert_tails(got, (want[0].pvalue, want[1].pvalue, want[2].pvalue))


def test_special_functions_equal_scipys(ask: Ask) -> None:
    rng = np.random.default_rng(9)
    for t in (1e-8, 1e-3, 0.3, 5, 1e6, 1e200):  # Cauchy; scipy errs by 1.6e-9 at 1e-8
        ((got,),) = ask([f"t_above {t!r} 1"])
        assert close(got, math.atan2(1, t) / math.pi, 1e-13)
    points = [(t, df) for t in (0.0, 0.3, 1, 2.5, 10, 80) for df in (1, 1.7, 2, 5, 30, 1e3, 1e6, 1e9)]
    for (t, df), (got,) in zip(points, ask([f"t_above {t!r} {df!r}" for t, df in points]), strict=True):
        assert close(got, stats.t.sf(t, df), 1e-10), (t, df)
    pairs = [(float(a), float(b)) for a, b in 10 ** rng.uniform(-2, 7, (200, 2))]
    small = [(a, b) for a, b in pairs if max(a, b) < 1e3]  # beyond, scipy's betaln loses digits
    for (a, b), (got,) in zip(small, ask([f"log_beta {a!r} {b!r}" for a, b in small]), strict=True):
        assert abs(got - special.betaln(a, b)) <= 2e-12 * max(1, abs(got)), (a, b)
    gammas = [float(x) for x in 10 ** rng.uniform(-3, 5, 100)]
    for x, (got,) in zip(gammas, ask([f"log_gamma {x!r}" for x in gammas]), strict=True):
        assert abs(got - special.gammaln(x)) <= 2e-14 * max(1, abs(got)), x
    betas = [(*ab, float(x)) for ab, x in zip(pairs, rng.uniform(0, 1, 200), strict=True)]
    for (a, b, x), (got,) in zip(betas, ask([f"beta {a!r} {b!r} {x!r}" for a, b, x in betas]), strict=True):
        assert abs(got - special.betainc(a, b, x)) <= 1e-8 * got + 1e-290, (a, b, x)
    quantiles = [(p, df) for p in (0.4, 0.025, 0.005, 1e-6) for df in (1, 2, 9, 39, 1e5)]
    for (p, df), (got,) in zip(quantiles, ask([f"t_quantile {p} {df}" for p, df in quantiles]), strict=True):
        assert close(got, stats.t.isf(p, df), 1e-9), (p, df)
    trials = [
        (int(rng.integers(0, n + 1)), int(n), p) for n in (1, 10, 662, 10**5) for p in (0.01, 0.5, 0.999)
    ]
    for (k, n, p), got in zip(trials, ask([f"binomial {k} {n} {p!r}" for k, n, p in trials]), strict=True):
        assert abs(got[0] - stats.binom.cdf(k, n, p)) <= 1e-9 * got[0] + 1e-200
        assert abs(got[1] - stats.binom.sf(k - 1, n, p)) <= 1e-9 * got[1] + 1e-200


# ---- percentiles ----


def test_support_follows_the_99_percent_rule(ask: Ask) -> None:
    known = {90: 64, 95: 130, 99: 662, 99.9: 6636, 10: 64, 50: 11}
    assert [got for (got,) in ask([f"needed {percent}" for percent in known])] == list(known.values())


def test_percentile_bounds_follow_the_binomial(ask: Ask) -> None:
    rng = random.Random(10)
    cases = [
        (percent, n) for percent in (1, 10, 50, 90, 95, 99, 99.9) for n in (1, 5, 6, 64, 368, 367, 1000, 7000)
    ]
    lists = [rng.sample(range(10 * n), n) for _, n in cases]
    answers = ask([f"independent {p} {numbers(v)}" for (p, _), v in zip(cases, lists, strict=True)])
    for (percent, n), values, got in zip(cases, lists, answers, strict=True):
        ordered = sorted(values)
        share = Fraction(str(percent)) / 100
        assert got[0] == ordered[math.ceil(share * n) - 1]
        p = float(share)
        ranks = np.arange(1, n + 1)
        lows = ranks[stats.binom.cdf(ranks - 1, n, p) <= 0.025]
        highs = ranks[stats.binom.sf(ranks - 1, n, p) <= 0.025]
        assert (math.isnan(got[1]) and not len(lows)) or got[1] == ordered[lows[-1] - 1], (percent, n)
        assert (math.isnan(got[2]) and not len(highs)) or got[2] == ordered[highs[0] - 1], (percent, n)
        needed = {1: 662, 10: 64, 50: 11, 90: 64, 95: 130, 99: 662, 99.9: 6636}[percent]
        assert got[4] == (n >= needed)
        assert got[5] == max(0, needed - n)


def inflation(answers: np.ndarray) -> float:
    """Geyer's initial monotone sequence by way of the Fourier transform."""
    count = len(answers)
    rest = answers - answers.mean()
    if not rest.any():
        return 1.0
    spectrum = np.fft.rfft(rest, 4 * count)
    ratios = np.fft.irfft(spectrum * spectrum.conj())[:count] / (rest @ rest)
    total, smallest = -1.0, math.inf
    for lag in range(0, count - 1, 2):
        pair = ratios[lag] + ratios[lag + 1]
        if pair <= 0:
            break
        smallest = min(smallest, pair)
        total += 2 * smallest
    return total if total > 1 + 4 / math.sqrt(count) else 1.0


@pytest.mark.parametrize("percent", [50, 90, 99])
def test_effective_number_equals_another_implementation(ask: Ask, percent: int) -> None:
    rng = np.random.default_rng(percent)
    walk = np.zeros(3000)
    for i in range(1, len(walk)):
        walk[i] = 0.9 * walk[i - 1] + rng.normal()
    for values in (rng.exponential(1, 2000), np.exp(walk), np.round(walk), np.sort(walk)):
        (got,) = ask([f"percentile {percent} {numbers(values)}"])
        ordered, tail, worst = np.sort(values), min(percent, 100 - percent), 1.0
        for times in (0.5, 1, 2, 3):
            exceeding = Fraction(min(times * tail, 100 - tail / 2)) / 100
            level = ordered[math.ceil((1 - exceeding) * len(values)) - 1]
            worst = max(worst, inflation((values > level).astype(float)))
            if (values == level).sum() > 1:
                worst = max(worst, inflation((values >= level).astype(float)))
        assert close(got[3], len(values) / worst, 1e-6)


# ---- summary, Holm ----


def test_summary_equals_numpy(ask: Ask) -> None:
    rng = np.random.default_rng(11)
    for count in (1, 2, 15, 16, 17, 1000, 4097):
        values = 1e9 + rng.normal(0, 1, count)
        (got,) = ask([f"summary - {numbers(values)}"])
        exact = [Fraction(float(v)) for v in values]
        mean = sum(exact) / count
        variance = sum((v - mean) ** 2 for v in exact) / (count - 1) if count > 1 else Fraction(0)
        assert got[:2] == [values.min(), values.max()]
        assert close(got[2], float(mean), 3e-16)
        assert close(got[3], float(variance), 1e-14)
        assert close(got[4], float(np.median(values)), 3e-16)
        assert close(got[5], float(stats.median_abs_deviation(values)), 1e-7)


def test_holm_equals_its_definition(ask: Ask) -> None:
    rng = random.Random(12)
    for count in (1, 2, 3, 10, 40):
        p = [rng.choice([rng.random(), rng.random() / 50, 0.01]) for _ in range(count)]
        (got,) = ask([f"holm - {numbers(p)}"])
        order = sorted(range(count), key=lambda i: p[i])
        want, largest = [0.0] * count, 0.0
        for step, i in enumerate(order):
            largest = max(largest, min(1.0, (count - step) * p[i]))
            want[i] = largest
        assert got == want


# ---- bootstrap ----

MASK = (1 << 64) - 1


class Xoshiro:
    """xoshiro256** seeded by splitmix64, from the published description."""

    def __init__(self, seed: int) -> None:
        self.s = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            self.s.append(z ^ (z >> 31))

    def next(self) -> int:
        def rotate(x: int, by: int) -> int:
            return ((x << by) | (x >> (64 - by))) & MASK

        a, b, c, d = self.s
        result = (rotate((b * 5) & MASK, 7) * 9) & MASK
        c, d = c ^ a, d ^ b
        self.s = [a ^ d, b ^ c, c ^ ((b << 17) & MASK), rotate(d, 45)]
        return result

    def below(self, bound: int) -> int:
        while True:
            product = (self.next() >> 32) * bound
            if product & 0xFFFFFFFF >= (1 << 32) % bound:
                return product >> 32


def middle(ordered: Sequence[float]) -> float:
    count = len(ordered)
    return ordered[count // 2] if count % 2 else 0.5 * ordered[count // 2 - 1] + 0.5 * ordered[count // 2]


def skipped(count: int, resamples: int, level: float) -> int:
    reach = math.sqrt(count / (count - 1)) * stats.t.isf((1 - level) / 2, count - 1)
    return math.floor(stats.norm.sf(reach) * resamples)


@pytest.mark.parametrize(
    ("count", "resamples", "level"), [(10, 10000, 0.95), (39, 2000, 0.9), (2, 500, 0.95)]
)
def test_bootstrap_is_bit_equal_to_another_implementation(
    ask: Ask, count: int, resamples: int, level: float
) -> None:
    rng = random.Random(count)
    values = sorted(rng.lognormvariate(0, 0.4) for _ in range(count))
    shuffled = rng.sample(values, count)
    questions = [f"bootstrap {how} 42 {resamples} {level} {numbers(shuffled)}" for how in ("median", "mean")]
    answers = ask(questions)
    assert answers == ask(questions)
    for how, got in zip((middle, lambda v: math.fsum(v) / len(v)), answers, strict=True):
        source = Xoshiro(42)
        results = sorted(
            how(sorted(values[source.below(count)] for _ in range(count))) for _ in range(resamples)
        )
        skip = skipped(count, resamples, level)
        want = [how(values), results[skip], results[-1 - skip]]
        if how is middle:
            assert got == want
        else:  # the compensated sum need not round as fsum does
            assert all(close(mine, theirs, 3e-16) for mine, theirs in zip(got, want, strict=True))


def test_bootstrap_of_a_ratio_is_bit_equal_to_another_implementation(ask: Ask) -> None:
    rng = random.Random(13)
    x = sorted(rng.lognormvariate(0, 0.1) for _ in range(11))
    y = sorted(rng.lognormvariate(0.1, 0.1) for _ in range(14))
    (got,) = ask([f"bootstrap_ratio median 7 3000 0.95 {numbers(x)} {numbers(y)}"])
    source = Xoshiro(7)
    results = []
    for _ in range(3000):
        below = middle(sorted(x[source.below(11)] for _ in range(11)))
        results.append(middle(sorted(y[source.below(14)] for _ in range(14))) / below)
    results.sort()
    skip = skipped(11, 3000, 0.95)
    assert got == [middle(y) / middle(x), results[skip], results[-1 - skip]]
