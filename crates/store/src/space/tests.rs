use super::*;
use crate::error::Error;
use std::collections::BTreeMap;

/// A slow model of the space map.
struct Model {
    first: u64,
    used: Vec<bool>,
    nodes: BTreeMap<u64, u32>,
}

impl Model {
    fn new(first: u64, end: u64) -> Self {
        let mut used = vec![false; end as usize];
        used[..first as usize].fill(true);
        Self { first, used, nodes: BTreeMap::new() }
    }

    fn end(&self) -> u64 {
        self.used.len() as u64
    }

    fn is_used(&self, extent: Extent) -> bool {
        extent.end() > self.end() || self.used[extent.start as usize..extent.end() as usize].contains(&true)
    }

    fn add(&mut self, start: u64, units: u32) {
        let extent = Extent { start, units };
        assert!(!self.is_used(extent), "{extent:?} was used or outside");
        self.used[start as usize..extent.end() as usize].fill(true);
        self.nodes.insert(start, units);
    }

    fn remove_some(&mut self, rng: &mut fastrand::Rng) -> Option<Extent> {
        let from = rng.u64(..self.end().max(1));
        let (&start, &units) = self.nodes.range(from..).next().or_else(|| self.nodes.iter().next())?;
        self.nodes.remove(&start);
        self.used[start as usize..start as usize + units as usize].fill(false);
        Some(Extent { start, units })
    }

    fn free(&self) -> u64 {
        self.used.iter().filter(|&&used| !used).count() as u64
    }

    fn trailing_free(&self) -> u64 {
        self.used.iter().rev().take_while(|&&used| !used).count() as u64
    }

    fn longest_free_before(&self, limit: u64) -> u64 {
        let limit = self.end().min(limit) as usize;
        self.used[..limit].split(|&used| used).map(<[bool]>::len).max().unwrap_or(0) as u64
    }
}

fn agree(space: &mut Space, model: &Model, rng: &mut fastrand::Rng) {
    assert_eq!(space.end(), model.end());
    assert_eq!(space.free_units(), model.free());
    assert_eq!(space.used_units(), model.end() - model.first - model.free());
    assert_eq!(space.trailing_free_units(), model.trailing_free());
    for _ in 0..100 {
        let extent = Extent { start: rng.u64(model.first..=model.end()), units: 1 + rng.u32(..40) };
        assert_eq!(space.is_used(extent), model.is_used(extent), "{extent:?}");
    }
}

fn some_units(rng: &mut fastrand::Rng) -> u32 {
    match rng.u32(..100) {
        0..60 => 1 + rng.u32(..16),
        60..90 => 17 + rng.u32(..60),
        90..98 => 64 + rng.u32(..3000),
        98 => 1 + rng.u32(..20_000),
        _ => 1 + rng.u32(..80_000),
    }
}

#[test]
fn random_histories_match_a_vector_of_flags() {
    let start_seed = lath_testkit::seed();
    for round in 0..12 {
        let seed = start_seed.wrapping_add(round);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let first = rng.u64(..300);
        let mut end = first + rng.u64(..100_000);
        let mut space = Space::new(first, end);
        let mut model = Model::new(first, end);
        let mut ceiling = None;
        for step in 0..6_000 {
            match rng.u32(..100) {
                0..58 => {
                    let units = some_units(&mut rng);
                    let anywhere = rng.u8(..8) == 0;
                    let limit = ceiling.unwrap_or(u64::MAX);
                    loop {
                        let place = if anywhere { space.allocate_anywhere(units) } else { space.allocate(units) };
                        if let Some(start) = place {
                            assert!(start + u64::from(units) <= limit, "above the ceiling {limit}");
                            model.add(start, units);
                            break;
                        }
                        if anywhere || ceiling.is_some() {
                            let longest = model.longest_free_before(limit);
                            assert!(longest < units.into(), "{longest} units were free for {units}");
                            break;
                        }
                        if end > 600_000 {
                            break;
                        }
                        end += u64::from(units) + rng.u64(..5_000);
                        space.grow(end);
                        model.used.resize(end as usize, false);
                    }
                }
                58..97 => {
                    if let Some(extent) = model.remove_some(&mut rng) {
                        space.release(extent);
                    }
                }
                97 if step % 4 == 0 => {
                    ceiling = ceiling.is_none().then(|| rng.u64(..=end));
                    space.set_ceiling(ceiling);
                }
                97 => {
                    let trailing = model.trailing_free();
                    assert!(trailing == end - first || !space.shrink(end - trailing - 1), "a used unit was dropped");
                    end -= rng.u64(..=trailing);
                    assert!(space.shrink(end));
                    model.used.truncate(end as usize);
                }
                98 => agree(&mut space, &model, &mut rng),
                _ => {
                    let extent = Extent { start: rng.u64(..=end), units: 1 + rng.u32(..20) };
                    let free = extent.start >= first && !model.is_used(extent);
                    assert_eq!(space.mark_used(extent), free, "{extent:?}");
                    if free {
                        model.add(extent.start, extent.units);
                    }
                }
            }
            if step % 1_500 == 700 {
                let bytes = space.save([]);
                assert!(bytes.len() <= space.saved_bytes_max());
                space = if rng.bool() { Space::restore(&bytes).unwrap() } else { Space::lazy(bytes).unwrap() };
                space.set_ceiling(ceiling);
            }
        }
        space.set_ceiling(None);
        agree(&mut space, &model, &mut rng);
        while let Some(extent) = model.remove_some(&mut rng) {
            space.release(extent);
        }
        agree(&mut space, &model, &mut rng);
        assert_eq!(space.trailing_free_units(), end - first);
        assert_eq!(space.freed_twice(), 0);
    }
}

#[test]
fn full_space_grows_and_every_unit_is_usable() {
    let mut space = Space::new(128, 128);
    assert_eq!(space.allocate(1), None);
    space.grow(100_000);
    let mut count = 0u64;
    while space.allocate_anywhere(7).is_some() {
        count += 7;
    }
    assert!(space.free_units() < 7 * 5, "{} free", space.free_units());
    while space.allocate_anywhere(1).is_some() {
        count += 1;
    }
    assert_eq!((space.free_units(), count), (0, 100_000 - 128));
}

#[test]
fn values_spanning_regions_are_contiguous_and_readable() {
    let mut space = Space::new(128, 128);
    let units = 5 * REGION + 77;
    assert_eq!(space.allocate(units), None);
    space.grow(128 + u64::from(units));
    assert_eq!(space.allocate(units), Some(128));
    space.grow(space.end() + 1000);
    let small = space.allocate(1000).unwrap();
    assert_eq!(small, 128 + u64::from(units));
    space.release(Extent { start: 128, units });
    assert_eq!(space.allocate(units), Some(128));
    let most = 1 << 26;
    assert_eq!(space.allocate(most), None);
    space.grow(space.end() + u64::from(most));
    assert_eq!(space.allocate(most), Some(small + 1000));
    assert_eq!(space.free_units(), 0);
}

#[test]
fn holes_are_reused_long_before_file_grows() {
    let mut space = Space::new(0, 40 * u64::from(REGION));
    let mut nodes = Vec::new();
    while let Some(start) = space.allocate(8) {
        nodes.push(start);
    }
    // Every fourth node dies.
    for start in nodes.iter().copied().step_by(4) {
        space.release(Extent { start, units: 8 });
    }
    let free = space.free_units();
    let mut reused = 0;
    while space.allocate(8).is_some() {
        reused += 8;
    }
    assert!(reused * 10 > free * 9, "only {reused} of {free} units were reused");
}

#[test]
fn double_release_is_counted_and_frees_once() {
    let mut space = Space::new(0, 1000);
    let start = space.allocate(8).unwrap();
    space.release(Extent { start, units: 6 });
    assert_eq!((space.free_units(), space.freed_twice()), (998, 0));
    space.release(Extent { start, units: 8 });
    assert_eq!((space.free_units(), space.freed_twice()), (1000, 6));
}

#[test]
fn references_of_damaged_node_past_the_end_are_not_released() {
    let mut space = Space::new(128, 1000);
    space.release(Extent { start: 990, units: 20 });
    space.release(Extent { start: 0, units: 2 });
    space.release(Extent { start: (1 << 40) - 1, units: 1 << 26 });
    assert!(!space.mark_used(Extent { start: (1 << 40) - 1, units: 1 << 26 }));
    assert_eq!(space.free_units(), 872);
}

fn partly_used() -> (Space, Vec<u64>) {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut space = Space::new(128, 6 * u64::from(REGION) + 5_000);
    let mut nodes: Vec<u64> = std::iter::from_fn(|| space.allocate(10)).take(8_000).collect();
    rng.shuffle(&mut nodes);
    for start in nodes.drain(6_000..) {
        space.release(Extent { start, units: 10 });
    }
    (space, nodes)
}

#[test]
fn saved_map_loads_regions_on_first_use() {
    let (mut space, nodes) = partly_used();
    let bytes = space.save([]);
    let mut lazy = Space::lazy(bytes.clone()).unwrap();
    assert!(!lazy.is_loaded());
    assert_eq!((lazy.free_units(), lazy.end()), (space.free_units(), space.end()));
    let mut copy = Space::restore(&bytes).unwrap();
    assert!(copy.is_loaded());
    assert_eq!(copy.save([]), bytes);
    for &start in &nodes {
        assert!(lazy.is_used(Extent { start, units: 10 }));
    }
    lazy.load_all();
    assert_eq!(lazy.save([]), bytes);
}

#[test]
fn unneeded_nodes_are_saved_as_free() {
    let (mut space, nodes) = partly_used();
    let (dead, live) = nodes.split_at(1_000);
    let bytes = space.save(dead.iter().map(|&start| Extent { start, units: 10 }));
    let mut opened = Space::lazy(bytes).unwrap();
    assert_eq!(opened.free_units(), space.free_units() + 10_000);
    assert!(dead.iter().all(|&start| !opened.is_used(Extent { start, units: 10 })));
    assert!(live.iter().all(|&start| opened.is_used(Extent { start, units: 1 })));
}

#[test]
fn damage_to_saved_map_is_an_error_or_only_costs_space() {
    let (mut space, nodes) = partly_used();
    let bytes = space.save([]);
    let directory = 24 + 8 * 7;
    let (mut errors, mut lost) = (0, 0);
    for at in (0..directory).chain((directory..bytes.len()).step_by(501)) {
        let mut bad = bytes.clone();
        bad[at] ^= 1 << (at % 8);
        assert!(Space::restore(&bad).is_err(), "byte {at}");
        match Space::lazy(bad) {
            Err(Error::Corrupt { .. }) => errors += 1,
            Err(other) => panic!("{other}"),
            Ok(mut opened) => {
                while let Some(start) = opened.allocate_anywhere(10) {
                    assert!(!space.is_used(Extent { start, units: 10 }), "byte {at}");
                }
                assert_eq!(opened.damaged_regions().len(), 1);
                // Units released into a damaged region can be used again.
                let before = opened.free_units();
                nodes.iter().for_each(|&start| opened.release(Extent { start, units: 10 }));
                assert_eq!(opened.free_units(), before + 60_000);
                lost += 1;
            }
        }
    }
    assert_eq!(errors, directory);
    assert!(lost > 20);
    for len in 0..bytes.len() {
        if len < 200 || len % 1009 == 0 {
            assert!(Space::restore(&bytes[..len]).is_err(), "{len} bytes");
            assert!(Space::lazy(bytes[..len].to_vec()).is_err(), "{len} bytes");
        }
    }
}

#[test]
fn difference_of_maps_is_listed() {
    let mut space = Space::new(128, 3 * u64::from(REGION));
    let mut other = Space::new(128, 2 * u64::from(REGION));
    let both = Extent { start: 200, units: 50 };
    let leaks = [Extent { start: 250, units: 3 }, Extent { start: 2 * u64::from(REGION) + 5, units: 70 }];
    for extent in [both, leaks[0], leaks[1]] {
        assert!(space.mark_used(extent));
    }
    assert!(other.mark_used(both));
    assert!(other.mark_used(Extent { start: 5000, units: 9 }));
    assert_eq!(space.used_outside(&mut other, 10), (73, leaks.to_vec()));
    assert_eq!(space.used_outside(&mut other, 1), (73, vec![leaks[0]]));
    assert_eq!(other.used_outside(&mut space, 10), (9, vec![Extent { start: 5000, units: 9 }]));
}
