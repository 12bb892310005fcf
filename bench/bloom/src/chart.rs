//! Bar charts as SVG: panels side by side, each with its own axis. A panel has groups, and a group has a bar for each
//! series.

use std::fmt::Write;

/// A chart.
#[derive(Debug)]
pub struct Chart {
    pub title: String,
    pub subtitle: String,
    pub unit: String,
    pub series: Vec<String>,
    pub panels: Vec<Panel>,
}

/// One set of axes.
#[derive(Debug)]
pub struct Panel {
    pub title: String,
    pub note: String,
    pub groups: Vec<Group>,
    /// A horizontal line, with its label.
    pub reference: (String, f64),
}

/// Bars that stand together, one for each series.
#[derive(Debug)]
pub struct Group {
    pub name: String,
    pub values: Vec<f64>,
}

const COLOURS: [&str; 5] = ["#9aa0a6", "#e8a33d", "#3b7dd8", "#2a9d6f", "#b0529c"];
const PANEL_WIDTH: f64 = 540.0;
const PLOT_LEFT: f64 = 56.0;
const PLOT_TOP: f64 = 118.0;
const PLOT_HEIGHT: f64 = 270.0;
const HEIGHT: f64 = 460.0;
const MARGIN: f64 = 16.0;

impl Chart {
    pub fn to_svg(&self) -> String {
        let width = 2.0 * MARGIN + PANEL_WIDTH * self.panels.len().max(2) as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{HEIGHT}\" viewBox=\"0 0 {width} {HEIGHT}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#202124\">\n\
             <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
            title = escaped(&self.title),
        );
        text(&mut svg, MARGIN, 28.0, "font-size=\"18\" font-weight=\"600\"", &self.title);
        text(&mut svg, MARGIN, 47.0, "fill=\"#5f6368\"", &self.subtitle);
        let mut x = MARGIN;
        for (name, colour) in self.series.iter().zip(COLOURS) {
            rectangle(&mut svg, [x, 60.0, 12.0, 12.0], colour, name);
            text(&mut svg, x + 17.0, 70.0, "", name);
            x += 36.0 + 7.5 * name.chars().count() as f64;
        }
        for (index, panel) in self.panels.iter().enumerate() {
            panel.draw(&mut svg, MARGIN + PANEL_WIDTH * index as f64, &self.unit, &self.series);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

impl Panel {
    fn draw(&self, svg: &mut String, left: f64, unit: &str, series: &[String]) {
        let (plot_left, plot_right) = (left + PLOT_LEFT, left + PANEL_WIDTH - 12.0);
        let bottom = PLOT_TOP + PLOT_HEIGHT;
        let values = self.groups.iter().flat_map(|group| &group.values);
        let (step, top) = axis(values.copied().fold(self.reference.1, f64::max));
        let y = |value: f64| bottom - PLOT_HEIGHT * value / top;

        text(svg, plot_left, PLOT_TOP - 16.0, "font-size=\"14\" font-weight=\"600\"", &self.title);
        for tick in 0..=(top / step).round() as u32 {
            let value = f64::from(tick) * step;
            let height = y(value);
            line(svg, [plot_left, height, plot_right, height], "stroke=\"#e3e5e8\"");
            text(svg, plot_left - 6.0, height + 4.0, "text-anchor=\"end\" fill=\"#5f6368\"", &number(value, step));
        }
        let middle = PLOT_TOP + PLOT_HEIGHT / 2.0;
        let turned =
            format!("text-anchor=\"middle\" fill=\"#5f6368\" transform=\"rotate(-90 {} {middle})\"", left + 14.0);
        text(svg, left + 14.0, middle, &turned, unit);

        let room = (plot_right - plot_left) / self.groups.len().max(1) as f64;
        let bar = room * 0.84 / series.len().max(1) as f64;
        for (index, group) in self.groups.iter().enumerate() {
            let start = plot_left + room * (index as f64 + 0.08);
            for (at, ((value, name), colour)) in group.values.iter().zip(series).zip(COLOURS).enumerate() {
                let x = start + bar * at as f64;
                let height = y(*value);
                let tip = format!("{name}, {}: {value:.2} {unit}", group.name);
                rectangle(svg, [x, height, bar * 0.92, bottom - height], colour, &tip);
                let label = number(*value, if *value < 9.95 { 0.01 } else { 0.1 });
                let place = "text-anchor=\"middle\" font-size=\"9.5\"";
                text(svg, x + bar * 0.46, height - 3.0, place, &label);
            }
            text(svg, start + room * 0.42, bottom + 17.0, "text-anchor=\"middle\"", &group.name);
        }
        line(svg, [plot_left, bottom, plot_right, bottom], "stroke=\"#5f6368\"");
        let (name, value) = &self.reference;
        let height = y(*value);
        line(svg, [plot_left, height, plot_right, height], "stroke=\"#c5221f\" stroke-dasharray=\"5 4\"");
        // Beside the title, because bars are everywhere else.
        let label = format!("- - {name} {}", number(*value, 0.01));
        text(svg, plot_right, PLOT_TOP - 16.0, "text-anchor=\"end\" fill=\"#c5221f\"", &label);
        text(svg, plot_left, bottom + 42.0, "fill=\"#5f6368\"", &self.note);
    }
}

/// The distance of ticks, and the end of an axis that goes from 0 to a tick beyond `maximum`: four to eight ticks.
fn axis(maximum: f64) -> (f64, f64) {
    let maximum = if maximum.is_finite() && maximum > 0.0 { maximum } else { 1.0 };
    let power = 10f64.powf((maximum / 4.0).log10().floor());
    let step =
        [1.0, 2.0, 5.0].map(|digit| digit * power).into_iter().rfind(|step| maximum / step >= 4.0).unwrap_or(power);
    (step, step * (maximum * 1.04 / step).ceil())
}

/// Formats a number with as many decimals as `step` needs.
fn number(value: f64, step: f64) -> String {
    let decimals = (-step.log10()).ceil().clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

fn text(svg: &mut String, x: f64, y: f64, attributes: &str, text: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{}</text>", escaped(text));
}

fn line(svg: &mut String, [x1, y1, x2, y2]: [f64; 4], attributes: &str) {
    let _ = writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {attributes}/>");
}

fn rectangle(svg: &mut String, [x, y, width, height]: [f64; 4], colour: &str, tip: &str) {
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"><title>{}</title></rect>",
        escaped(tip)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
