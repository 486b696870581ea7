//! Zachary's karate club (J. Anthropological Research 33, 1977): 34 people, 78 friendships, two camps.

use crate::EdgeList;

/// For each person the friends with a larger number.
const FRIENDS: &[(u32, &[u32])] = &[
    (0, &[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31]),
    (1, &[2, 3, 7, 13, 17, 19, 21, 30]),
    (2, &[3, 7, 8, 9, 13, 27, 28, 32]),
    (3, &[7, 12, 13]),
    (4, &[6, 10]),
    (5, &[6, 10, 16]),
    (6, &[16]),
    (8, &[30, 32, 33]),
    (9, &[33]),
    (13, &[33]),
    (14, &[32, 33]),
    (15, &[32, 33]),
    (18, &[32, 33]),
    (19, &[33]),
    (20, &[32, 33]),
    (22, &[32, 33]),
    (23, &[25, 27, 29, 32, 33]),
    (24, &[25, 27, 31]),
    (25, &[31]),
    (26, &[29, 33]),
    (27, &[33]),
    (28, &[31, 33]),
    (29, &[32, 33]),
    (30, &[32, 33]),
    (31, &[32, 33]),
    (32, &[33]),
];

/// Who sided with the administrator.
const SECOND_CAMP: &[u32] = &[8, 9, 14, 15, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33];

/// The club with its real split as the planted community.
#[must_use]
pub fn karate() -> EdgeList {
    let (src, dst) =
        FRIENDS.iter().flat_map(|(a, list)| list.iter().map(move |b| (*a, *b))).unzip();
    let community = (0..34).map(|v| u32::from(SECOND_CAMP.contains(&v))).collect();
    EdgeList { num_nodes: 34, src, dst, community: Some(community) }
}
