"""The families of cases: what goes wrong, and which exit code is right for it."""

import io
import random
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from processes import Case

ROOT = Path(__file__).resolve().parents[2]
TOML = (ROOT / "docs" / "experiment.toml").read_bytes()
CSV = b"\n".join((ROOT / "docs" / "records.csv").read_bytes().splitlines()[:41]) + b"\n"
RECORD = (ROOT / "audits" / "papers" / "recorded" / "tum-credit.json").read_bytes()
CODE = b"""
import atexit, ctypes, os, signal, sys, threading, time
import numpy as np
PAIR = ([0.0, 1.0], [0.0])
def sound(data, rng, n): return sum(data) + rng.normal(size=n)
def flawed(data, rng, n): return sum(data) + 0.5 * rng.normal(size=n)
def slow(data, rng):
    time.sleep(0.001)
    return sum(data) + rng.normal()
def exits(data, rng): os._exit(0)
def exits_1(data, rng): os._exit(1)
def exits_in_c(data, rng): ctypes.CDLL(None).exit(0)
def exits_later(data, rng, n):
    threading.Thread(target=lambda: (time.sleep(0.05), os._exit(0))).start()
    time.sleep(30)
def is_killed(data, rng): os.kill(os.getpid(), signal.SIGKILL)
def aborts(data, rng): os.abort()
def reads_nowhere(data, rng): ctypes.string_at(0)
def leaves(data, rng): sys.exit(0)
def leaves_1(data, rng): sys.exit(1)
def gives_up(data, rng): raise BaseException
def recurses(data, rng): return recurses(data, rng)
def has_no_memory(data, rng): return np.zeros(2**62, dtype=np.int8)
def divides(data, rng): return 1 / 0
def cannot_encode(data, rng): raise ValueError("\\udcff \\u03b5 \\x00")
def closes_all(data, rng):
    os.closerange(0, 256)
    return 1.0
class Odd:
    def __len__(self): sys.exit(0)
def odd(data, rng, n): return Odd()
def registers(data, rng, n):
    atexit.register(os._exit, 0)
    return flawed(data, rng, n)
def prints(data, rng, n):
    print("{" * 10)
    return sound(data, rng, n)
def text(data, rng, n): return ["yes"] * n
def nothing(data, rng, n): return None
def wrong_count(data, rng, n): return [1.0]
def takes_nothing(): return 1.0
def bad_pair(): raise SystemExit(0)
"""
FILES = {"my.py": CODE, "e.toml": TOML, "r.csv": CSV}
CHEAP = ("--noise-multiplier", "1", "--delta", "1e-5")
LONG = ("--mu", "1", "--max-samples", "1e8")


def npz(**arrays: object) -> bytes:
    """An NPZ file's content."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def flipped(content: bytes, chance: random.Random) -> bytes:
    """With one bit changed, or cut short."""
    if chance.random() < 0.2:
        return content[: chance.randrange(len(content))]
    damaged = bytearray(content)
    damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def options(chance: random.Random) -> Iterator[Case]:
    """Values that no option takes."""
    never = ["nan", "inf", "-inf", "1e400", "abc", "", " ", "1,5", "0x10", "--", "-1", "1e-400j"]
    base = {
        "epsilon": {"--noise-multiplier": "1", "--steps": "10", "--delta": "1e-5"},
        "calibrate": {"--epsilon": "1", "--delta": "1e-5", "--steps": "10"},
        "crosscheck": {"--noise-multiplier": "1", "--steps": "10", "--delta": "1e-5"},
        "audit my.py:sound": {"--noise-multiplier": "1", "--max-samples": "100", "--delta": "1e-5"},
        "audit my.py:flawed": {"--mu": "1", "--confidence": "0.99", "--max-samples": "100"},
        "assay e.toml": {"--epsilon": "1", "--confidence": "0.9", "--max-samples": "10"},
    }
    more = {
        "--sampling-rate": ["0", "2", *never],
        "--sampling": ["shuffled?", "POISSON", "", "all of them"],
        "--relation": ["ONE", "", "add"],
        "--seed": ["-1", "1.5", "x", ""],
        "--workers": ["0", "-2", "1e3", "x"],
        "--batch-size": ["0", "5", "nan"],
        "--plot": [
            "",
            "/",
            "x.nonsense",
            "/proc/x.png",
            "my.py/x.png",
            "\udcff",
            "x" * 300 + ".png",
        ],
    }
    for number in range(110):
        command = chance.choice(list(base))
        given = dict(base[command])
        option = chance.choice(list(given))
        if number % 2:
            option = chance.choice(list(more))
            given[option] = chance.choice(more[option])
        else:
            given[option] = chance.choice(never)
        words = [*command.split(), *(word for pair in given.items() for word in pair)]
        if option in ("--plot", "--seed", "--workers") and not command.startswith("audit"):
            words = ["audit", "my.py:sound", *CHEAP, option, given[option]]
        yield Case(name="", arguments=tuple(words), codes=(2,), files=FILES)
    for words in (
        "",
        "nonsense",
        "--nonsense",
        "epsilon",
        "epsilon --noise-multiplier",
        "zoo nothing-of-that-name",
        "zoo --plot all.png",
        "claims nothing-of-that-name",
        "claims thesis --plot x.png",
        "study nothing",
        "study tum-credit --seeds 0",
        "study tum-credit --redraw --seeds 1",
        "study tum-credit --redraw --output nowhere",
        "report --output .",
        "report --output my.py/x.html",
        "audit",
        "audit my.py",
        "audit my.py:absent --mu 1",
        "audit absent.py:f --mu 1",
        "audit absent_module:f --mu 1",
        "audit my.py:PAIR --mu 1",
        "audit my.py:takes_nothing --mu 1",
        "audit my.py:nothing --mu 1",
        "audit my.py:wrong_count --mu 1",
        "audit my.py:sound",
        "audit my.py:sound --mu 1 --rho 1",
        "audit my.py:sound --mu 1 --pair absent",
        "audit r.csv:sound --mu 1",
        "plan",
        "plan absent.toml",
        "plan my.py",
        "plan .",
        "plan /dev/null",
        "run e.toml",
        "run e.toml --data absent.csv",
        "run e.toml --data my.py",
        "run e.toml --data .",
        "run e.toml --data r.csv --target absent",
        "run e.toml --data r.csv --client target",
        "assay e.toml --noise-multiplier 1 --epsilon 1",
    ):
        yield Case(name="", arguments=tuple(words.split()), codes=(2,), files=FILES)


def answers(chance: random.Random) -> Iterator[Case]:
    """What must work, so that the other codes mean something."""
    for words, code in (
        ("epsilon --noise-multiplier 1 --delta 1e-5", 0),
        ("epsilon --noise-multiplier 1 --delta 1e-5 --json", 0),
        ("epsilon --noise-multiplier 2 --steps 100 --sampling-rate 0.1 --delta 1e-5 --json", 0),
        ("epsilon --noise-multiplier 1 --delta 1e-5 --plot new/x.png", 0),
        ("epsilon --noise-multiplier 1 --delta 1e-5 --plot x.svg", 0),
        ("crosscheck --noise-multiplier 1 --delta 1e-5 --relation REPLACE_ONE --json", 1),
        ("audit my.py:sound --mu 1 --max-samples 100 --json", 0),
        ("audit my.py:prints --mu 1 --max-samples 100 --json", 0),
        ("audit my.py:flawed --mu 1 --json", 1),
        ("audit my.py:flawed --mu 1 --plot x.png", 1),
        ("audit my.py:registers --mu 1 --json", 1),
        ("claims thesis-fig-3-3 --json", 0),
        ("claims tum-sensitivity --plot x.png", 0),
        ("zoo fixed_seed --json", 0),
        ("plan e.toml --json", 0),
        ("run e.toml --data r.csv --json", 0),
        ("--help", 0),
        ("--version", 0),
        ("audit --help", 0),
    ):
        arguments = tuple(word.replace("_seed", " seed") for word in words.split())
        yield Case(name="", arguments=arguments, codes=(code,), files=FILES)


def crashes(chance: random.Random) -> Iterator[Case]:
    """Audited code that goes down: no verdict, whatever it says itself."""
    names = "exits exits_1 exits_in_c exits_later is_killed aborts reads_nowhere leaves leaves_1"
    names += " gives_up recurses has_no_memory divides cannot_encode closes_all odd"
    for name in names.split():
        for more in (("--json",), ("--plot", "x.png"), ("--epsilon", "1", "--delta", "1e-5")):
            claim = () if "--epsilon" in more else ("--mu", "1")
            words = ("audit", f"my.py:{name}", *claim, *more)
            yield Case(name="", arguments=words, codes=(3,), files=FILES)
    for name in ("exits", "is_killed", "leaves", "divides"):
        words = ("audit", f"my.py:{name}", "--mu", "1", "--workers", "2")
        yield Case(name="", arguments=words, codes=(3,), files=FILES, fresh=name == "exits")
    words = ("audit", "my.py:sound", "--mu", "1", "--pair", "bad_pair")
    yield Case(name="", arguments=words, codes=(3,), files=FILES)
    for code in (b"import os; os._exit(0)", b"raise SystemExit(0)", b"1/0", b"import absent_one"):
        yield Case(
            name="", arguments=("audit", "x.py:f", "--mu", "1"), codes=(3,), files={"x.py": code}
        )
    for code in (b"def f(:", b"\0", b"\xff\xfe", b"# coding: nonsense\n"):
        yield Case(
            name="", arguments=("audit", "x.py:f", "--mu", "1"), codes=(2,), files={"x.py": code}
        )


def damaged(chance: random.Random) -> Iterator[Case]:
    """One flipped bit, or a cut, in what a command reads."""
    for _ in range(60):
        files = FILES | {"e.toml": flipped(TOML, chance)}
        yield Case(name="", arguments=("plan", "e.toml", "--json"), codes=(0, 2), files=files)
    for _ in range(30):
        files = FILES | {"r.csv": flipped(CSV, chance)}
        words = ("run", "e.toml", "--data", "r.csv", "--json")
        yield Case(name="", arguments=words, codes=(0, 2), files=files)
    clients = np.arange(40) % 5
    whole = npz(inputs=np.ones((40, 2)), target=np.ones(40), client=clients)
    for _ in range(30):
        files = FILES | {"r.npz": flipped(whole, chance)}
        words = ("run", "e.toml", "--data", "r.npz", "--json")
        yield Case(name="", arguments=words, codes=(0, 2), files=files)
    for _ in range(12):
        files = {"f/tum-credit.json": flipped(RECORD, chance)}
        words = ("study", "tum-credit", "--redraw", "--output", "f", "--workers", "1")
        # What changes no value (white space) may be drawn: that takes long, so it is cut off.
        yield Case(
            name="",
            arguments=words,
            codes=(2, 0),
            files=files,
            kept=("f/tum-credit.json",),
            stop=(signal.SIGTERM, 20.0, False),
        )


def hostile(chance: random.Random) -> Iterator[Case]:
    """Experiments and tables that mean harm."""
    swaps = [
        (b"clients = 5", b"clients = 0"),
        (b"clients = 5", b"clients = -5"),
        (b"clients = 5", b"clients = 5.5"),
        (b"clients = 5", b"clients = true"),
        (b"clients = 5", b"clients = nan"),
        (b"clients = 5", b'clients = "5"'),
        (b"clients = 5", b"clients = [5]"),
        (b"clients = 5", b"clients = 1" + b"0" * 400),
        (b"rounds = 5", b"rounds = 999999999"),
        (b"clients = 5", b"clients = 1" + b"0" * 5000),
        (b"rounds = 5", b"rounds = 0"),
        (b"rounds = 5", b"rounds = inf"),
        (b"rounds = 5", b"rounds = 5\nrounds = 6"),
        (b"delta = 1e-5", b"delta = 0.0"),
        (b"delta = 1e-5", b"delta = 1.0"),
        (b"delta = 1e-5", b"delta = nan"),
        (b"delta = 1e-5", b"delta = -1e-5"),
        (b"delta = 1e-5", b"delta = 1e400"),
        (b"delta = 1e-5", b"delta = 1979-05-27"),
        (b"version = 1", b"version = 2"),
        (b"version = 1", b"version = 1\nsurplus = 1"),
        (b"dp-assay/experiment", b"dp-assay/other"),
        (b'"dp_optimisation"', b'"os.system"'),
        (b'"dp_optimisation"', b'"__class__"'),
        (b'"dp_optimisation"', b"3"),
        (b'"poisson"', b'"sgd"'),
        (b"sampling_rate = 0.25", b"sampling_rate = 2.0"),
        (b"sampling_rate = 0.25", b"sampling_rate = 0"),
        (b"steps = 4", b"steps = -4"),
        (b"steps = 4", b"steps = 4.5"),
        (b"noise_multiplier = 4.0", b"noise_multiplier = -4.0"),
        (b"noise_multiplier = 4.0", b"noise_multiplier = nan"),
        (b"clip_norm = 2.0", b"clip_norm = 0.0"),
        (b"clip_norm = 2.0", b"clip_norm = inf"),
        (b"dimension = 2", b"dimension = 0"),
        (b"dimension = 2", b"dimension = -1"),
        (b"variance = 4.0", b"variance = 0.0"),
        (b"variance = 4.0", b"variance = inf"),
        (b"[prior]", b"[prior]\n[prior]"),
        (b'unit = "record"', b'unit = "planet"'),
        (b'view = "messages"', b'view = "everything"'),
        (b"colluders = 2", b"colluders = -1"),
        (b'"ADD_OR_REMOVE_ONE"', b'"SOMETHING"'),
    ]
    for old, new in swaps:
        assert old in TOML, old
        files = FILES | {"e.toml": TOML.replace(old, new, 1)}
        yield Case(name="", arguments=("plan", "e.toml"), codes=(2,), files=files)
    whole = [b"", b"\0", b"\xff\xfe", b"[" * 50_000, b"a = " + b"[" * 50_000, b"x = {" * 5000]
    whole += [b"a" * 10**6, b"a." * 20_000 + b"b = 1", b'x = "' + b"\\u0000" * 10, b"x = 1e"]
    whole += [
        b"null",
        b"[]",
        b"{}",
        b'{"format": "dp-assay/experiment"}',
        TOML.decode().encode("utf-16"),
    ]
    for content in whole:
        for name in ("e.toml", "e.json"):
            yield Case(name="", arguments=("plan", name), codes=(2,), files={name: content})
    head = b"x1,x2,target,client\n"
    tables = [b"", b"\0", head, head + b"1,2\n", head + b"1,nan,1,0\n", head + b"1,1e999,1,0\n"]
    tables += [
        head + b"1," + b"9" * 400 + b",1,0\n",
        head * 2,
        b"\xff" + head,
        head + b'1,"2,3,4\n',
    ]
    tables += [b"x1,x1,target,client\n1,2,3,4\n", head + b"1,2,3,\n", b"target\n1\n", b"\n\n\n"]
    for content in tables:
        words = ("run", "e.toml", "--data", "r.csv")
        yield Case(name="", arguments=words, codes=(2,), files=FILES | {"r.csv": content})
    ones = np.ones((10, 2))
    archives = [b"", b"PK\x05\x06" + b"\0" * 18, npz(), npz(inputs=ones)]
    archives += [npz(inputs=ones, target=np.ones(9)), npz(inputs=ones, target=np.ones(10) * np.nan)]
    archives += [
        npz(inputs=np.array([[{}]]), target=np.ones(1)),
        npz(inputs=1j * ones, target=ones),
    ]
    archives += [npz(inputs=ones, target=np.ones(10), client=np.arange(3))]
    for content in archives:
        words = ("run", "e.toml", "--data", "r.npz")
        yield Case(name="", arguments=words, codes=(2,), files=FILES | {"r.npz": content})


def streams(chance: random.Random) -> Iterator[Case]:
    """Closed streams, readers that have gone, full disks behind a stream."""
    audit = ("audit", "my.py:flawed", "--mu", "1")
    talkative = ("claims", "thesis-fig-3-3", "--json")
    for words, code in (
        (("epsilon", *CHEAP), 0),
        ((*audit, "--json"), 1),
        (talkative, 0),
        (("--help",), 0),
        (("epsilon", "--delta", "2", "--noise-multiplier", "1"), 2),
        (("audit", "my.py:exits", "--mu", "1"), 3),
    ):
        case = Case(name="", arguments=words, codes=(code,), files=FILES)
        silent = code in (2, 3)  # standard output is not used
        for fresh in (False, True):
            if fresh and words is talkative:
                continue
            one = replace(case, fresh=fresh)
            yield replace(one, closed=(1,), codes=(3,))
            yield replace(one, closed=(2,))
            yield replace(one, gone=(1,), codes=(code if silent else 141,))
            yield replace(one, full=(1,), codes=(code if silent else 3,))
        yield replace(case, closed=(0,))
        yield replace(case, closed=(0, 1, 2), codes=(3,))
        yield replace(case, closed=(0, 2), gone=(1,), codes=(code if silent else 141,))
        yield replace(case, gone=(2,))
        yield replace(case, full=(2,))


def signals(chance: random.Random) -> Iterator[Case]:
    """A signal at any time, to one process or to all."""
    for number in range(70):
        kind = chance.choice([signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        words, codes = chance.choice(
            [
                (("zoo", "--json"), (0,)),
                (("audit", "my.py:slow", *LONG), (0, 1)),
                (("audit", "my.py:sound", *LONG, "--workers", "2"), (0, 1)),
                (("epsilon", *CHEAP, "--plot", "x.png", "--steps", "1e4"), (0,)),
                (("claims", "thesis"), (0,)),
                (("study", "thesis-linreg", "--quick", "--workers", "2", "--output", "s"), (0,)),
                (("report", "--output", "page.html", "--workers", "1"), (0, 1)),
            ]
        )
        fresh = number % 5 == 0
        most = 12.0 if "--workers" in words or fresh else 3.0
        stop = (int(kind), round(chance.random() ** 2 * most, 3), bool(chance.getrandbits(1)))
        yield Case(name="", arguments=words, codes=codes, files=FILES, stop=stop, fresh=fresh)


def permissions(chance: random.Random) -> Iterator[Case]:
    """Where nothing can be written or read."""
    for words in (
        "epsilon --noise-multiplier 1 --delta 1e-5 --plot /x.png",
        "epsilon --noise-multiplier 1 --delta 1e-5 --plot /proc/x.png",
        "epsilon --noise-multiplier 1 --delta 1e-5 --plot /etc/x.png",
        "epsilon --noise-multiplier 1 --delta 1e-5 --plot /new/folder/x.png",
        "epsilon --noise-multiplier 1 --delta 1e-5 --plot e.toml/x.png",
        "audit my.py:flawed --mu 1 --plot /x.svg",
        "report --output /x.html",
        "report --output /proc/x.html",
        "report --output /sys/x.html",
        "study thesis-linreg --quick --output /studies",
        "study thesis-linreg --quick --output /proc/studies",
        "study thesis-linreg --redraw --output /proc",
        "study thesis-linreg --quick --output my.py",
        "plan /etc/shadow",
        "plan /proc/1/mem",
        "run e.toml --data /proc/1/root/x.csv",
        "run e.toml --data e.toml/x.csv",
        "audit /proc/1/root/x.py:f --mu 1",
    ):
        arguments = tuple(words.split())
        # Whoever has no rights may not be able to start an interpreter for workers either.
        nobody = "--redraw" not in arguments
        yield Case(name="", arguments=arguments, codes=(2,), files=FILES, nobody=nobody)
        if "/proc/x" in words or "my.py" in arguments:
            yield Case(name="", arguments=arguments, codes=(2, 1), files=FILES)
    for words, code in (("epsilon " + " ".join(CHEAP), 0), ("audit my.py:flawed --mu 1", 1)):
        arguments = tuple(words.split())
        yield Case(name="", arguments=arguments, codes=(code,), files=FILES, nobody=True)


def full_disks(chance: random.Random) -> Iterator[Case]:
    """Files that cannot grow beyond some bytes; what was there before stays."""
    old = b"the older picture"
    for most in (0, 1, 100, 1000, 5000):
        for words, name in (
            (("epsilon", *CHEAP, "--plot", "x.png"), "x.png"),
            (("audit", "my.py:flawed", "--mu", "1", "--plot", "x.svg"), "x.svg"),
            (("claims", "tum-sensitivity", "--plot", "x.png"), "x.png"),
        ):
            yield Case(
                name="",
                arguments=words,
                codes=(3,),
                files=FILES | {name: old},
                kept=(name,),
                most_bytes=most,
                closed=(),
                gone=(),
                full=(2,) if most < 200 else (),
            )
    for most in (0, 10, 300):
        yield Case(
            name="",
            arguments=("epsilon", *CHEAP, "--json"),
            codes=(3,),
            most_bytes=most,
            full=(2,),
        )
    for most in (0, 60, 700):
        words = ("study", "thesis-linreg", "--quick", "--workers", "1", "--output", "s")
        yield Case(name="", arguments=words, codes=(3, 2), most_bytes=most, full=(2,))


def locales(chance: random.Random) -> Iterator[Case]:
    """Languages that are there, that are not, and none."""
    for locale in ("C", "POSIX", "C.UTF-8", "xx_XX.UTF-8", "de_DE@euro", ""):
        for more in (
            {},
            {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            {"PYTHONIOENCODING": "ascii"},
        ):
            environment = {"LC_ALL": locale, "LANG": locale} | more
            words, code = chance.choice(
                [
                    (("epsilon", *CHEAP), 0),
                    (("epsilon", *CHEAP, "--json"), 0),
                    (("audit", "my.py:flawed", "--mu", "1"), 1),
                    (("audit", "my.py:cannot_encode", "--mu", "1"), 3),
                    (("zoo", "\u03b5 \udcff"), 2),
                ]
            )
            yield Case(
                name="",
                arguments=words,
                codes=(code,),
                files=FILES,
                environment=environment,
                fresh=True,
            )


FAMILIES: dict[str, Callable[[random.Random], Iterator[Case]]] = {
    "options": options,
    "answers": answers,
    "crashes": crashes,
    "damaged": damaged,
    "hostile": hostile,
    "streams": streams,
    "signals": signals,
    "permissions": permissions,
    "full-disks": full_disks,
    "locales": locales,
}


def all_cases(seed: int) -> list[Case]:
    """Every case, named; the same for the same seed."""
    return [
        replace(case, name=f"{family}/{number}")
        for family, make in FAMILIES.items()
        for number, case in enumerate(make(random.Random(f"{seed} {family}")))
    ]
