# SPDX-License-Identifier: Apache-2.0
"""Make one of the .prof files of this folder: `pythonX.Y make_prof.py OUT.prof [pure]`.

The program has plain, self- and mutual recursion, generators, builtins and names outside ASCII, and imports
nothing, so that no file of the machine that made it is named. With `pure` the profiler is the one written in
Python, whose callers are bare numbers. Runs on Python 2.7 too, whose marshal differs."""

import cProfile
import profile
import sys

SOURCE = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def even(n):
    return True if n == 0 else odd(n - 1)

def odd(n):
    return False if n == 0 else even(n - 1)

class Tree:
    def __init__(self, depth):
        self.below = [Tree(depth - 1) for _ in range(2)] if depth else []

    def weight(self):
        return len(self.below) + sum(sorted([t.weight() for t in self.below], key=lambda w: -w))

def numbers(n):
    for i in range(n):
        yield i

def main():
    fib(12)
    even(40)
    Tree(5).weight()
    sum(numbers(30))
    return [str(i).join(["a", "b"]) for i in range(20)]
"""
NAMED = (
    "def gr\u00fc\u00df_gott():\n    return max(3, 4)\n"
    if sys.version_info[0] > 2
    else "def hello():\n    return 1\n"
)

names = {}
exec(compile(SOURCE, "/srv/app/work.py", "exec"), names)
exec(
    compile(NAMED, "/srv/app/\u6a21\u578b.py" if sys.version_info[0] > 2 else "/srv/app/model.py", "exec"),
    names,
)
greet = next(f for n, f in names.items() if n.startswith(("gr", "hello")))

if len(sys.argv) > 2:
    profiler = profile.Profile()
    profiler.runctx("main(); greet()", dict(names, greet=greet), {})
else:
    profiler = cProfile.Profile()
    profiler.enable()
    names["main"]()
    greet()
    profiler.disable()
profiler.dump_stats(sys.argv[1])
