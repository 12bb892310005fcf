//! The workloads A to F, and the keys that they choose.

/// The shares of operations of a workload, in percent.
pub struct Workload {
    pub name: char,
    pub what: &'static str,
    pub reads: u64,
    pub updates: u64,
    pub inserts: u64,
    pub scans: u64,
    pub changes: u64,
    pub newest_first: bool,
}

const NONE: Workload =
    Workload { name: ' ', what: "", reads: 0, updates: 0, inserts: 0, scans: 0, changes: 0, newest_first: false };

/// As YCSB has them. A scan reads up to 100 rows.
pub const WORKLOADS: [Workload; 6] = [
    Workload { name: 'A', what: "50 % reads, 50 % updates", reads: 50, updates: 50, ..NONE },
    Workload { name: 'B', what: "95 % reads, 5 % updates", reads: 95, updates: 5, ..NONE },
    Workload { name: 'C', what: "reads", reads: 100, ..NONE },
    Workload {
        name: 'D',
        what: "95 % reads of new rows, 5 % inserts",
        reads: 95,
        inserts: 5,
        newest_first: true,
        ..NONE
    },
    Workload { name: 'E', what: "95 % scans, 5 % inserts", scans: 95, inserts: 5, ..NONE },
    Workload { name: 'F', what: "50 % reads, 50 % read and update", reads: 50, changes: 50, ..NONE },
];

/// An operation on the row with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Read(u64),
    Update(u64),
    Insert,
    Scan(u64, usize),
    Change(u64),
}

/// The exponent of the distribution of keys.
const THETA: f64 = 0.99;

/// Random operations. Rows are chosen by Zipf's law: few rows have most operations.
pub struct Operations {
    state: u64,
    /// The sum of `1 / i^THETA` for all rows at the start.
    zeta: f64,
    eta: f64,
    alpha: f64,
    rows: u64,
}

impl Operations {
    pub fn new(seed: u64, rows: u64) -> Self {
        let sum = |count: u64| (1..=count).map(|i| (i as f64).powf(-THETA)).sum::<f64>();
        let zeta = sum(rows);
        let eta = (1.0 - (2.0 / rows as f64).powf(1.0 - THETA)) / (1.0 - sum(2) / zeta);
        Self { state: seed | 1, zeta, eta, alpha: 1.0 / (1.0 - THETA), rows }
    }

    pub fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn fraction(&mut self) -> f64 {
        (self.random() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A rank: 0 is the most frequent.
    fn rank(&mut self) -> u64 {
        let u = self.fraction();
        let scaled = u * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(THETA) {
            return 1;
        }
        let rank = self.rows as f64 * (self.eta * u - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.rows - 1)
    }

    /// The next operation, where `count` rows exist.
    pub fn next(&mut self, workload: &Workload, count: u64) -> Operation {
        let rank = self.rank();
        let row = match workload.newest_first {
            true => count - 1 - rank.min(count - 1),
            // Frequent rows are anywhere.
            false => scattered(rank) % self.rows,
        };
        let mut share = self.random() % 100;
        for (of, operation) in [
            (workload.reads, Operation::Read(row)),
            (workload.updates, Operation::Update(row)),
            (workload.inserts, Operation::Insert),
            (workload.scans, Operation::Scan(row, (self.random() % 100 + 1) as usize)),
            (workload.changes, Operation::Change(row)),
        ] {
            if share < of {
                return operation;
            }
            share -= of;
        }
        // The shares are 100 together.
        Operation::Read(row)
    }
}

/// A number that looks random, and is always the same for `number`.
pub fn scattered(number: u64) -> u64 {
    let mixed = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// The key of a row: 23 bytes, whose order is not the one of their numbers.
pub fn key(row: u64) -> String {
    format!("user{:019}", scattered(row) % 10_000_000_000_000_000_000)
}
