//! Items in order of a number that falls while they are taken: the array of Batagelj and Zaversnik (2003), which cores and
//! trusses are peeled by.

/// Items, those not taken yet in rising order of their numbers.
pub(crate) struct Buckets {
    number: Vec<u32>,
    /// Items by number, and where each stands among them.
    order: Vec<u32>,
    place: Vec<u32>,
    /// Where the items of each number begin.
    begin: Vec<u32>,
}

impl Buckets {
    /// The items `0..number.len()`, less than 2³² of them.
    pub(crate) fn new(number: Vec<u32>) -> Self {
        let top = number.iter().copied().max().unwrap_or(0) as usize;
        let mut begin = vec![0u32; top + 2];
        number.iter().for_each(|d| begin[*d as usize + 1] += 1);
        for d in 0..=top {
            begin[d + 1] += begin[d];
        }
        let (mut place, mut order) = (vec![0u32; number.len()], vec![0u32; number.len()]);
        let mut cursor = begin.clone();
        for (item, d) in (0..).zip(&number) {
            let at = &mut cursor[*d as usize];
            (place[item as usize], order[*at as usize]) = (*at, item);
            *at += 1;
        }
        Self { number, order, place, begin }
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The item that is taken as number `i`, when those before have been, and its number.
    #[inline(always)]
    pub(crate) fn take(&self, i: usize) -> (u32, u32) {
        let item = self.order[i];
        (item, self.number[item as usize])
    }

    /// The item that stands at `i` now, which is most likely the one that will be taken there.
    #[inline(always)]
    pub(crate) fn expected(&self, i: usize) -> Option<u32> {
        self.order.get(i).copied()
    }

    /// Lowers the number of an item by 1, unless that is at most `least`, the number of the item just taken.
    #[inline(always)]
    pub(crate) fn lower(&mut self, item: u32, least: u32) {
        let item = item as usize;
        let d = self.number[item];
        if d <= least {
            return;
        }
        // Swap with the first of its number, which then belongs to the number below.
        let (first, at) = (self.begin[d as usize], self.place[item]);
        let other = self.order[first as usize] as usize;
        self.order.swap(first as usize, at as usize);
        (self.place[item], self.place[other]) = (first, at);
        self.begin[d as usize] += 1;
        self.number[item] -= 1;
    }

    /// The numbers by item: of an item that was taken, the one it had then.
    pub(crate) fn into_numbers(self) -> Vec<u32> {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_taken_in_rising_order_however_they_are_lowered() {
        let numbers: Vec<u32> = (0..50u32).map(|i| i * 7 % 11).collect();
        let mut buckets = Buckets::new(numbers.clone());
        let mut expected = numbers;
        let (mut taken, mut before) = (vec![false; 50], 0);
        for i in 0..buckets.len() {
            let (item, number) = buckets.take(i);
            assert!(!taken[item as usize] && number >= before);
            assert_eq!(number, expected[item as usize]);
            (taken[item as usize], before) = (true, number);
            for other in [(item * 3 + 1) % 50, (item + 9) % 50] {
                buckets.lower(other, number);
                if expected[other as usize] > number {
                    expected[other as usize] -= 1;
                }
            }
        }
        assert!(taken.iter().all(|t| *t));
        assert_eq!(buckets.into_numbers(), expected);
    }
}
