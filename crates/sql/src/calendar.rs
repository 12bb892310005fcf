//! Days as years, months and days of the Gregorian calendar.

/// A day.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calendar {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
}

impl Calendar {
    /// The day at a number of days after 1 January 1970.
    pub(crate) fn from_days(days: i64) -> Self {
        // Days since 1 March of the year 0: each leap day is the last of its year.
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year, month, day: day_of_year - (153 * shifted_month + 2) / 5 + 1 }
    }

    /// The days from 1 January 1970 to a day.
    pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
        let shifted_year = year - i64::from(month <= 2);
        let era = shifted_year.div_euclid(400);
        let year_of_era = shifted_year.rem_euclid(400);
        let shifted_month = (month + 9) % 12;
        let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    pub(crate) fn days_in_month(&self) -> i64 {
        let is_leap =
            self.year.rem_euclid(4) == 0 && (self.year.rem_euclid(100) != 0 || self.year.rem_euclid(400) == 0);
        match self.month {
            2 => 28 + i64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (19_782, (2024, 2, 29)),
            (-719_162, (1, 1, 1)),
        ] {
            let date = Calendar::from_days(days);
            assert_eq!((date.year, date.month, date.day), expected);
            assert_eq!(Calendar::days(date.year, date.month, date.day), days);
        }
    }
}
