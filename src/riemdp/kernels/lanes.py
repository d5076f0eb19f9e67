"""Eight numbers that are computed together, in a register: a type of their own in compiled code.

A loop over the 64 numbers of a row of a block has to load and store what it works on; eight numbers of eight matrices
can stay in a register while sums are made of them. numba has no such type and does not find it by itself, so here it
is in the compiler's own terms. Operators act number by number, `load` and `store` take rows of arrays (rows, WIDTH).

Every operation treats all eight alike, so that the bits of one never depend on its neighbours.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import float64, intp, types
from numba.core.cgutils import get_or_insert_function
from numba.core.extending import intrinsic, models, register_model
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature

from riemdp.kernels.constants import WIDTH

_VECTOR, _BITS = ir.VectorType(ir.DoubleType(), WIDTH), ir.VectorType(ir.IntType(64), WIDTH)
FLAGS = ("contract", "nsz")  # as in all kernels


Lanes = Any  # what annotations call them
instruction: Callable[[Callable[..., Any]], Any] = intrinsic  # its calls have one argument less than its definition


class _Lanes(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Lanes")


lanes = _Lanes()


@register_model(_Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


# --- arithmetic, also with a plain number on either side -----------------------------------------------------


def _repeated(builder: Any, value: Any) -> Any:
    """The number in all lanes, unless there are eight already."""
    if value.type == _VECTOR:
        return value
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH))


_cases = [signature(lanes, a, b) for a, b in ((lanes, lanes), (float64, lanes), (lanes, float64))]


def _define(python: Callable[..., Any], name: str) -> None:
    class Template(ConcreteTemplate):
        key = python
        cases = _cases

    infer_global(python)(Template)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:  # noqa: ARG001
        first, second = (_repeated(builder, value) for value in values)
        return getattr(builder, name)(first, second, flags=FLAGS)

    for case in _cases:
        lower_builtin(python, *case.args)(emit)


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")
_define(operator.truediv, "fdiv")


def _unary(name: str) -> Any:
    @instruction
    def function(context: Any, value: Any) -> Any:  # noqa: ARG001
        def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:  # noqa: ARG001
            kind = ir.FunctionType(_VECTOR, [_VECTOR])
            return builder.call(get_or_insert_function(builder.module, kind, f"{name}.v{WIDTH}f64"), values)

        return lanes(lanes), emit

    return function


root, magnitude = _unary("llvm.sqrt"), _unary("llvm.fabs")


@instruction
def same(context: Any, value: Any) -> Any:  # noqa: ARG001
    """The same number in all lanes."""
    return lanes(float64), lambda context, builder, sig, values: _repeated(builder, values[0])  # noqa: ARG005


@instruction
def larger(context: Any, new: Any, known: Any) -> Any:  # noqa: ARG001
    """The new number where it is above the known one: NaN never is."""

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:  # noqa: ARG001
        return builder.select(builder.fcmp_ordered(">", *values), *values)

    return lanes(lanes, lanes), emit


@instruction
def smaller(context: Any, new: Any, known: Any) -> Any:  # noqa: ARG001
    """The smaller number; NaN once one is."""

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:  # noqa: ARG001
        new, known = values
        keep = builder.or_(builder.fcmp_ordered("<=", known, new), builder.fcmp_unordered("uno", known, known))
        return builder.select(keep, known, new)

    return lanes(lanes, lanes), emit


@instruction
def any_above(context: Any, value: Any, limit: Any) -> Any:  # noqa: ARG001
    """Whether one of the eight is above the limit."""

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:  # noqa: ARG001
        above = builder.fcmp_ordered(">", values[0], _repeated(builder, values[1]))
        mask = builder.bitcast(above, ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0))

    return types.boolean(lanes, float64), emit


@instruction
def infinite_above(context: Any, value: Any, limit: Any) -> Any:  # noqa: ARG001
    """Infinity where the number is above the limit, else 0."""

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:  # noqa: ARG001
        above = builder.fcmp_ordered(">", values[0], _repeated(builder, values[1]))
        infinity, zero = (ir.Constant(_VECTOR, [number] * WIDTH) for number in (float("inf"), 0.0))
        return builder.select(above, infinity, zero)

    return lanes(lanes, float64), emit


# --- powers of two ---------------------------------------------------------------------------------------------

_RAISED, _EXPONENT = 0x00095F6200000000, 0x4330000000000000  # moves sqrt(1/2) to a power of two; the bits of 2^52
_DIGITS, _SQRT_HALF = 0x000FFFFFFFFFFFFF, 0x3FE6A09E00000000


@instruction
def powers(context: Any, value: Any) -> Any:  # noqa: ARG001
    """(m, e) of positive normal numbers 2^e m, m in [sqrt(1/2), sqrt(2)): `riemdp.kernels.logarithms.split_powers`."""

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        def bits(number: int) -> Any:
            return ir.Constant(_BITS, [number] * WIDTH)

        raised = builder.add(builder.bitcast(values[0], _BITS), bits(_RAISED))
        mantissa = builder.add(builder.and_(raised, bits(_DIGITS)), bits(_SQRT_HALF))
        exponent = builder.or_(builder.lshr(raised, bits(52)), bits(_EXPONENT))
        offset = ir.Constant(_VECTOR, [2.0**52 + 1023] * WIDTH)
        parts = builder.bitcast(mantissa, _VECTOR), builder.fsub(builder.bitcast(exponent, _VECTOR), offset)
        return context.make_tuple(builder, sig.return_type, parts)

    return types.UniTuple(lanes, 2)(lanes), emit


# --- memory ------------------------------------------------------------------------------------------------------


def _place(context: Any, builder: Any, kind: Any, array: Any, start: Any) -> Any:
    """Where eight numbers begin in a contiguous array."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [start]), _VECTOR.as_pointer())


def _row(builder: Any, row: Any) -> Any:
    return builder.mul(row, ir.Constant(row.type, WIDTH))


@instruction
def load(context: Any, rows: Any, row: Any) -> Any:  # noqa: ARG001
    """A row of an array (rows, WIDTH)."""

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.load(_place(context, builder, sig.args[0], values[0], _row(builder, values[1])), align=8)

    return lanes(rows, intp), emit


@instruction
def store(context: Any, rows: Any, row: Any, value: Any) -> Any:  # noqa: ARG001
    """The eight become a row of an array (rows, WIDTH)."""

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        builder.store(values[2], _place(context, builder, sig.args[0], values[0], _row(builder, values[1])), align=8)
        return context.get_dummy_value()

    return types.void(rows, intp, lanes), emit


@instruction
def transpose(context: Any, source: Any, start: Any, stride: Any, rows: Any, row: Any) -> Any:  # noqa: ARG001
    """rows[row + j, i] = source.flat[start + stride i + j] for i, j < WIDTH: eight numbers of eight records."""

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        source, start, stride, rows, row = values
        starts = [builder.add(start, builder.mul(stride, ir.Constant(start.type, i))) for i in range(WIDTH)]
        read = [builder.load(_place(context, builder, sig.args[0], source, at), align=8) for at in starts]
        for j, vector in enumerate(_exchanged(builder, read)):
            at = _row(builder, builder.add(row, ir.Constant(row.type, j)))
            builder.store(vector, _place(context, builder, sig.args[3], rows, at), align=8)
        return context.get_dummy_value()

    return types.void(source, intp, intp, rows, intp), emit


def _exchanged(builder: Any, vectors: list[Any]) -> list[Any]:
    """The transposed matrix: its halves, their halves and theirs trade places across the diagonal."""
    for distance in (1, 2, 4):
        vectors = [_half_of_each(builder, vectors, i, distance) for i in range(WIDTH)]
    return vectors


def _half_of_each(builder: Any, vectors: list[Any], i: int, distance: int) -> Any:
    """Row i after an exchange of two vectors: of each the numbers in places with the bit `distance` as i has it."""
    places = [place & ~distance | i & distance for place in range(WIDTH)]
    chosen = [place + (WIDTH if own & distance else 0) for own, place in enumerate(places)]
    mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), chosen)
    return builder.shuffle_vector(vectors[i & ~distance], vectors[i | distance], mask)
