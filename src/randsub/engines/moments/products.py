"""Sums of products of two lines, always in the same order.

Statistics must have the same bits whichever masks are in the call, and a compiler that may reorder
additions does so differently from place to place. So the order is spelled out here, down to the
lanes of a vector.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# Lines that are multiplied with each other are padded with zeros to a multiple of this.
LANES = 8
# Products of one line with so many others in one pass over the rows.
TILE = 4


@intrinsic
def four_products(
    typingctx: Any, lines: Any, row: Any, row0: Any, row1: Any, row2: Any, row3: Any
) -> Any:
    """Sums of products of one line with four others.

    Eight partial sums a pair, one in each lane of a vector, added up in halves at the end: plain
    additions and multiplications, which the compiler may neither fuse nor reorder.
    """
    signature = types.UniTuple(types.float64, TILE)(lines, *[types.int64] * (1 + TILE))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        length = cgutils.unpack_tuple(builder, array.shape)[1]
        starts = [builder.gep(array.data, [builder.mul(row, length)]) for row in args[1:]]
        vector = ir.VectorType(ir.DoubleType(), LANES)
        zeros = ir.Constant(vector, [0.0] * LANES)
        sums = [cgutils.alloca_once_value(builder, zeros) for _ in range(TILE)]
        steps = (length.type(0), length, length.type(LANES))
        with cgutils.for_range_slice(builder, *steps) as (place, _):
            first, *others = [
                builder.load(
                    builder.bitcast(builder.gep(start, [place]), vector.as_pointer()), align=8
                )
                for start in starts
            ]
            for partial, other in zip(sums, others, strict=True):
                added = builder.fadd(builder.load(partial), builder.fmul(first, other))
                builder.store(added, partial)
        totals = [_sum_of_lanes(builder, builder.load(partial)) for partial in sums]
        return context.make_tuple(builder, signature.return_type, totals)

    return signature, codegen


def _sum_of_lanes(builder: Any, vector: Any) -> Any:
    width = LANES
    while width > 1:
        width //= 2
        kind = ir.VectorType(ir.IntType(32), width)
        low, high = (
            builder.shuffle_vector(vector, vector, ir.Constant(kind, [*range(at, at + width)]))
            for at in (0, width)
        )
        vector = builder.fadd(low, high)
    return builder.extract_element(vector, ir.IntType(32)(0))
