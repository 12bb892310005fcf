//! Free space by region, and the region with the most.

use super::Class;

/// Units of a region: 2 MiB of the file, 4 KiB of the bitmap.
pub(crate) const REGION: u32 = 1 << 15;

/// The number of regions in a group, for which one maximum of free units is kept.
const GROUP: usize = 256;

/// The number of groups that a search looks into. Together they cover 2 GiB; in larger files the search finds one of
/// the freest regions.
const GROUPS_SEARCHED: usize = 4;

#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    /// The exact number of free units.
    pub(super) free: u32,
    /// The number of free units when the region was last left as full, in holes too short for its class.
    pub(super) left: u32,
    /// An upper bound on the length of the runs of free units within the region.
    pub(super) longest: u16,
    /// Whether the region's bits are in the bitmap, rather than in the saved map.
    pub(super) loaded: bool,
    /// The class of nodes that last filled it.
    pub(super) class: Class,
}

impl Region {
    /// The number of units that became free since the region was last left as full. For small nodes, which use the
    /// short holes as well, all free units.
    fn units_for(&self, class: Class) -> u32 {
        if class == Class::Small { self.free } else { self.free.saturating_sub(self.left) }
    }
}

#[derive(Debug, Default)]
pub(super) struct Regions {
    all: Vec<Region>,
    /// For each group, an upper bound on the free units of its regions.
    bounds: Vec<u32>,
}

impl Regions {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, region: usize) -> Region {
        self.all[region]
    }

    pub(super) fn push(&mut self, region: Region) {
        let group = self.all.len() / GROUP;
        self.all.push(region);
        self.bounds.resize(group + 1, 0);
        self.bounds[group] = self.bounds[group].max(region.free);
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
        self.bounds.truncate(len.div_ceil(GROUP));
    }

    #[inline]
    pub(super) fn take(&mut self, region: usize, units: u32) {
        let entry = &mut self.all[region];
        entry.free -= units;
        entry.left = entry.left.min(entry.free);
    }

    #[inline]
    pub(super) fn give(&mut self, region: usize, units: u32) {
        let entry = &mut self.all[region];
        entry.free += units;
        entry.longest = REGION as u16;
        let bound = &mut self.bounds[region / GROUP];
        *bound = (*bound).max(entry.free);
    }

    pub(super) fn set_longest(&mut self, region: usize, units: u32) {
        self.all[region].longest = units as u16;
    }

    /// Resets the bounds on the longest runs.
    pub(super) fn reset_longest(&mut self) {
        self.all.iter_mut().for_each(|region| region.longest = REGION as u16);
    }

    pub(super) fn set_class(&mut self, region: usize, class: Class) {
        self.all[region].class = class;
    }

    /// Marks a region as full: its holes are too short for its class.
    pub(super) fn mark_full(&mut self, region: usize) {
        if let Some(region) = self.all.get_mut(region) {
            region.left = region.free;
        }
    }

    pub(super) fn set_loaded(&mut self, region: usize) {
        self.all[region].loaded = true;
    }

    /// The region before `end` with the most units for `class` that `suits` accepts. Searches all regions if
    /// `thorough`, otherwise a few groups.
    pub(super) fn freest(
        &mut self,
        end: usize,
        class: Class,
        thorough: bool,
        suits: impl Fn(&Region) -> bool,
    ) -> Option<usize> {
        let end = end.min(self.all.len());
        let groups = end.div_ceil(GROUP);
        let mut best: Option<(u32, usize)> = None;
        if thorough {
            for group in 0..groups {
                self.search_group(group, end, class, &suits, &mut best);
            }
        } else {
            let mut searched = [usize::MAX; GROUPS_SEARCHED];
            for at in 0..GROUPS_SEARCHED.min(groups) {
                let Some(group) =
                    (0..groups).filter(|group| !searched.contains(group)).max_by_key(|&group| self.bounds[group])
                else {
                    break;
                };
                searched[at] = group;
                self.search_group(group, end, class, &suits, &mut best);
            }
        }
        best.map(|(_, region)| region)
    }

    /// The first region before `end` that `suits` accepts. `suits` accepts no region with less than `units` free.
    pub(super) fn first(&self, end: usize, units: u32, suits: impl Fn(&Region) -> bool) -> Option<usize> {
        let all = &self.all[..end.min(self.all.len())];
        let group = |(group, members): (usize, &[Region])| {
            let may = self.bounds[group] >= units;
            let found = may.then(|| members.iter().position(&suits)).flatten();
            found.map(|at| group * GROUP + at)
        };
        all.chunks(GROUP).enumerate().find_map(group)
    }

    fn search_group(
        &mut self,
        group: usize,
        end: usize,
        class: Class,
        suits: &impl Fn(&Region) -> bool,
        best: &mut Option<(u32, usize)>,
    ) {
        if best.is_some_and(|(most, _)| most >= self.bounds[group]) {
            return;
        }
        let first = group * GROUP;
        let members = &self.all[first..self.all.len().min(first + GROUP)];
        self.bounds[group] = members.iter().map(|region| region.free).max().unwrap_or(0);
        for (region, entry) in (first..end).zip(members) {
            let units = entry.units_for(class);
            if best.is_none_or(|(most, _)| units > most) && suits(entry) {
                *best = Some((units, region));
            }
        }
    }
}
