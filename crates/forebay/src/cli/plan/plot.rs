//! The backlog over time as an SVG file: alone, and while jobs arrive.

use std::fmt::Write as _;

use forebay_core::capacity::course::{Course, Outlook};
use forebay_core::capacity::planner::Plan;

use super::report::number;

const WIDTH: f64 = 700.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 45.0;
/// Points of a line that is not straight.
const POINTS: u32 = 240;
/// What is drawn of a backlog that only grows from nothing.
const HOUR: f64 = 3_600.0;

/// The scale of the drawing: seconds to the right, jobs upwards.
struct Scale {
    seconds: f64,
    jobs: f64,
}

impl Scale {
    fn x(&self, seconds: f64) -> f64 {
        LEFT + seconds / self.seconds * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, jobs: f64) -> f64 {
        HEIGHT - BOTTOM - jobs / self.jobs * (HEIGHT - TOP - BOTTOM)
    }
}

/// The drawing; `None` where there is no limit, or nothing to do.
pub(super) fn drawn(plan: &Plan) -> Option<String> {
    let (alone, arriving) = (plan.alone()?, plan.with_arrivals()?);
    let both = [(plan.course.without_arrivals(), alone), (plan.course, arriving)];
    let ends = both.map(|(_, outlook)| match outlook {
        Outlook::Drains { seconds } => seconds,
        Outlook::Grows { .. } => 0.0,
    });
    let grows = both.iter().any(|(_, outlook)| matches!(outlook, Outlook::Grows { .. }));
    let longest = ends[0].max(ends[1]);
    let seconds = match (grows, longest > 0.0) {
        (true, true) => longest * 2.0,
        (true, false) => HOUR,
        (false, true) => longest,
        (false, false) => return None,
    };
    let lines = both.map(|(course, _)| points(&course, seconds));
    let jobs = lines.iter().flatten().map(|(_, jobs)| *jobs).fold(1.0, f64::max);
    let scale = Scale { seconds, jobs };
    let mut svg = frame(&scale);
    let [alone, arriving] = lines;
    if plan.course.backlog > 0 {
        line(&mut svg, &scale, &alone, "#2a7fb8", ("nothing arrives", 0.0));
    }
    if !plan.course.arrivals.is_zero() {
        let label = format!("{} jobs/s arrive", number(plan.course.arrivals.to_f64()));
        line(&mut svg, &scale, &arriving, "#d1603d", (&label, 150.0));
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

/// Where the line bends: its ends where it is straight.
fn points(course: &Course, seconds: f64) -> Vec<(f64, f64)> {
    let end = match course.outlook() {
        Some(Outlook::Drains { seconds: end }) => end.min(seconds),
        _ => seconds,
    };
    let steps = if course.is_held_by_day() { POINTS } else { 1 };
    let mut points: Vec<_> = (0..=steps).map(|step| end * f64::from(step) / f64::from(steps)).collect();
    if end < seconds {
        points.push(seconds);
    }
    points.into_iter().map(|at| (at, course.backlog_at(at))).collect()
}

fn frame(scale: &Scale) -> String {
    let (unit, length) = match scale.seconds {
        seconds if seconds < 600.0 => ("s", 1.0),
        seconds if seconds < 36_000.0 => ("min", 60.0),
        seconds if seconds < 864_000.0 => ("h", 3_600.0),
        _ => ("d", 86_400.0),
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    for at in ticks(scale.jobs) {
        let (y, end) = (scale.y(at), WIDTH - RIGHT);
        let _ = writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{end}\" stroke=\"#ddd\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + 4.0,
            number(at)
        );
    }
    for at in ticks(scale.seconds / length) {
        let (x, y) = (scale.x(at * length), HEIGHT - BOTTOM + 16.0);
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", number(at));
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{unit}</text>",
        WIDTH / 2.0,
        HEIGHT - 8.0
    );
    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">jobs waiting</text>");
    svg
}

/// About five round numbers from 0 to the largest.
fn ticks(most: f64) -> Vec<f64> {
    let rough = most / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(most);
    (0..=5).map(|nth| f64::from(nth) * step).take_while(|at| *at <= most * 1.000_001).collect()
}

fn line(svg: &mut String, scale: &Scale, points: &[(f64, f64)], color: &str, (label, at): (&str, f64)) {
    let path: Vec<_> = points.iter().map(|(x, y)| format!("{:.1},{:.1}", scale.x(*x), scale.y(*y))).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
        path.join(" ")
    );
    let x = LEFT + 130.0 + at;
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"20\" fill=\"{color}\">{label}</text>");
}
