"""The HTTP application: each route parses its input and makes one call."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

import crbm
from crbm.web import parsing, schemas
from crbm.web.batching import OverloadedError
from crbm.web.metrics import Metrics
from crbm.web.middleware import LimitedBody, Measured
from crbm.web.models import LoadedModel
from crbm.web.worker import ModelWorker, Pools

STATIC = Path(__file__).parent / "static"
# The page loads nothing from other sites, so the browser may refuse what does.
POLICY = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"
PROBLEMS: dict[int | str, dict[str, Any]] = {
    404: {"model": schemas.Problem, "description": "Unknown model"},
    413: {"model": schemas.Problem, "description": "Request body too large"},
    422: {"model": schemas.Problem, "description": "Invalid input"},
    503: {"model": schemas.Problem, "description": "Too many waiting requests"},
}


def create_app(models: Mapping[str, LoadedModel]) -> FastAPI:
    """Make the application that serves these models and the web page.

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
            name: ModelWorker(model, pools, metrics) for name, model in models.items()
        }
        yield
        pools.close()

    app = FastAPI(
        title="crbm",
        summary="Structured output prediction with conditional RBMs.",
        version=crbm.__version__,
        lifespan=lifespan,
        docs_url=None,  # these viewers of FastAPI load scripts from other sites
        redoc_url=None,
    )
    app.state.metrics = metrics
    app.include_router(router)
    app.include_router(model_router)
    app.mount("/static", StaticFiles(directory=STATIC))
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(parsing.InputError, _invalid_input)
    app.add_exception_handler(OverloadedError, _overloaded)
    app.add_middleware(LimitedBody)
    app.add_middleware(Measured, metrics=metrics)
    return app


async def model_service(name: str, request: Request) -> ModelWorker:
    """The worker of the model that the path names."""
    workers: dict[str, ModelWorker] = request.app.state.workers
    if name not in workers:
        known = ", ".join(f"`{known}`" for known in workers)
        raise HTTPException(
            404, f"There is no model `{name[:80]}`; use one of {known}."
        )
    return workers[name]


Worker = Annotated[ModelWorker, Depends(model_service)]
router = APIRouter()
model_router = APIRouter(prefix="/api/models", tags=["models"], responses=PROBLEMS)


@router.get("/", include_in_schema=False)
async def page() -> FileResponse:
    """The web page."""
    return FileResponse(
        STATIC / "index.html", headers={"Content-Security-Policy": POLICY}
    )


@router.get("/health", tags=["server"])
async def health(request: Request) -> schemas.Health:
    """The state of the server and the names of its models."""
    names = list(request.app.state.workers)
    return schemas.Health(status="ok", version=crbm.__version__, models=names)


@router.get("/metrics", tags=["server"], response_class=Response)
async def measurements(request: Request) -> Response:
    """Request counts, times and batch sizes in the Prometheus format."""
    text = request.app.state.metrics.text()
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@model_router.get("")
async def list_models(request: Request) -> list[schemas.ModelInfo]:
    """List the models."""
    return [worker.model.info() for worker in request.app.state.workers.values()]


@model_router.get("/{name}")
async def describe_model(worker: Worker) -> schemas.ModelInfo:
    """Describe a model: its kind, inputs, labels and parameters."""
    return worker.model.info()


@model_router.get("/{name}/examples")
async def list_examples(worker: Worker) -> schemas.Examples:
    """Example inputs from the model file, or digits for models of 28 x 28 pixels."""
    inputs, source = worker.model.examples()
    return schemas.Examples(inputs=inputs.tolist(), source=source)


@model_router.post("/{name}/predict")
async def predict(worker: Worker, body: schemas.CaseRequest) -> schemas.Prediction:
    """Predict labels and probabilities of one case, given its known labels."""
    case = parsing.case(worker.classifier, body.input, body.known)
    return await worker.predict(case)


@model_router.post("/{name}/predict-batch")
async def predict_batch(
    worker: Worker, body: schemas.BatchRequest
) -> schemas.Predictions:
    """Predict labels and probabilities of several cases."""
    cases = parsing.cases(worker.classifier, body.inputs, body.known)
    return schemas.Predictions(predictions=await worker.predict_batch(cases))


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


async def _invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return _problem(422, parsing.first_problem(error.errors()))


async def _invalid_input(request: Request, error: Exception) -> JSONResponse:
    return _problem(422, str(error))


async def _overloaded(request: Request, error: Exception) -> JSONResponse:
    return _problem(503, str(error), {"Retry-After": "1"})


def _problem(
    status: int, detail: str, headers: dict[str, str] | None = None
) -> JSONResponse:
    line = " ".join(detail.split())
    return JSONResponse({"detail": line}, status_code=status, headers=headers)
