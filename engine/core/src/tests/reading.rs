use graphlume_types::{Code, Coded};

use super::kit::{config, engine, grid, next_frame, placed_path};
use crate::block_on;

#[test]
fn the_edge_stream_has_every_edge_once_and_is_shared() {
    let e = engine(config());
    let data = e.add(1, grid(20));
    let s = e.open("s", data, 0);
    let epoch = next_frame(&mut e.attach(&s)).epoch;
    let bytes = block_on(e.handle.reads(s.clone()).edges(epoch)).expect("edges");
    let again = block_on(e.handle.reads(s.clone()).edges(epoch)).expect("edges");
    assert_eq!(bytes.as_ptr(), again.as_ptr(), "made once");
    let mut pairs: Vec<(u32, u32)> = bytes
        .chunks_exact(8)
        .map(|c| {
            let word = |i: usize| u32::from_le_bytes([c[i], c[i + 1], c[i + 2], c[i + 3]]);
            (word(0), word(4))
        })
        .collect();
    assert_eq!(pairs.len(), 2 * 20 * 19);
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), 2 * 20 * 19);
    let wrong = block_on(e.handle.reads(s).edges(epoch + 1)).expect_err("no such epoch");
    assert_eq!(wrong.code(), Code::Gone);
}

#[test]
fn the_card_of_a_drawn_edge_is_that_of_its_pair() {
    let e = engine(config());
    let data = e.add(1, placed_path(30));
    let s = e.open("s", data, 0);
    let epoch = next_frame(&mut e.attach(&s)).epoch;
    let bytes = block_on(e.handle.reads(s.clone()).edges(epoch)).expect("edges");
    for drawn in [0u32, 7, 28] {
        let card = block_on(e.handle.reads(s.clone()).edge_card(drawn)).expect("a card");
        let at = drawn as usize * 8;
        let src = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        assert_eq!(card["source_index"], src, "{card}");
    }
    let beyond = block_on(e.handle.reads(s.clone()).edge_card(29)).expect_err("29 edges");
    assert_eq!((beyond.code(), beyond.slug()), (Code::NotFound, "edge-not-found"));
    let beyond = block_on(e.handle.reads(s).node_card(30)).expect_err("30 nodes");
    assert_eq!(beyond.slug(), "node-not-found");
}

#[test]
fn search_finds_by_label_and_respects_the_limit() {
    let e = engine(config());
    let data = e.add(1, placed_path(30));
    let s = e.open("s", data, 0);
    let hits = block_on(e.handle.reads(s.clone()).search("node 2".to_owned(), 5)).expect("hits");
    assert_eq!(hits.len(), 5);
    assert_eq!((hits[0].index, hits[0].label.as_str()), (2, "Node 2"));
    let none = block_on(e.handle.reads(s.clone()).search("nobody".to_owned(), 5)).expect("no hits");
    assert!(none.is_empty());
    assert!(block_on(e.handle.reads(s).search("  ".to_owned(), 5)).expect("nothing").is_empty());
}
