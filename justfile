# The usual work, by name. `just` alone lists it.

# List the recipes
default:
    @just --list

# Compile everything, tests too
build:
    cargo build --workspace --all-targets

# A release in dist/ below the target folder: `just release --target aarch64-unknown-linux-gnu command`
release *ARGS:
    scripts/release.sh {{ARGS}}

# The tests at the best tier that the processor has
test *ARGS:
    cargo test --workspace {{ARGS}}

# Whole suites once per tier below the best; `just test` has a sweep over all tiers
suites:
    .ci/run suites

# The kernels' tests on NEON (emulated unless this is AArch64)
neon *FILTER:
    scripts/neon.sh {{FILTER}}

# The kernels' tests on AVX-512, emulated
avx512 *FILTER:
    scripts/avx512-emulated.sh {{FILTER}}

# Every Bloom function at every tier against the specification: 167 million pairs of a key and a filter
bloom-pairs:
    cargo test --release -p lath-kernels --lib bloom::tests::many_millions -- --ignored --nocapture

# The store's table of readers and its writer lock in every order of steps; more of them with `LOOM_MAX_PREEMPTIONS=4 just loom`
loom:
    cargo test --release -p lath-store --features loom --lib -- readers::model writer_lock_model

# Fuzz targets for a number of seconds each: `just fuzz 60 TARGET`
fuzz *ARGS:
    scripts/fuzz.sh {{ARGS}}

# Have other people's readers read what Lath writes: `just interop 20` for a few tables
interop *CASES:
    LATH_NEW_SEEDS=1 interop/run {{CASES}}

# Three hundred random histories of tables of Delta Lake and of Iceberg, and twenty of each by Spark
lakes CASES="300":
    cargo build --bin lath
    interop/lakes {{CASES}}

# Five hundred random histories of a table, in Lath and in SQLite
histories CASES="500":
    cargo build --bin lath
    python3 -c 'import pyarrow' && python3 interop/python/histories.py target/debug/lath {{CASES}}

# Ten thousand random questions in SQL, to Lath and to DuckDB or SQLite: `just questions 1000 joins windows` for some kinds
questions COUNT="10000" *AREAS:
    cargo build --bin lath
    LATH_NEW_SEEDS=1 "$(interop/build)/bin/python" interop/python/questions target/debug/lath {{COUNT}} {{AREAS}}

# A thousand random questions in SQL on 1, 2, 3 and 5 workers, and to one process
workers COUNT="1000":
    cargo build --bin lath
    LATH_NEW_SEEDS=1 "$(interop/build)/bin/python" interop/python/workers.py target/debug/lath {{COUNT}}

# Build the Python package, and test it with the libraries that it exchanges data with
python *ARGS:
    crates/python/test {{ARGS}}

# Every byte of the small files broken in every way, not a sample: minutes
mutation:
    LATH_FULL=1 LATH_NEW_SEEDS=1 cargo test --release -p lath-parquet --test mutation -- --nocapture

# A million images of a store whose power failed, each opened, checked and compared, by two processes: half an hour or more
crashes *ARGS:
    scripts/crashes.sh store {{ARGS}}

# Three hundred thousand images of a keyed table whose power failed, by two processes
table-crashes *ARGS:
    scripts/crashes.sh table {{ARGS}}

# Two thousand histories of a keyed table in which calls to the system fail
table-faults:
    LATH_FULL=1 LATH_NEW_SEEDS=1 cargo test --release -p lath-table --test table -- --nocapture faults::a_call

# Five hundred processes killed while they write to a table
table-kills:
    LATH_FULL=1 LATH_NEW_SEEDS=1 cargo test --release -p lath-table --test table -- --nocapture kill::

# Five hundred processes killed while they write to a store
kills:
    LATH_FULL=1 LATH_NEW_SEEDS=1 cargo test --release -p lath-store --test store -- --nocapture kill::

# Every byte of small stores changed to three others, and the files cut off at every length
damage:
    LATH_FULL=1 LATH_NEW_SEEDS=1 cargo test --release -p lath-store --test store -- --nocapture damage::

# Twenty million keys, all written anew ten times: how long the file gets, and whether all is there
overwrite *ARGS:
    cargo run --release -p lath-store --example overwrite -- {{ARGS}}

# Removes half of the keys of a large store, and prints how long the commit takes and when the space is free.
remove-range *ARGS:
    cargo run --release -p lath-store --example remove_range -- {{ARGS}}

# One writer and twelve readers whose snapshots must add up, for so many seconds; freed nodes are overwritten
soak SECONDS="600":
    cargo run --release -p lath-store --features poison --example soak -- {{SECONDS}}

# The same under the thread and the address sanitizer, for so many seconds each, with the tests of readers and the store
soak-sanitized *ARGS:
    scripts/store-soak-sanitized.sh {{ARGS}}

# Processes that write to one store by turns, for a number of seconds each: commits a second, and the longest wait
shared-writers *ARGS:
    cargo run --release -p lath-store --example shared_writers -- {{ARGS}}

# Threads that each write to their own tree, for a number of seconds: commits a second, compared with one writer
tree-writers *ARGS:
    cargo run --release -p lath-store --example tree_writers -- {{ARGS}}

# A writer, flushes and merges of a keyed table, and eight readers in two processes whose snapshots must add up, for so many seconds
table-soak SECONDS="600":
    cargo run --release -p lath-table --example soak -- {{SECONDS}}

# Workloads A to F of YCSB on a keyed table, every answer checked: `just ycsb 1000000 100000 abcdef sync`
ycsb *ARGS:
    cargo run --release -p lath-table --example ycsb -- {{ARGS}}

# Measure beside the peers and write a record
bench *ARGS:
    bench/run {{ARGS}}

# The ordered store beside its peers at 100 million keys: an hour, and 20 GB of disk
bench-store-large *ARGS:
    bench/run store --keys=100000000 {{ARGS}}

# How the ordered store's figures and its peers' grow from one to twenty million keys: hours
bench-store-growth *ARGS:
    bench/run store --keys=1000000,5000000,20000000 {{ARGS}}

# Format check and warnings as errors
lint:
    .ci/run format clippy

# Documentation, opened in a browser
docs:
    cargo doc --workspace --no-deps --open

# All that has to hold before a change lands; `just ci full` adds the long proofs
ci *SECTIONS:
    .ci/run {{SECTIONS}}
