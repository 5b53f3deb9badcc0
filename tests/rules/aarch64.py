# SPDX-License-Identifier: MIT
"""What the audit of aarch64 code shares: reading objdump's listing, and what an atomic instruction orders."""
import re

LABEL = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
PLACE = re.compile(r"^(/\S+):(\d+)(?: \(discriminator \d+\))?$")
CODE = re.compile(r"^\s*([0-9a-f]+):\t(\S+)(?:\s+(.*?))?(?:\s*//.*)?$")
CALLED = re.compile(r"R_AARCH64_(?:CALL|JUMP)26\s+([\w.]+)")
HELPER = re.compile(r"__aarch64_(?:cas|swp|ld(?:add|clr|eor|set))\d+_(relax|acq|rel|acq_rel)")
EXCLUSIVE_LOAD = re.compile(r"ld(a?)x[rp][bh]?")
EXCLUSIVE_STORE = re.compile(r"st(l?)x[rp][bh]?")
ORDERED_LOAD = re.compile(r"ldap?u?r[bh]?")
ORDERED_STORE = re.compile(r"stlu?r[bh]?")
SINGLE = re.compile(r"(?:(ld|st)(?:add|clr|eor|set|[su]max|[su]min)|(swp)|(casp?))(al|a|l|)[bh]?")
BARRIERS = ("dmb", "dsb")
ZERO = ("wzr", "xzr")
STATUS_WINDOW = 8

ORDERS = {"relaxed": (False, False), "acquire": (True, False), "release": (False, True), "acqrel": (True, True),
          "sc": (True, True)}
HELPER_ORDERS = {"relax": "relaxed", "acq": "acquire", "rel": "release", "acq_rel": "acqrel"}


class Instruction:
    """`acquires`, `releases`: whether it does; None for what it cannot do, both None if it is not atomic."""

    def __init__(self, address, mnemonic, operands, place):
        self.address, self.mnemonic, self.place = address, mnemonic, place
        self.operands = [word.strip() for word in operands.split(",")] if operands else []
        self.text = f"`{mnemonic} {operands}`" if operands else f"`{mnemonic}`"
        self.acquires = self.releases = None
        self.is_rmw = self.is_exclusive_load = self.is_exclusive_store = False
        self.old_value = None  # the register of a single instruction for it
        self.called = None
        self.classify()

    def classify(self):
        load, store = EXCLUSIVE_LOAD.fullmatch(self.mnemonic), EXCLUSIVE_STORE.fullmatch(self.mnemonic)
        single = SINGLE.fullmatch(self.mnemonic)
        if load:
            self.acquires = load.group(1) == "a"
            self.is_exclusive_load = True
        elif store:
            self.releases = store.group(1) == "l"
            self.is_rmw = self.is_exclusive_store = True
        elif single:
            self.acquires, self.releases = "a" in single.group(4), "l" in single.group(4)
            self.is_rmw = True
            self.old_value = "xzr" if single.group(1) == "st" else self.operands[0 if single.group(3) else 1]
        elif ORDERED_LOAD.fullmatch(self.mnemonic):
            self.acquires = True
        elif ORDERED_STORE.fullmatch(self.mnemonic):
            self.releases = True

    def call(self, name):
        """It is a branch to `name`, as the relocation says."""
        self.called = name
        self.text = f"`{self.mnemonic} {name}`"
        helper = HELPER.fullmatch(name)
        if helper:
            self.acquires, self.releases = ORDERS[HELPER_ORDERS[helper.group(1)]]
            self.is_rmw = True

    @property
    def is_atomic(self):
        return self.acquires is not None or self.releases is not None


def read_listing(text):
    """{function: [Instruction]} of `objdump -d -l -r --no-show-raw-insn`; a place is (file, line) or None."""
    functions, code, place = {}, None, None
    for line in text.splitlines():
        label, at, instruction, called = LABEL.match(line), PLACE.match(line), CODE.match(line), CALLED.search(line)
        if label:
            code, place = functions.setdefault(label.group(1), []), None
        elif called and code:
            code[-1].call(called.group(1))
        elif at:
            place = (at.group(1), int(at.group(2)))
        elif instruction and code is not None:
            code.append(Instruction(instruction.group(1), instruction.group(2), instruction.group(3) or "", place))
    return functions


def status_is_read(code, index):
    """Whether the status of the store-exclusive at `index` is looked at soon after."""
    status = code[index].operands[0]
    return status not in ZERO and any(status in after.operands for after in code[index + 1:index + 1 + STATUS_WINDOW])
