"""Runs a command on a machine that lacks something: without.py user-namespaces|landlock COMMAND...

A seccomp filter answers the calls as a kernel without the feature does; the command and all its children are under it.
"""

import ctypes
import os
import struct
import sys

LOAD, JUMP_EQUAL, JUMP_SET, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
EPERM, ENOSYS = 1, 38
CLONE_NEWUSER = 0x10000000
NUMBERS = {"x86_64": (56, 272), "aarch64": (220, 97)}
LANDLOCK_CREATE_RULESET, CLONE3 = 444, 435


def without_user_namespaces():
    clone, unshare = NUMBERS[os.uname().machine]
    return [
        (LOAD, 0, 0, 0),
        (JUMP_EQUAL, 0, 1, CLONE3),
        (RETURN, 0, 0, ERRNO | ENOSYS),
        (JUMP_EQUAL, 1, 0, clone),
        (JUMP_EQUAL, 0, 3, unshare),
        (LOAD, 0, 0, 16),
        (JUMP_SET, 0, 1, CLONE_NEWUSER),
        (RETURN, 0, 0, ERRNO | EPERM),
        (RETURN, 0, 0, ALLOW),
    ]


def without_landlock():
    return [
        (LOAD, 0, 0, 0),
        (JUMP_EQUAL, 0, 1, LANDLOCK_CREATE_RULESET),
        (RETURN, 0, 0, ERRNO | ENOSYS),
        (RETURN, 0, 0, ALLOW),
    ]


def install(program):
    code = b"".join(struct.pack("HBBI", *step) for step in program)
    steps = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(steps))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.create_string_buffer(header), 0, 0):
        raise OSError(ctypes.get_errno(), "no filter")


install({"user-namespaces": without_user_namespaces, "landlock": without_landlock}[sys.argv[1]]())
os.execvp(sys.argv[2], sys.argv[2:])
