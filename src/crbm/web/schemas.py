"""What requests and answers look like; the OpenAPI schema is made from these."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

LARGEST_BATCH = 2048
MOST_SETS = 100
MOST_STEPS = 100

Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]
Row = Annotated[
    list[Number], Field(min_length=1, description="One number per input of the model.")
]
Known = Annotated[
    list[Literal[0, 1] | None] | dict[str, Literal[0, 1] | None] | None,
    Field(
        description="Labels known already: 0 or 1 by name, or a list of 0, 1 and null "
        "with one entry per label."
    ),
]


class Request(BaseModel):
    """A request; names that do not exist are refused rather than ignored."""

    model_config = ConfigDict(extra="forbid")


class CaseRequest(Request):
    """One case."""

    input: Row
    known: Known = None


class BatchRequest(Request):
    """Several cases."""

    inputs: Annotated[list[Row], Field(min_length=1, max_length=LARGEST_BATCH)]
    known: Annotated[list[Known] | None, Field(max_length=LARGEST_BATCH)] = None


class TopKRequest(CaseRequest):
    """One case and how many label sets of it to tell."""

    k: Annotated[int, Field(ge=1, le=MOST_SETS, strict=True)] = 5


class TrajectoryRequest(CaseRequest):
    """One case and how many mean-field steps to follow."""

    n_steps: Annotated[int, Field(ge=1, le=MOST_STEPS, strict=True)] = 10


class Prediction(BaseModel):
    """The labels of one case, and p(label = 1) of each."""

    labels: Annotated[
        list[str], Field(description="The names of the labels that are 1")
    ]
    prediction: list[int]
    probabilities: list[float]


class Predictions(BaseModel):
    """Predictions in the order of the inputs."""

    predictions: list[Prediction]


class LabelSet(BaseModel):
    """A set of labels and its joint probability."""

    labels: list[str]
    probability: float


class LabelSets(BaseModel):
    """The likeliest label sets, best first; fewer than k where there are fewer."""

    sets: list[LabelSet]


class Trajectory(BaseModel):
    """The way of mean field to a prediction, from its start on.

    `free_energy` is F at the means, the mean over the model's members: what the search
    of the paper compares. `bound` is F less the entropy of the means, an upper bound on
    -log Z(u), which no step can raise.
    """

    free_energy: list[float]
    bound: list[float]


class ModelInfo(BaseModel):
    """What a model is and what it takes."""

    name: str
    kind: str
    n_inputs: int
    n_labels: int
    label_names: list[str]
    input_names: list[str] | None
    image_shape: Annotated[
        tuple[int, int] | None,
        Field(description="Height and width, where inputs and outputs are images"),
    ]
    n_examples: int
    parameters: dict[str, str | int | float | bool | dict[str, object] | None]


class Examples(BaseModel):
    """Inputs to try a model on."""

    inputs: list[list[float]]
    source: str


class Health(BaseModel):
    """Whether the server can answer."""

    status: Literal["ok"]
    version: str
    models: list[str]


class Problem(BaseModel):
    """What was wrong with a request, in one line."""

    detail: str
