//! Tasks of the active definitions.

use axum::Json;
use axum::extract::State;
use forebay_store::record::Scope;

use super::api::Api;
use super::dto::{Task, TaskList};
use super::params::{NoParams, PathId};
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get};

/// The routes of tasks.
pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/v1/tasks", list).needs(
            Scope::Read,
            Doc::of("tasks", "What jobs can be submitted for").gives::<TaskList>(200, "The tasks, by name"),
        ),
        get("/v1/tasks/{task}", one).needs(
            Scope::Read,
            Doc::of("tasks", "A task: what it takes, what it gives, its limits")
                .path("task", "The name of a task")
                .gives::<Task>(200, "The task")
                .refuses(&[Code::NotFound]),
        ),
    ]
}

/// `GET /v1/tasks`
async fn list(State(api): State<Api>, _: NoParams) -> Json<TaskList> {
    let revision = api.app.revisions.active();
    let tasks = revision.definitions.tasks.values();
    Json(TaskList { data: tasks.map(|task| Task::new(task, revision.number)).collect() })
}

/// `GET /v1/tasks/{task}`
async fn one(
    State(api): State<Api>,
    PathId(name): PathId<String>,
    _: NoParams,
) -> Result<Json<Task>, Problem> {
    let revision = api.app.revisions.active();
    let task = revision.task(&name).ok_or_else(Problem::not_found)?;
    Ok(Json(Task::new(task, revision.number)))
}
