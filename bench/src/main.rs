//! Measures Lath against its peers. Start it with `bench/run`; see docs/benchmarks.md.

mod data;
mod files;
mod find;
mod kernels;

use std::path::Path;
use std::process::ExitCode;

use lath_bench_record::{machine, record};

use data::Codec;
use files::race::Options;
use files::readers::Reader;
use files::writers::{Writer, encode};
use record::Record;

const USAGE: &str =
    "usage: lath-bench [all|data|kernels|columns|lineitem|memory|write|find] [--quick] [--peers-only] [--lath-only]
                  [--only=TEXT] [--threads=N]    TEXT is part of a column's name, of `a none`, `b snappy`, …,
                                                   or of what is found: `warm, hit`, `pushdown`, `row groups`, …
       lath-bench decode READER FILE THREADS REPETITIONS
       lath-bench encode WRITER CODEC SOURCE OUT THREADS REPETITIONS
       lath-bench find needles FOLDER THREADS [without-computed]
       lath-bench find shipmodes FILE THREADS REPETITIONS
       lath-bench verify FILE
       lath-bench peak PROGRAM ARGUMENTS
       lath-bench kernel-times lath|peers MILLISECONDS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
    let options = Options::parse(&arguments);
    let quick = options.quick;
    match words[..] {
        ["decode", reader, path, threads, repetitions] => {
            let (Some(reader), Ok(threads), Ok(repetitions)) =
                (Reader::parse(reader), threads.parse(), repetitions.parse())
            else {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            };
            files::decode(reader, Path::new(path), threads, repetitions);
        }
        ["encode", writer, codec, source, out, threads, repetitions] => {
            let (Some(writer), Some(codec), Ok(threads), Ok(repetitions)) =
                (Writer::parse(writer), Codec::parse(codec), threads.parse(), repetitions.parse())
            else {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            };
            encode(writer, codec, Path::new(source), Path::new(out), threads, repetitions);
        }
        ["find", "needles", folder, threads] | ["find", "needles", folder, threads, "without-computed"] => {
            let Ok(threads) = threads.parse() else {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            };
            find::answer_needles(Path::new(folder), threads, words.len() == 4);
        }
        ["find", "shipmodes", file, threads, repetitions] => {
            let (Ok(threads), Ok(repetitions)) = (threads.parse(), repetitions.parse()) else {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            };
            find::answer_shipmodes(Path::new(file), threads, repetitions);
        }
        ["peak", program, ref arguments @ ..] => files::memory::peak(program, arguments),
        ["verify", path] => match files::verify(Path::new(path)) {
            Ok(_) => println!("{path}: equal"),
            Err(difference) => {
                println!("{difference}");
                return ExitCode::FAILURE;
            }
        },
        ["kernel-times", side @ ("lath" | "peers"), milliseconds] => {
            kernels::measure(side, milliseconds.parse().unwrap_or(100), &options);
        }
        ["data"] => {
            data::lineitem::make();
            data::columns::make();
            data::lineitem::make_large();
            data::needles::make();
            data::selective::make();
            data::row_groups::make();
        }
        [] | ["all"] => {
            let mut record = Record::start("all", quick);
            kernels::run(&mut record, &options);
            files::columns::run(&mut record, &options);
            files::memory::run(&mut record, &options);
            files::lineitem::run(&mut record, &options);
            files::write::run(&mut record, &options);
            find::run(&mut record, &options);
            eprintln!("record: {}", record.path().display());
        }
        [part @ ("kernels" | "columns" | "lineitem" | "memory" | "write" | "find")] => {
            let mut record = Record::start(part, quick);
            match part {
                "kernels" => kernels::run(&mut record, &options),
                "columns" => files::columns::run(&mut record, &options),
                "lineitem" => files::lineitem::run(&mut record, &options),
                "write" => files::write::run(&mut record, &options),
                "find" => find::run(&mut record, &options),
                _ => files::memory::run(&mut record, &options),
            }
            eprintln!("record: {}", record.path().display());
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
