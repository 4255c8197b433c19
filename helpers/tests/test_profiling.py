"""The record of a call agrees with what can be worked out by hand."""

import os
import subprocess
import sys
from itertools import accumulate

import pytest
import torch
import torch.nn.functional as F

from helpers import profiled

torch.set_num_threads(1)
KIB = 1024


def floats(kib):
    """A new tensor of so many KiB."""
    return torch.empty(kib * KIB // 4)


def test_allocations_in_order_and_what_is_given_back():
    def f():
        a = floats(64)
        b = floats(16)
        del a
        c = floats(32)
        return b, c

    sizes = profiled(f).allocations
    assert sizes == tuple(KIB * kib for kib in (64, 16, -64, 32))
    assert max(accumulate(sizes)) == 80 * KIB


def test_the_peak_inside_one_operation_is_seen():
    x = floats(64).zero_().reshape(16, -1)
    record = profiled(lambda: torch.logsumexp(x, dim=1))
    assert sum(record.allocations) == 16 * 4  # the result alone is left
    assert max(accumulate(record.allocations)) >= 64 * KIB  # and in between, the exponentials


def test_result_is_held_and_inputs_are_not_counted():
    x = floats(512).zero_()
    assert profiled(lambda: x.exp()).allocations == (512 * KIB,)
    assert profiled(lambda: x.view(2, -1)).allocations == ()


def test_operations_are_named_outer_before_inner():
    x = torch.ones(4, 4)
    names = profiled(lambda: torch.softmax(x @ x, dim=-1)).operations
    wanted = ["aten::matmul", "aten::mm", "aten::softmax", "aten::_softmax"]
    assert [name for name in names if name in wanted] == wanted


def test_no_call_remembers_the_one_before():
    x = torch.ones(4, 4)
    profiled(lambda: x.exp())
    assert "aten::exp" not in profiled(lambda: x.sin()).operations


def test_errors_are_passed_on_and_stderr_comes_back(capfd):
    with pytest.raises(ZeroDivisionError):
        profiled(lambda: 1 / 0)
    os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"
    assert profiled(lambda: torch.ones(2)).operations  # and the profiler runs again


def test_writes_nothing_and_opens_nothing(capfd):
    def open_files():
        places = range(256)
        return [n for n in places if _is_open(n)]

    before = open_files()
    for _ in range(3):
        profiled(lambda: torch.ones(2).exp())
    assert open_files() == before
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def _is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def test_a_process_without_stderr():
    code = "import os, torch; from helpers import profiled; os.close(2)\n"
    code += "print(len(profiled(lambda: torch.ones(8)).allocations))"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (child.returncode, child.stdout.strip()) == (0, "1")


def test_imports_little():
    code = "import sys, torch; from helpers import profiled\n"
    code += "profiled(lambda: torch.ones(8)); print('sympy' in sys.modules)"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert child.stdout.strip() == "False"


# ---------------------------------------- what lesson 08 says of the fused call
def memory(f):
    return max(accumulate(profiled(f).allocations))


@pytest.mark.parametrize("T", [256, 512])
def test_the_plain_path_takes_a_grid_and_the_flash_kernel_none(T):
    q, k, v = torch.ones(3, 4, T, 16)
    flat = profiled(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
    fused = profiled(
        lambda: F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], is_causal=True)
    )
    assert "aten::_scaled_dot_product_attention_math" in flat.operations
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in fused.operations
    grid = 4 * T * T * 4
    assert max(accumulate(flat.allocations)) > 2 * grid
    assert max(accumulate(fused.allocations)) < grid
