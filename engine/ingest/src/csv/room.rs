//! Room for the text of one column of one chunk.

/// Text in a part of the whole column's memory, which was made for cells as long as those of the sample;
/// what turns out longer moves into memory of its own.
#[derive(Default)]
pub struct Room<'a> {
    part: &'a mut [u8],
    len: usize,
    own: Option<Vec<u8>>,
}

impl<'a> Room<'a> {
    pub fn new(part: &'a mut [u8]) -> Self {
        Self { part, len: 0, own: None }
    }

    /// Bytes of text so far.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Space for at least `bytes` bytes behind the text; [`Room::took`] makes what is written there text.
    pub fn space(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.len + bytes;
        if self.own.is_none() && end <= self.part.len() {
            return &mut self.part[self.len..];
        }
        let own = self.own.get_or_insert_with(|| self.part[..self.len].to_vec());
        if own.len() < end {
            own.resize(end, 0);
        }
        &mut own[self.len..]
    }

    /// The space that there is behind the text.
    pub fn rest(&mut self) -> &mut [u8] {
        match &mut self.own {
            Some(own) => &mut own[self.len..],
            None => &mut self.part[self.len..],
        }
    }

    pub fn took(&mut self, bytes: usize) {
        self.len += bytes;
    }

    pub fn push(&mut self, text: &[u8]) {
        self.space(text.len())[..text.len()].copy_from_slice(text);
        self.took(text.len());
    }

    pub fn finish(self) -> Filled {
        let (room, len) = (self.part.len(), self.len);
        let own = self.own.map(|mut own| {
            own.truncate(len);
            own
        });
        Filled { room, len, own }
    }
}

/// The outcome of a [`Room`].
#[derive(Default)]
pub struct Filled {
    /// Bytes of its part of the column's memory.
    pub room: usize,
    /// Bytes of text.
    pub len: usize,
    /// The text, where it is not in that part.
    pub own: Option<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_outgrows_its_part_moves() {
        let mut memory = [0u8; 8];
        let mut room = Room::new(&mut memory);
        room.push(b"abc");
        room.space(5)[..2].copy_from_slice(b"de");
        room.took(2);
        assert_eq!((room.len(), room.rest().len()), (5, 3));
        room.push(b"fghi");
        let filled = room.finish();
        assert_eq!(
            (filled.room, filled.len, filled.own.as_deref()),
            (8, 9, Some(&b"abcdefghi"[..]))
        );
        assert_eq!(&memory[..5], b"abcde");

        let mut room = Room::new(&mut memory);
        room.push(b"12345678");
        assert!(room.finish().own.is_none());
        let mut none = Room::new(&mut []);
        none.push(b"x");
        none.clear();
        none.push(b"yz");
        assert_eq!(none.finish().own.as_deref(), Some(&b"yz"[..]));
    }
}
