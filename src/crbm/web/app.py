"""The HTTP application: each route parses its input and makes one call."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

import crbm
from crbm.web import arrays, guards, parsing, problems, schemas
from crbm.web.headers import SecureHeaders
from crbm.web.json_body import JsonRoute, json_response
from crbm.web.metrics import Metrics
from crbm.web.middleware import LimitedBody, Measured
from crbm.web.models import LoadedModel
from crbm.web.pixels import PixelModel, PixelWorker
from crbm.web.prediction import InputError
from crbm.web.worker import ModelWorker, Pools

STATIC = Path(__file__).parent / "static"


def create_app(
    models: Mapping[str, LoadedModel | PixelModel],
    *,
    token: str | None = None,
    allowed_hosts: Iterable[str] = ("*",),
) -> FastAPI:
    """Make the application that serves these models and the web page.

    Parameters
    ----------
    models
        The models by name.
    token
        What clients have to send as `Authorization: Bearer TOKEN`; None for no check.
    allowed_hosts
        Names that a request's `Host` may have, e.g. `localhost` or `*.example.org`;
        addresses are always allowed.

    Examples
    --------
    >>> app = create_app({})
    >>> "/api/models/{name}/predict" in app.openapi()["paths"]
    True
    """
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        pools = Pools()
        app.state.workers = {
            name: PixelWorker(model, pools.large)
            if isinstance(model, PixelModel)
            else ModelWorker(model, pools, metrics)
            for name, model in models.items()
        }
        yield
        pools.close()

    app = FastAPI(
        title="crbm",
        summary="Structured output prediction with conditional RBMs.",
        version=crbm.__version__,
        lifespan=lifespan,
        docs_url=None,  # FastAPI's viewers load scripts from other sites; see /docs
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.metrics, app.state.token = metrics, token
    # `include_router` would match and handle each request twice.
    app.router.routes.extend([*model_router.routes, *router.routes])
    app.mount("/static", StaticFiles(directory=STATIC))
    problems.add_handlers(app)
    checks = [guards.host_check(tuple(allowed_hosts)), guards.type_check]
    if token is not None:
        checks.insert(1, guards.token_check(token))
        _describe_token(app)
    app.add_middleware(LimitedBody)
    app.add_middleware(guards.Guarded, checks=checks)
    app.add_middleware(Measured, metrics=metrics)
    app.add_middleware(SecureHeaders)
    return app


def _describe_token(app: FastAPI) -> None:
    """Say in the schema that requests need the token."""
    schema = app.openapi()
    schemes = {"token": {"type": "http", "scheme": "bearer"}}
    schema["components"]["securitySchemes"] = schemes
    schema["security"] = [{"token": []}]


async def any_service(name: str, request: Request) -> ModelWorker | PixelWorker:
    """The worker of the model that the path names."""
    workers: dict[str, ModelWorker | PixelWorker] = request.app.state.workers
    if name not in workers:
        known = ", ".join(f"`{known}`" for known in workers)
        raise HTTPException(
            404, f"There is no model `{name[:80]}`; use one of {known}."
        )
    return workers[name]


AnyWorker = Annotated[ModelWorker | PixelWorker, Depends(any_service)]


# Calls `any_service` itself: each dependency costs a request some 20 us.
async def model_service(name: str, request: Request) -> ModelWorker:
    """The worker of a model of rows."""
    worker = await any_service(name, request)
    if isinstance(worker, PixelWorker):
        raise InputError(
            f"`{worker.model.name}` labels images: send one to its route `label-image`."
        )
    return worker


async def pixel_service(worker: AnyWorker) -> PixelWorker:
    """The worker of a model of images."""
    if isinstance(worker, ModelWorker):
        raise InputError(
            f"`{worker.model.name}` is not a model of images; use its route `predict`."
        )
    return worker


Worker = Annotated[ModelWorker, Depends(model_service)]
ImageWorker = Annotated[PixelWorker, Depends(pixel_service)]
router = APIRouter(tags=["server"], responses=problems.responses(problems.ALWAYS))
model_router = APIRouter(
    prefix="/api/models",
    route_class=JsonRoute,
    tags=["models"],
    responses=problems.responses(problems.FOR_MODELS),
)


# Routes are tried in order: those of single predictions come first.
@model_router.post("/{name}/predict", response_model=schemas.Prediction)
async def predict(worker: Worker, body: schemas.CaseRequest) -> Response:
    """Predict labels and probabilities of one case, given its known labels."""
    case = parsing.case(worker.classifier, body.input, body.known)
    answer = await worker.predict(case)
    return json_response(answer.named(worker.classifier.label_names_))


@model_router.post("/{name}/predict-batch", response_model=schemas.Predictions)
async def predict_batch(worker: Worker, body: schemas.BatchRequest) -> Response:
    """Predict labels and probabilities of several cases."""
    cases = parsing.cases(worker.classifier, body.inputs, body.known)
    names = worker.classifier.label_names_
    predictions = [a.named(names) for a in await worker.predict_batch(cases)]
    return json_response(schemas.Predictions.model_construct(predictions=predictions))


@model_router.post(
    "/{name}" + guards.ARRAY_ROUTE,
    response_class=Response,
    responses={200: arrays.ANSWER},
    openapi_extra={"requestBody": arrays.REQUEST_BODY},
)
async def predict_array(worker: Worker, request: Request) -> Response:
    """Predict probabilities of one case or several from an array in binary form."""
    cases, shape = arrays.read_cases(worker.classifier, await request.body())
    if len(cases) == 1:
        answers = [await worker.predict(cases[0])]
    else:
        answers = await worker.predict_batch(cases)
    return arrays.array_response([a.probabilities for a in answers], shape)


@router.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
async def page() -> FileResponse:
    """The web page."""
    return FileResponse(STATIC / "index.html")


@router.api_route("/docs", methods=["GET", "HEAD"], include_in_schema=False)
async def api_page() -> FileResponse:
    """The page that describes the API and sends requests."""
    return FileResponse(STATIC / "docs.html")


@router.head("/health", response_model=None)
@router.get("/health", response_model_exclude_none=True)
async def health(request: Request) -> schemas.Health:
    """The state of the server and, with the token, the names of its models."""
    state = request.app.state
    if state.token is not None and not guards.has_token(request.scope, state.token):
        return schemas.Health(status="ok")
    names = list(state.workers)
    return schemas.Health(status="ok", version=crbm.__version__, models=names)


@router.get("/metrics", response_class=Response)
async def measurements(request: Request) -> Response:
    """Request counts, times and batch sizes in the Prometheus format."""
    text = request.app.state.metrics.text()
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@model_router.get("")
async def list_models(request: Request) -> list[schemas.ModelInfo]:
    """List the models."""
    return [worker.model.info() for worker in request.app.state.workers.values()]


@model_router.get("/{name}")
async def describe_model(worker: AnyWorker) -> schemas.ModelInfo:
    """Describe a model: its kind, inputs, labels and parameters."""
    return worker.model.info()


@model_router.get("/{name}/examples")
async def list_examples(worker: Worker) -> schemas.Examples:
    """Example inputs from the model file, or digits for models of 28 x 28 pixels."""
    inputs, source = worker.model.examples()
    return schemas.Examples(inputs=inputs, source=source)


@model_router.get("/{name}/example-images")
async def list_example_images(worker: ImageWorker) -> schemas.ImageExamples:
    """Images from the model file to try a model of images on."""
    return worker.model.examples()


@model_router.post("/{name}/label-image")
async def label_image(
    worker: ImageWorker, body: schemas.ImageRequest
) -> schemas.ImageLabels:
    """Label the pixels of an image, given those that are known."""
    return await worker.label(body.image, body.known, body.n_samples, body.seed)


@model_router.post("/{name}/top-k")
async def top_k(worker: Worker, body: schemas.TopKRequest) -> schemas.LabelSets:
    """The most probable label sets of one case and their joint probabilities."""
    case = parsing.case(worker.classifier, body.input, body.known)
    return await worker.top_sets(case, body.k)


@model_router.post("/{name}/trajectory")
async def trajectory(
    worker: Worker, body: schemas.TrajectoryRequest
) -> schemas.Trajectory:
    """The free energy after each mean-field step."""
    case = parsing.case(worker.classifier, body.input, body.known)
    return await worker.trajectory(case, body.n_steps)
