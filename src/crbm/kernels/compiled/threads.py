"""Parts of a loop on the threads of torch.

The kernels join the OpenMP runtime that torch has loaded. A second pool, e.g. that of
Numba's `prange`, would compete with torch's threads, which keep a core busy for some
milliseconds after each operation in case another one follows.
"""

# mypy: disable-error-code="untyped-decorator"

import ctypes
from typing import Any, no_type_check

import torch
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_PREFIX = "crbm_"  # keeps the names apart from those of another OpenMP runtime
_INT, _LONG, _POINTER = ir.IntType(32), ir.IntType(64), cgutils.voidptr_t
_PART = ir.FunctionType(ir.VoidType(), [_POINTER])
# The entry point that GCC compiles `#pragma omp parallel` into; LLVM's runtime on Linux
# has it too. Its arguments are a function, what it is given, threads and flags.
_FUNCTIONS = {
    "GOMP_parallel": ir.FunctionType(
        ir.VoidType(), [_PART.as_pointer(), _POINTER, _INT, _INT]
    ),
    "omp_get_thread_num": ir.FunctionType(_INT, []),
    "omp_get_num_threads": ir.FunctionType(_INT, []),
}


def _find_runtime() -> bool:
    """Tell LLVM where torch's OpenMP functions are; False if torch has none."""
    library = ctypes.CDLL(torch._C.__file__)  # finds those it depends on, too
    found = all(hasattr(library, name) for name in _FUNCTIONS)
    for name in _FUNCTIONS:
        function = getattr(library, name) if found else _unused
        address = ctypes.cast(function, ctypes.c_void_p).value
        binding.add_symbol(_PREFIX + name, address)
    return found


@ctypes.CFUNCTYPE(None)
def _unused() -> None:
    """Stands for functions that are missing: LLVM requires that all names exist."""


IS_AVAILABLE = _find_runtime()


@no_type_check
def in_parts(kernel):
    """A function of (arguments, n_threads) that runs a kernel, one part per thread.

    It calls `kernel(part, n_parts, *arguments)` for each part. The kernel decides what
    its part is; it must not raise. The compiler may not merge it with its callers, so
    that rounding is the same for any number of threads.
    """

    @intrinsic
    def run_in_parts(typing_context, arguments, n_threads):
        of_kernel = (types.intp, types.intp, *arguments.types)
        kernel_type = types.Dispatcher(kernel)
        signature = kernel_type.get_call_type(typing_context, of_kernel, {})

        def generate(context, builder, _, values):
            compiled = kernel.get_compile_result(signature)
            context.active_code_library.add_linking_library(compiled.library)
            function = context.declare_function(builder.module, compiled.fndesc)

            def call(builder, *values):
                context.call_conv.call_function(
                    builder, function, types.none, of_kernel, values, ("noinline",)
                )

            _call_in_parts(builder, call, *values)
            return context.get_dummy_value()

        return types.void(arguments, n_threads), generate

    return run_in_parts


@no_type_check
def _call_in_parts(builder, call, arguments, n_threads):
    """Call once for all, or on a team of threads."""
    several = builder.icmp_signed(">", n_threads, _LONG(1))
    with builder.if_else(several) as (team, alone):
        with team:
            part = _define_part(builder.module, arguments.type, call)
            shared = cgutils.alloca_once_value(builder, arguments)
            start = _declare(builder.module, "GOMP_parallel")
            shared = builder.bitcast(shared, _POINTER)
            builder.call(start, [part, shared, builder.trunc(n_threads, _INT), _INT(0)])
        with alone:
            call(builder, _LONG(0), _LONG(1), *cgutils.unpack_tuple(builder, arguments))


@no_type_check
def _define_part(module, arguments_type, call):
    """A C function of a pointer to the arguments that does the part of its thread."""
    part = ir.Function(module, _PART, module.get_unique_name("part"))
    part.linkage = "internal"
    builder = ir.IRBuilder(part.append_basic_block())
    pointer = builder.bitcast(part.args[0], arguments_type.as_pointer())
    arguments = cgutils.unpack_tuple(builder, builder.load(pointer))
    numbers = [
        builder.sext(builder.call(_declare(module, name), []), _LONG)
        for name in ("omp_get_thread_num", "omp_get_num_threads")
    ]
    call(builder, *numbers, *arguments)
    builder.ret_void()
    return part


def _declare(module: Any, name: str) -> Any:
    """One of the functions of OpenMP."""
    return cgutils.get_or_insert_function(module, _FUNCTIONS[name], _PREFIX + name)
