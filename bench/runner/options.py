# SPDX-License-Identifier: MIT
"""What every program that runs a plan can be told."""


def add_shared(parser, rounds, consumers="1,2,4,8,16,30", threads="1,2,4,8", fills="50,70,90,95"):
    """The options that a plan reads, with these defaults."""
    parser.add_argument("--quick", action="store_true",
                        help="every row in under 50 s: fewer pairs, and fewer rounds if need be")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds (default: %d)" % rounds)
    for option, default, what in (("--consumers", consumers, "numbers of consumers"),
                                  ("--threads", threads, "numbers of producers"),
                                  ("--fills", fills, "percent of the arena for aging")):
        parser.add_argument(option, metavar="LIST", default=default, help="%s (default: %s)" % (what, default))
    parser.add_argument("--pairs", type=int, metavar="N", help="pairs a run, for all allocators alike")
    parser.add_argument("--no-pin", action="store_true", help="let the scheduler place the threads")
