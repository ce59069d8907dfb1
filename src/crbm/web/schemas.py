"""The schemas of requests and responses, from which OpenAPI's is generated."""

from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

LARGEST_BATCH = 2048
MOST_SETS = 100
MOST_STEPS = 100
MOST_SAMPLES = 8
CELL = ["number", "string", "boolean", "null"]

Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]
Row = Annotated[list[Number | None], Field(min_length=1, title="Row")]
# `parsing` checks the values of a record, with their names in its messages.
Record = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"additionalProperties": {"type": CELL}}, title="Record"),
]
Input = Annotated[
    Annotated[Row, Tag("row")] | Annotated[Record, Tag("record")],
    Discriminator(lambda value: "record" if isinstance(value, dict) else "row"),
    Field(
        description="The inputs: an object from column names to values, or, for models "
        "of numbers, a list with one number per input; null where one is missing."
    ),
]
Known = Annotated[
    list[Literal[0, 1] | None] | dict[str, Literal[0, 1] | None] | None,
    Field(
        description="Known labels: an object from label names to 0 or 1, or a list of "
        "0, 1 or null with one entry per label."
    ),
]


class Request(BaseModel):
    """Base class of requests; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _name_unknown_field(cls, data: Any) -> Any:
        fields = cls.model_fields
        given = data if isinstance(data, dict) else {}
        unknown = next((name[:80] for name in given if name not in fields), None)
        if unknown is not None:
            near = get_close_matches(unknown, fields, n=1)
            known = ", ".join(f"`{name}`" for name in fields)
            hint = f"Did you mean `{near[0]}`?" if near else f"Use: {known}."
            raise ValueError(f"There is no field `{unknown}`. {hint}")
        return data


class CaseRequest(Request):
    """One case."""

    input: Input
    known: Known = None


class BatchRequest(Request):
    """Several cases."""

    inputs: Annotated[list[Input], Field(min_length=1, max_length=LARGEST_BATCH)]
    known: Annotated[list[Known] | None, Field(max_length=LARGEST_BATCH)] = None


class TopKRequest(CaseRequest):
    """One case and the number of label sets to return."""

    k: Annotated[int, Field(ge=1, le=MOST_SETS, strict=True)] = 5


class TrajectoryRequest(CaseRequest):
    """One case and the number of mean-field steps."""

    n_steps: Annotated[int, Field(ge=1, le=MOST_STEPS, strict=True)] = 10


class ImageRequest(Request):
    """An image to label."""

    image: Annotated[
        str,
        Field(min_length=1, description="A PNG, JPEG, WebP or BMP file in base64."),
    ]
    known: Annotated[
        str | None,
        Field(
            description="Known labels: a grey PNG file of the same size in base64; "
            "its pixels hold labels, or 255 where a label is not known."
        ),
    ] = None
    n_samples: Annotated[int, Field(ge=0, le=MOST_SAMPLES, strict=True)] = 0
    seed: Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)] = 0


class ImageLabel(BaseModel):
    """A label, the colour to show it in, and its share of the pixels."""

    name: str
    colour: str
    share: float


class ImageLabels(BaseModel):
    """The labels of the pixels of an image; images are PNG files in base64."""

    width: int
    height: int
    mask: Annotated[str, Field(description="A grey image that holds the labels.")]
    uncertainty: Annotated[
        str,
        Field(
            description="1 - p of the likeliest label: black is sure, white is as "
            "unsure as can be."
        ),
    ]
    samples: Annotated[
        list[str], Field(description="Masks drawn from p(mask | image).")
    ]
    labels: list[ImageLabel]
    mean_uncertainty: float


class ImageExamples(BaseModel):
    """Images to try a model on, as PNG files in base64."""

    images: list[str]


class Prediction(BaseModel):
    """The labels of one case, and p(label = 1) of each."""

    labels: Annotated[list[str], Field(description="Names of the labels that are 1.")]
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
    """The k most probable label sets, best first, or all if there are fewer."""

    sets: list[LabelSet]


class Trajectory(BaseModel):
    """Free energies at the start of mean field and after each step.

    `free_energy` is F at the means, averaged over the members of the model; the paper's
    search compares this. `bound` is F minus the entropy of the means, an upper bound on
    -log Z(u) that no step increases.
    """

    free_energy: list[float]
    bound: list[float]


class Column(BaseModel):
    """A column of the table that a model was trained on."""

    name: str
    kind: Literal["number", "boolean", "categorical", "text", "date"]
    levels: Annotated[
        list[str] | None, Field(description="The known levels of a category")
    ] = None


class ModelInfo(BaseModel):
    """A model's kind, inputs, labels and parameters."""

    name: str
    kind: str
    n_inputs: int
    n_labels: int
    label_names: list[str]
    input_names: list[str] | None
    columns: Annotated[
        list[Column] | None,
        Field(description="The columns of a table, or null if inputs are numbers"),
    ]
    image_shape: Annotated[
        tuple[int, int] | None,
        Field(
            description="Height and width if inputs and outputs are images, else null"
        ),
    ]
    n_examples: int
    colours: Annotated[
        list[str] | None,
        Field(description="Colours of labels of pixels, or null for other models"),
    ] = None
    parameters: dict[str, str | int | float | bool | dict[str, object] | None]


class Examples(BaseModel):
    """Example inputs of a model."""

    inputs: list[list[float | None] | dict[str, float | str | bool | None]]
    source: str


class Health(BaseModel):
    """The state of the server; all but `status` only for those who may use it."""

    status: Literal["ok"]
    version: str | None = None
    models: list[str] | None = None


class Problem(BaseModel):
    """An error message of one line."""

    detail: str
