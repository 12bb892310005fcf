"""Runs a static x86-64 Linux program on the Bochs processor model, which has AVX-512 where the machine has not.

    python avx512_emulator.py PROGRAM [ARGUMENT...]

No system is booted: the program runs at privilege level 0 in a flat address space of its own, and the few system calls
that a single-threaded test program makes are answered here. Files do not exist, threads cannot be made. The exit status
is the program's; 139 after a fault, with what is known about it on standard error.
"""

import ctypes
import errno
import mmap
import os
import struct
import sys
import time

import bochscpu
import bochscpu.cpu
import bochscpu.memory

PAGE = 4096
MEMORY = 2 << 30  # of physical addresses; the host gives pages as they are touched
STUB = 0x7FFF_F000_0000
START = STUB + 64
STACK_TOP, STACK_SIZE = 0x7FFF_0000_0000, 8 << 20
PIE_BASE, MAP_BASE = 0x5555_5555_0000, 0x7000_0000_0000
PRESENT_WRITABLE = 3
FAULTS = {0: "division", 6: "invalid opcode", 13: "general protection", 14: "page fault"}


def pages_of(address, length):
    return range(address & -PAGE, (address + length + PAGE - 1) & -PAGE, PAGE)


class Memory:
    """Physical memory, the page tables in it, and access by virtual address."""

    def __init__(self):
        self.bytes = mmap.mmap(-1, MEMORY, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.host = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))
        self.next, self.free = PAGE, []
        self.page_of = {}  # virtual page -> physical page, accessible or not
        self.tables = {}
        self.root = self.allocate()

    def bring(self, physical):
        page = physical & -PAGE
        bochscpu.memory.page_insert(page, self.host + page)

    def allocate(self):
        if self.free:
            page = self.free.pop()
            self.bytes[page : page + PAGE] = bytes(PAGE)
            return page
        page = self.next
        self.next += PAGE
        if self.next > MEMORY:
            raise MemoryError("the emulated machine's memory is used up")
        return page

    def entry(self, virtual):
        """Where the last-level entry of a page is; the tables above it are made as needed."""
        key = virtual >> 21
        table = self.tables.get(key)
        if table is None:
            table = self.root
            for shift in (39, 30, 21):
                at = table + ((virtual >> shift) & 511) * 8
                (entry,) = struct.unpack_from("<Q", self.bytes, at)
                if not entry & 1:
                    entry = self.allocate() | PRESENT_WRITABLE
                    struct.pack_into("<Q", self.bytes, at, entry)
                table = entry & -PAGE
            self.tables[key] = table
        return table + ((virtual >> 12) & 511) * 8

    def map(self, address, length, accessible=True):
        for page in pages_of(address, length):
            if accessible and page not in self.page_of:
                self.page_of[page] = self.allocate()
            if page in self.page_of:
                entry = self.page_of[page] | PRESENT_WRITABLE if accessible else 0
                struct.pack_into("<Q", self.bytes, self.entry(page), entry)

    def unmap(self, address, length):
        for page in pages_of(address, length):
            physical = self.page_of.pop(page, None)
            if physical is not None:
                struct.pack_into("<Q", self.bytes, self.entry(page), 0)
                self.free.append(physical)

    def pieces(self, address, length):
        while length:
            within = address % PAGE
            count = min(length, PAGE - within)
            yield self.page_of[address - within] + within, count
            address, length = address + count, length - count

    def read(self, address, length):
        return b"".join(self.bytes[at : at + count] for at, count in self.pieces(address, length))

    def write(self, address, data):
        done = 0
        for at, count in self.pieces(address, len(data)):
            self.bytes[at : at + count] = data[done : done + count]
            done += count


class Program:
    """A process: its memory, its processor, and the answers to its system calls."""

    def __init__(self, path, arguments, environment):
        self.memory, self.status = Memory(), None
        self.next_map = MAP_BASE
        entry, auxiliary = self.load(path)
        self.memory.map(STACK_TOP - STACK_SIZE, STACK_SIZE)
        stack = self.make_stack(arguments, environment, auxiliary)
        # System calls jump here: wbinvd (calls on_system_call); mov cr3, r11 (drops stale translations); jmp rcx
        self.memory.map(STUB, PAGE)
        # The program starts here: xor ecx, ecx; xor edx, edx; mov eax, 0xE7; xsetbv (x87, SSE, AVX and the three parts
        # of AVX-512; set as initial state it has no effect); jmp r11
        self.memory.write(START, bytes.fromhex("31c9 31d2 b8e7000000 0f01d1 41ffe3"))
        self.memory.write(STUB, bytes([0x0F, 0x09, 0x41, 0x0F, 0x22, 0xDB, 0xFF, 0xE1]))
        self.session = bochscpu.Session()
        self.session.missing_page_handler = self.memory.bring
        self.session.cpu.state = self.first_state(entry, stack)

    def load(self, path):
        with open(path, "rb") as file:
            elf = file.read()
        if elf[:5] != b"\x7fELF\x02":
            raise SystemExit(f"{path}: not a 64-bit ELF program")
        kind, _, _, entry, table = struct.unpack_from("<HHIQQ", elf, 16)
        entry_len, count = struct.unpack_from("<HH", elf, 54)
        base = PIE_BASE if kind == 3 else 0
        headers = [struct.unpack_from("<IIQQQQQQ", elf, table + index * entry_len) for index in range(count)]
        table_at = 0
        for segment, _, offset, address, _, in_file, in_memory, _ in headers:
            if segment == 3:
                raise SystemExit(f"{path}: dynamically linked; build it with -C target-feature=+crt-static")
            if segment == 1:
                self.memory.map(base + address, in_memory)
                self.memory.write(base + address, elf[offset : offset + in_file])
                self.brk = max(getattr(self, "brk", 0), base + address + in_memory)
                if offset <= table < offset + in_file:
                    table_at = base + address + table - offset
        self.brk = (self.brk + PAGE - 1) & -PAGE
        return base + entry, {3: table_at, 4: entry_len, 5: count, 6: PAGE, 7: 0, 9: base + entry, 23: 0}

    def make_stack(self, arguments, environment, auxiliary):
        top = STACK_TOP

        def push(data):
            nonlocal top
            top -= len(data)
            self.memory.write(top, data)
            return top

        auxiliary[25] = push(os.urandom(16))
        variables = [push(f"{name}={value}\0".encode()) for name, value in environment.items()]
        words = [push(argument.encode() + b"\0") for argument in arguments]
        auxiliary[31] = words[0]
        vectors = [len(words), *words, 0, *variables, 0]
        for item in [*auxiliary.items(), (0, 0)]:
            vectors.extend(item)
        top = (top - 8 * len(vectors)) & -64
        self.memory.write(top, struct.pack(f"<{len(vectors)}Q", *vectors))
        return top

    def first_state(self, entry, stack):
        state = bochscpu.State()
        bochscpu.cpu.set_long_mode(state)
        state.cr0 &= ~0xC  # no emulated or lazily switched floating point
        state.cr4 |= 1 << 9 | 1 << 10 | 1 << 18  # SSE, its exceptions, XSAVE
        state.xcr0 = 1
        state.cr3, state.rip, state.rsp, state.rflags = self.memory.root, START, stack, 2
        state.r11 = entry
        state.mxcsr, state.mxcsr_mask, state.fpcw, state.fptw = 0x1F80, 0xFFFF, 0x37F, 0xFFFF
        state.lstar, state.star, state.sfmask = STUB, 0x8 << 32, 0
        for name, selector, kind in [("cs", 8, 0xA09B), ("ss", 16, 0xC093), ("ds", 16, 0xC093), ("es", 16, 0xC093),
                                     ("fs", 16, 0xC093), ("gs", 16, 0xC093)]:
            segment = bochscpu.Segment()
            segment.present, segment.selector, segment.base, segment.limit = True, selector, 0, 0xFFFF_FFFF
            segment.attr = kind
            setattr(state, name, segment)
        return state

    def run(self):
        hook = bochscpu.Hook()
        hook.cache_cntrl = self.on_system_call
        hook.exception = self.on_exception
        self.session.run([hook])
        return 139 if self.status is None else self.status

    def stop(self, status):
        self.status = status
        self.session.stop()

    def on_exception(self, _session, _cpu, vector, error):
        cpu = self.session.cpu
        address = f", address {cpu.cr2:#x}" if vector == 14 else ""
        print(f"emulator: {FAULTS.get(vector, vector)} at {cpu.rip:#x}{address}, error {error:#x}", file=sys.stderr)
        self.stop(139)

    def on_system_call(self, _session, _cpu, _what):
        cpu = self.session.cpu
        arguments = (cpu.rdi, cpu.rsi, cpu.rdx, cpu.r10, cpu.r8, cpu.r9)
        try:
            result = self.call(cpu.rax, *arguments)
        except KeyError:  # an address that is not mapped
            result = -errno.EFAULT
        cpu.rax = result & 0xFFFF_FFFF_FFFF_FFFF
        cpu.r11 = self.memory.root

    def call(self, number, a, b, c, d, e, _f):
        memory = self.memory
        if number == 1:  # write
            return os.write(a, memory.read(b, c)) if a in (1, 2) else -errno.EBADF
        if number == 20:  # writev
            parts = [struct.unpack("<QQ", memory.read(b + 16 * index, 16)) for index in range(c)]
            return os.write(a, b"".join(memory.read(*part) for part in parts)) if a in (1, 2) else -errno.EBADF
        if number == 9:  # mmap
            if not d & 0x20:
                return -errno.ENODEV
            length = (b + PAGE - 1) & -PAGE
            if d & 0x10:
                memory.unmap(a, length)
            else:
                a, self.next_map = self.next_map, self.next_map + length
            if c:
                memory.map(a, length)
            return a
        if number == 10:  # mprotect; whatever is accessible may be written
            memory.map(a, b, accessible=c != 0)
            return 0
        if number == 11:  # munmap
            memory.unmap(a, b)
            return 0
        if number == 12:  # brk
            if a > self.brk:
                memory.map(self.brk, a - self.brk)
                self.brk = (a + PAGE - 1) & -PAGE
            return self.brk
        if number == 25:  # mremap: always moves
            old, new = (b + PAGE - 1) & -PAGE, (c + PAGE - 1) & -PAGE
            to, self.next_map = self.next_map, self.next_map + new
            memory.map(to, new)
            memory.write(to, memory.read(a, min(old, new)))
            memory.unmap(a, old)
            return to
        if number == 158 and a == 0x1002:  # arch_prctl(ARCH_SET_FS)
            segment = self.session.cpu.fs
            segment.base = b
            self.session.cpu.fs = segment
            return 0
        if number in (60, 231):  # exit, exit_group
            self.stop(a & 0xFF)
            return 0
        if number in (228, 96):  # clock_gettime, gettimeofday
            now = time.time_ns() if number == 96 or a == 0 else time.monotonic_ns()
            unit = 1 if number == 228 else 1000
            memory.write(b if number == 228 else a, struct.pack("<QQ", now // 10**9, now % 10**9 // unit))
            return 0
        if number == 318:  # getrandom
            memory.write(a, os.urandom(b))
            return b
        if number == 204:  # sched_getaffinity: one processor
            memory.write(c, struct.pack("<Q", 1))
            return 8
        if number == 302:  # prlimit64
            if d:
                memory.write(d, struct.pack("<QQ", STACK_SIZE, STACK_SIZE))
            return 0
        if number == 200 or (number == 234 and c == 6):  # tkill, tgkill: abort
            self.stop(134)
            return 0
        if number in (39, 186, 218):  # getpid, gettid, set_tid_address
            return 1
        if number in (0, 3, 7, 13, 14, 28, 72, 131, 202, 273):
            # read (at its end), close, poll, signals, madvise, fcntl, futex (there are no other threads), robust list
            return 0
        if number in (2, 21, 89, 257, 262, 267, 332, 439):  # every path
            return -errno.ENOENT
        if number == 16:  # ioctl
            return -errno.ENOTTY
        if number in (56, 57, 58, 435):  # threads and processes
            return -errno.EAGAIN
        if os.environ.get("EMULATOR_TRACE"):
            print(f"emulator: system call {number} is not there", file=sys.stderr)
        return -errno.ENOSYS


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    passed_on = {name: value for name, value in os.environ.items() if name.startswith(("LATH_", "RUST_"))}
    status = Program(sys.argv[1], sys.argv[1:], passed_on).run()
    sys.stdout.flush()
    # The emulator's library has no more output; its tear-down order cannot be relied on.
    os._exit(status)


main()
