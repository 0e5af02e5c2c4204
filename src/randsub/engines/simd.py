"""Eight numbers at a time, for compiled kernels.

A kernel that works on eight columns at once keeps eight running sums, eight best values so far and
so on. Written as loops over small arrays, these live in memory, because the compiler cannot know
that the arrays do not overlap. Here they are values of a type of their own, which the compiler
keeps in vector registers, of whatever width the machine has.

Lanes are read from and written to contiguous arrays; ``at`` is the place of the first of the eight,
counted through all dimensions.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from randsub._numba import cgutils

WIDTH = 8

# The logarithm as FDLIBM has it: log 2 in two parts, and the coefficients of a polynomial.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_EVEN = (1.531383769920937332e-01, 2.222219843214978396e-01, 3.999999999940941908e-01)
_ODD = (
    1.479819860511658591e-01,
    1.818357216161805012e-01,
    2.857142874366239149e-01,
    6.666666666666735130e-01,
)
# Bits of 1, of the root of 1/2, of a mantissa, and of 2 ** 52.
_ONE, _ROOT, _MANTISSA, _SHIFT = 0x3FF << 52, 0x3FE6A09E00000000, (1 << 52) - 1, 0x433 << 52


class LanesType(types.Type):
    """Eight values of one scalar type."""

    def __init__(self, element: Any) -> None:
        self.element = element
        super().__init__(name=f"lanes({element})")


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: LanesType) -> None:
        # Truth values are single bits in a register; everything else is as in memory.
        is_truth = fe_type.element == types.boolean
        element = ir.IntType(1) if is_truth else dmm.lookup(fe_type.element).get_value_type()
        super().__init__(dmm, fe_type, ir.VectorType(element, WIDTH))


def _address(context: Any, builder: Any, signature: Any, args: Any) -> tuple[Any, int]:
    """Where eight elements begin, and the alignment of one."""
    array_type, array, at = signature.args[0], args[0], args[1]
    data = cgutils.create_struct_proxy(array_type)(context, builder, value=array).data
    first = builder.gep(data, [at])
    element = context.get_data_type(array_type.dtype)
    vector = ir.VectorType(element, WIDTH)
    return builder.bitcast(first, vector.as_pointer()), context.get_abi_sizeof(element)


@intrinsic
def load(typingctx: Any, array: Any, at: Any) -> Any:
    """``array[at : at + 8]``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, alignment = _address(context, builder, signature, args)
        return builder.load(address, align=alignment)

    return LanesType(array.dtype)(array, types.intp), codegen


@intrinsic
def store(typingctx: Any, array: Any, at: Any, lanes: Any) -> Any:
    """``array[at : at + 8] = lanes``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, alignment = _address(context, builder, signature, args)
        builder.store(args[2], address, align=alignment)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), codegen


@intrinsic
def splat(typingctx: Any, value: Any) -> Any:
    """The same value in all lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = context.get_value_type(signature.return_type)
        undefined = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(undefined, args[0], ir.Constant(ir.IntType(32), 0))
        all_first = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(first, undefined, all_first)

    return LanesType(value)(value), codegen


def _of_two(emit: Callable[[Any, Any, Any], Any], result: Any = None) -> Any:
    """An operation lane by lane on two of the same type; ``emit`` writes its instruction."""

    def operation(typingctx: Any, one: Any, other: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return emit(builder, args[0], args[1])

        return (one if result is None else LanesType(result))(one, other), codegen

    return intrinsic(operation)


add = _of_two(lambda builder, one, other: builder.fadd(one, other))
subtract = _of_two(lambda builder, one, other: builder.fsub(one, other))
multiply = _of_two(lambda builder, one, other: builder.fmul(one, other))
divide = _of_two(lambda builder, one, other: builder.fdiv(one, other))
greater = _of_two(lambda builder, one, other: builder.fcmp_ordered(">", one, other), types.boolean)
equal = _of_two(lambda builder, one, other: builder.fcmp_ordered("==", one, other), types.boolean)
both = _of_two(lambda builder, one, other: builder.and_(one, other))


@intrinsic
def choose(typingctx: Any, truth: Any, one: Any, other: Any) -> Any:
    """The first where true, the second elsewhere."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(*args)

    return one(truth, one, other), codegen


@intrinsic
def upper_floats(typingctx: Any, words: Any) -> Any:
    """The upper halves of eight int64 words, each the bits of a float32."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        half = ir.Constant(args[0].type, [32] * WIDTH)
        bits = builder.trunc(builder.lshr(args[0], half), ir.VectorType(ir.IntType(32), WIDTH))
        return builder.bitcast(bits, context.get_value_type(signature.return_type))

    return LanesType(types.float32)(words), codegen


@intrinsic
def total_of(typingctx: Any, lanes: Any) -> Any:
    """The sum of all lanes, added up in halves."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector, width = args[0], WIDTH
        while width > 1:
            width //= 2
            kind = ir.VectorType(ir.IntType(32), width)
            low, high = (
                builder.shuffle_vector(vector, vector, ir.Constant(kind, [*range(at, at + width)]))
                for at in (0, width)
            )
            vector = builder.fadd(low, high)
        return builder.extract_element(vector, ir.IntType(32)(0))

    return lanes.element(lanes), codegen


@intrinsic
def running_sums(typingctx: Any, lanes: Any) -> Any:
    """In each lane, the sum of the lanes up to it: 1, 2 and 4 lanes are added in three steps."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = args[0]
        zeros = ir.Constant(vector.type, [0.0] * WIDTH)
        kind = ir.VectorType(ir.IntType(32), WIDTH)
        for by in (1, 2, 4):
            # Places from the eighth on are those of the zeros.
            places = [place - by if place >= by else WIDTH for place in range(WIDTH)]
            moved = builder.shuffle_vector(vector, zeros, ir.Constant(kind, places))
            vector = builder.fadd(vector, moved)
        return vector

    return lanes(lanes), codegen


@intrinsic
def last_of(typingctx: Any, lanes: Any) -> Any:
    """The last lane, in all lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.VectorType(ir.IntType(32), WIDTH)
        last = ir.Constant(kind, [WIDTH - 1] * WIDTH)
        return builder.shuffle_vector(args[0], args[0], last)

    return lanes(lanes), codegen


@intrinsic
def look_up(typingctx: Any, table: Any, lanes: Any) -> Any:
    """``table[lanes]`` for doubles that are whole numbers; below 0, the first entry."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0]).data
        places = builder.fptosi(args[1], ir.VectorType(ir.IntType(64), WIDTH))
        zeros = ir.Constant(places.type, [0] * WIDTH)
        places = builder.select(builder.icmp_signed("<", places, zeros), zeros, places)
        found = ir.Constant(args[1].type, ir.Undefined)
        for lane in map(ir.IntType(32), range(WIDTH)):
            value = builder.load(builder.gep(first, [builder.extract_element(places, lane)]))
            found = builder.insert_element(found, value, lane)
        return found

    return lanes(table, lanes), codegen


@intrinsic
def x_log_x(typingctx: Any, one: Any, other: Any) -> Any:
    """``x log x`` of two doubles in each lane, added, to the last digit or two.

    0 also for what rounding has left of 0. Written out, since compilers make no vector instructions
    of calls of a library; of two at a time, since they can share a division.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind, words = args[0].type, ir.VectorType(ir.IntType(64), WIDTH)

        def same(value: float, kind: Any = kind) -> Any:
            return ir.Constant(kind, [value] * WIDTH)

        def series(variable: Any, coefficients: tuple[float, ...]) -> Any:
            total = same(coefficients[0])
            for coefficient in coefficients[1:]:
                total = builder.fadd(same(coefficient), builder.fmul(variable, total))
            return total

        def parts(x: Any) -> tuple[Any, Any]:
            """``x = 2 ** k (1 + f)``, with 1 + f between the roots of 1/2 and of 2."""
            bits = builder.add(builder.bitcast(x, words), same(_ONE - _ROOT, words))
            exponent = builder.or_(builder.lshr(bits, same(52, words)), same(_SHIFT, words))
            mantissa = builder.add(builder.and_(bits, same(_MANTISSA, words)), same(_ROOT, words))
            return (
                builder.fsub(builder.bitcast(exponent, kind), same(2.0**52 + 1023.0)),
                builder.fsub(builder.bitcast(mantissa, kind), same(1.0)),
            )

        def product(x: Any, k: Any, f: Any, s: Any) -> Any:
            """From ``s = f / (2 + f)`` to ``x log x``."""
            z = builder.fmul(s, s)
            w = builder.fmul(z, z)
            rest = builder.fadd(builder.fmul(w, series(w, _EVEN)), builder.fmul(z, series(w, _ODD)))
            half = builder.fmul(same(0.5), builder.fmul(f, f))
            low = builder.fadd(
                builder.fmul(s, builder.fadd(half, rest)), builder.fmul(k, same(_LN2_LOW))
            )
            high = builder.fsub(f, builder.fsub(half, low))
            log = builder.fadd(builder.fmul(k, same(_LN2_HIGH)), high)
            is_positive = builder.fcmp_ordered(">", x, same(0.0))
            return builder.select(is_positive, builder.fmul(x, log), same(0.0))

        (k, f), (j, g) = parts(args[0]), parts(args[1])
        two_f, two_g = builder.fadd(same(2.0), f), builder.fadd(same(2.0), g)
        inverse = builder.fdiv(same(1.0), builder.fmul(two_f, two_g))
        s = builder.fmul(builder.fmul(f, two_g), inverse)
        t = builder.fmul(builder.fmul(g, two_f), inverse)
        return builder.fadd(product(args[0], k, f, s), product(args[1], j, g, t))

    return one(one, other), codegen
