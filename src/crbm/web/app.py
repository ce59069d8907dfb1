"""The HTTP application: one function call per route."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

from crbm.web import questions, schemas
from crbm.web.batching import OverloadedError
from crbm.web.metrics import Metrics
from crbm.web.middleware import LimitedBody, Measured
from crbm.web.served import Served
from crbm.web.service import Pools, Service

STATIC = Path(__file__).parent / "static"
# The page needs nothing from elsewhere, so nothing from elsewhere may run in it.
POLICY = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"
PROBLEMS: dict[int | str, dict[str, Any]] = {
    404: {"model": schemas.Problem, "description": "There is no such model"},
    413: {"model": schemas.Problem, "description": "The body is too large"},
    422: {"model": schemas.Problem, "description": "Something is wrong with the input"},
    503: {"model": schemas.Problem, "description": "Too many requests are waiting"},
}


def create_app(models: Mapping[str, Served]) -> FastAPI:
    """The application that serves these models and the page.

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
        app.state.services = {
            name: Service(served, pools, metrics) for name, served in models.items()
        }
        yield
        pools.close()

    app = FastAPI(
        title="crbm",
        summary="Predictions of outputs that depend on each other.",
        version=version("crbm"),
        lifespan=lifespan,
        docs_url=None,  # FastAPI's viewers of the schema load scripts from elsewhere
        redoc_url=None,
    )
    app.state.metrics = metrics
    app.include_router(router)
    app.include_router(model_router)
    app.mount("/static", StaticFiles(directory=STATIC))
    app.add_exception_handler(RequestValidationError, _wrong_request)
    app.add_exception_handler(questions.InputError, _wrong_input)
    app.add_exception_handler(OverloadedError, _overloaded)
    app.add_middleware(LimitedBody)
    app.add_middleware(Measured, metrics=metrics)
    return app


async def chosen(name: str, request: Request) -> Service:
    """The service of the model that the path names."""
    services: dict[str, Service] = request.app.state.services
    if name not in services:
        there = ", ".join(f"`{known}`" for known in services)
        raise HTTPException(404, f"There is no model `{name[:80]}`; there are {there}.")
    return services[name]


Chosen = Annotated[Service, Depends(chosen)]
router = APIRouter()
model_router = APIRouter(prefix="/api/models", tags=["models"], responses=PROBLEMS)


@router.get("/", include_in_schema=False)
async def page() -> FileResponse:
    """The page."""
    return FileResponse(
        STATIC / "index.html", headers={"Content-Security-Policy": POLICY}
    )


@router.get("/health", tags=["server"])
async def health(request: Request) -> schemas.Health:
    """Whether the server can answer, and about which models."""
    names = list(request.app.state.services)
    return schemas.Health(status="ok", version=version("crbm"), models=names)


@router.get("/metrics", tags=["server"], response_class=Response)
async def measurements(request: Request) -> Response:
    """Requests, times and batch sizes in Prometheus' format."""
    text = request.app.state.metrics.text()
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@model_router.get("")
async def list_models(request: Request) -> list[schemas.ModelInfo]:
    """All models of this server."""
    return [service.served.info() for service in request.app.state.services.values()]


@model_router.get("/{name}")
async def describe_model(service: Chosen) -> schemas.ModelInfo:
    """What a model is and what it takes."""
    return service.served.info()


@model_router.get("/{name}/examples")
async def list_examples(service: Chosen) -> schemas.Examples:
    """Inputs to try a model on: its own, or digits for models of 28 x 28 pixels."""
    inputs, source = service.served.examples()
    return schemas.Examples(inputs=inputs.tolist(), source=source)


@model_router.post("/{name}/predict")
async def predict(service: Chosen, asked: schemas.CaseRequest) -> schemas.Prediction:
    """The labels of one case and their probabilities, given those already known."""
    case = questions.case(service.classifier, asked.input, asked.known)
    return await service.predict(case)


@model_router.post("/{name}/predict-batch")
async def predict_batch(
    service: Chosen, asked: schemas.BatchRequest
) -> schemas.Predictions:
    """The same for many cases at once."""
    cases = questions.cases(service.classifier, asked.inputs, asked.known)
    return schemas.Predictions(predictions=await service.predict_batch(cases))


@model_router.post("/{name}/top-k")
async def top_k(service: Chosen, asked: schemas.TopKRequest) -> schemas.LabelSets:
    """The likeliest label sets of one case with their joint probabilities."""
    case = questions.case(service.classifier, asked.input, asked.known)
    return await service.top_sets(case, asked.k)


@model_router.post("/{name}/trajectory")
async def trajectory(
    service: Chosen, asked: schemas.TrajectoryRequest
) -> schemas.Trajectory:
    """The free energy along the steps of mean field."""
    case = questions.case(service.classifier, asked.input, asked.known)
    return await service.trajectory(case, asked.n_steps)


async def _wrong_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return _problem(422, questions.first_problem(error.errors()))


async def _wrong_input(request: Request, error: Exception) -> JSONResponse:
    return _problem(422, str(error))


async def _overloaded(request: Request, error: Exception) -> JSONResponse:
    return _problem(503, str(error), {"Retry-After": "1"})


def _problem(
    status: int, detail: str, headers: dict[str, str] | None = None
) -> JSONResponse:
    line = " ".join(detail.split())
    return JSONResponse({"detail": line}, status_code=status, headers=headers)
