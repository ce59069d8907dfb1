"""Build an ONNX graph from expressions that look like NumPy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

try:
    import onnx
    from onnx import helper, numpy_helper
except ImportError as error:
    raise ImportError(
        f"Exporting to ONNX needs `{error.name}`. Install it with "
        "`pip install 'crbm[onnx]'`."
    ) from error

from crbm import paths

OPSET, OPSET_ML = 18, 3
# The IR version of opset 18, which older runtimes read too.
IR_VERSION = 8
# Files of protocol buffers cannot be larger.
LARGEST_FILE = 2**31 - 2**20

Dtype = np.dtype[Any]
BOOL, INT64 = np.dtype(bool), np.dtype(np.int64)


class Graph:
    """Nodes and constants in the making.

    Examples
    --------
    >>> graph = Graph()
    >>> x = graph.input("x", np.float32, 2)
    >>> graph.model("y", 2 * x + 1, 2, about={}).graph.output[0].name
    'y'
    """

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._n_bytes = 0

    def input(self, name: str, dtype: Any, n_columns: int) -> Value:
        """A matrix with any number of rows."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        described = helper.make_tensor_value_info(name, kind, ["cases", n_columns])
        self._inputs.append(described)
        return Value(self, name, np.dtype(dtype))

    def constant(self, array: Any, dtype: Any = None) -> Value:
        """An array that is stored in the file."""
        array = np.ascontiguousarray(array, dtype=dtype)
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(array, name))
        self._n_bytes += array.nbytes
        return Value(self, name, array.dtype)

    def node(
        self,
        kind: str,
        *arguments: Any,
        dtype: Any = None,
        domain: str = "",
        **attributes: Any,
    ) -> Value:
        """A node with one result; its type is that of the first argument if not given.

        Numbers and arrays become constants of the type of the first argument.
        """
        first = next(each for each in arguments if isinstance(each, Value))
        values = [self._value(each, first.dtype) for each in arguments]
        name = f"value_{len(self._nodes)}"
        names = [value.name for value in values]
        self._nodes.append(
            helper.make_node(kind, names, [name], domain=domain, **attributes)
        )
        return Value(self, name, first.dtype if dtype is None else np.dtype(dtype))

    def _value(self, given: Any, dtype: Dtype) -> Value:
        return given if isinstance(given, Value) else self.constant(given, dtype)

    def model(
        self, name: str, output: Value, n_columns: int, about: Mapping[str, str]
    ) -> Any:
        """The finished model with one matrix as output; `about` is stored as text."""
        if self._n_bytes > LARGEST_FILE:
            raise ValueError(
                f"The ONNX model would take {self._n_bytes / 2**30:.1f} GB; the format "
                "allows 2 GB. Train with fewer label sets, `kernel_features` or "
                "`n_hidden`."
            )
        self._nodes.append(helper.make_node("Identity", [output.name], [name]))
        kind = helper.np_dtype_to_tensor_dtype(output.dtype)
        described = helper.make_tensor_value_info(name, kind, ["cases", n_columns])
        graph = helper.make_graph(
            self._nodes, "crbm", self._inputs, [described], self._constants
        )
        operators = [helper.make_opsetid("", OPSET)]
        operators.append(helper.make_opsetid("ai.onnx.ml", OPSET_ML))
        model = helper.make_model(
            graph, opset_imports=operators, ir_version=IR_VERSION, producer_name="crbm"
        )
        helper.set_model_props(model, dict(about))
        onnx.checker.check_model(model)
        return model


class Value:
    """A tensor in a graph; operators add nodes."""

    # arrays on the left leave operators to this class
    __array_ufunc__ = None

    def __init__(self, graph: Graph, name: str, dtype: Dtype) -> None:
        self.graph, self.name, self.dtype = graph, name, dtype

    def node(self, kind: str, *arguments: Any, **options: Any) -> Value:
        """A node with this value as its first argument."""
        return self.graph.node(kind, self, *arguments, **options)

    def __add__(self, other: Any) -> Value:
        return self.node("Add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Value:
        return self.node("Sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.constant(other, self.dtype) - self

    def __mul__(self, other: Any) -> Value:
        return self.node("Mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Value:
        return self.node("Div", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.constant(other, self.dtype) / self

    def __neg__(self) -> Value:
        return self.node("Neg")

    def __matmul__(self, other: Any) -> Value:
        return self.node("MatMul", other)

    def __lt__(self, other: Any) -> Value:
        return self.node("Less", other, dtype=BOOL)

    def __gt__(self, other: Any) -> Value:
        return self.node("Greater", other, dtype=BOOL)

    def __le__(self, other: Any) -> Value:
        return self.node("LessOrEqual", other, dtype=BOOL)

    def to(self, dtype: Any) -> Value:
        """The same numbers in another type."""
        if self.dtype == np.dtype(dtype):
            return self
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", dtype=dtype, to=kind)

    def exp(self) -> Value:
        """e to the power of this."""
        return self.node("Exp")

    def log(self) -> Value:
        """The natural logarithm."""
        return self.node("Log")

    def abs(self) -> Value:
        """The absolute value."""
        return self.node("Abs")

    def sqrt(self) -> Value:
        """The square root."""
        return self.node("Sqrt")

    def sigmoid(self) -> Value:
        """1 / (1 + e^-x)."""
        return self.node("Sigmoid")

    def softmax(self) -> Value:
        """Shares along the last axis, in proportion to e^x."""
        return self.node("Softmax", axis=-1)

    def softplus(self) -> Value:
        """log(1 + e^x), finite for all x."""
        return self.maximum(0) + (1 + (-self.abs()).exp()).log()

    def clip(self, low: float | int, high: float | int) -> Value:
        """This, but not below `low` or above `high`."""
        return self.maximum(low).node("Min", high)

    def maximum(self, other: Any) -> Value:
        """The larger of two numbers."""
        return self.node("Max", other)

    def sum(self, *axes: int, keep: bool = False) -> Value:
        """Sums along axes."""
        return self._reduce("ReduceSum", axes, keep=keep)

    def max(self, axis: int, *, keep: bool = False) -> Value:
        """The largest number along an axis."""
        return self._reduce("ReduceMax", (axis,), keep=keep)

    def min(self, axis: int, *, keep: bool = False) -> Value:
        """The smallest number along an axis."""
        return self._reduce("ReduceMin", (axis,), keep=keep)

    def _reduce(self, kind: str, axes: Sequence[int], *, keep: bool) -> Value:
        places = self.graph.constant(list(axes), INT64)
        return self.node(kind, places, keepdims=int(keep))

    def reshape(self, *shape: int) -> Value:
        """The same numbers in another shape; 0 keeps the size of an axis."""
        return self.node("Reshape", self.graph.constant(list(shape), INT64))

    def expand_dims(self, axis: int) -> Value:
        """A further axis of size 1."""
        return self.node("Unsqueeze", self.graph.constant([axis], INT64))

    def transpose(self, *axes: int) -> Value:
        """The axes in another order."""
        return self.node("Transpose", perm=list(axes))

    def take(self, places: Any, axis: int) -> Value:
        """The entries at fixed places along an axis."""
        return self.node("Gather", self.graph.constant(places, INT64), axis=axis)

    def columns(self, start: int, stop: int) -> Value:
        """The columns from `start` to `stop` of the last axis."""
        bounds = [self.graph.constant([each], INT64) for each in (start, stop, -1)]
        return self.node("Slice", *bounds)


def where(condition: Value, yes: Any, no: Any) -> Value:
    """`yes` where a condition holds and `no` elsewhere; one of them is a `Value`."""
    first = yes if isinstance(yes, Value) else no
    graph = first.graph
    both = [
        each if isinstance(each, Value) else graph.constant(each, first.dtype)
        for each in (yes, no)
    ]
    return condition.node("Where", *both, dtype=first.dtype)


def concatenate(parts: Sequence[Value], axis: int) -> Value:
    """Tensors one after the other along an axis."""
    return (
        parts[0] if len(parts) == 1 else parts[0].node("Concat", *parts[1:], axis=axis)
    )


def mean(parts: Sequence[Value]) -> Value:
    """The mean of several tensors."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total / len(parts) if len(parts) > 1 else total


def write(model: Any, path: Path) -> None:
    """Write a model to a file, which appears when it is complete."""
    with paths.replacing(path) as draft:
        Path(draft).write_bytes(model.SerializeToString())
