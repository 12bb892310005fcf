//! The options of the command line.

use crate::data::Layout;

pub struct Options {
    pub is_quick: bool,
    pub scale: u32,
    pub threads: Vec<usize>,
    /// The numbers of the questions of a suite; all if there are none.
    queries: Vec<usize>,
    pub layouts: Vec<Layout>,
    only: Option<String>,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options {
            is_quick: false,
            scale: 1,
            threads: vec![1, 2],
            queries: Vec::new(),
            layouts: Layout::ALL.to_vec(),
            only: None,
        };
        for argument in arguments {
            let number = |text: &str| text.parse::<usize>().map_err(|_| format!("{argument}: not a number"));
            match argument.split_once('=') {
                None if argument == "--quick" => options.is_quick = true,
                Some(("--scale", scale)) => options.scale = number(scale)? as u32,
                Some(("--threads", threads)) => options.threads = vec![number(threads)?],
                Some(("--query", list)) => options.queries = list.split(',').map(number).collect::<Result<_, _>>()?,
                Some(("--files", name)) => {
                    let layout = Layout::ALL.into_iter().find(|layout| layout.name() == name);
                    options.layouts = vec![layout.ok_or_else(|| format!("{argument}: default or delta"))?];
                }
                Some(("--only", part)) => options.only = Some(part.to_owned()),
                _ => return Err(format!("{argument}: not an option")),
            }
        }
        Ok(options)
    }

    pub fn wants(&self, part: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == part)
    }

    /// Whether the question with this number, from 1, is asked.
    pub fn asks(&self, number: usize) -> bool {
        self.queries.is_empty() || self.queries.contains(&number)
    }

    pub fn rounds(&self) -> usize {
        if self.is_quick { 2 } else { 5 }
    }
}
