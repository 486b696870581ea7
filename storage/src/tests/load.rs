//! Speed, printed; the assertions are far from the figures, for the machine may be busy.

use std::time::Instant;

use super::*;

fn cpu_secs() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

#[test]
fn writers_share_syncs() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    const WRITERS: u128 = 64;
    const EACH: u128 = 40;
    let begin = Instant::now();
    let mut waits: Vec<f64> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..WRITERS)
            .map(|w| {
                let store = &store;
                s.spawn(move || {
                    (0..EACH)
                        .map(|i| {
                            let rec = dataset(w * EACH + i, w as u64, None, i as i64);
                            let at = Instant::now();
                            store.commit(Batch::new().put(&rec)).unwrap();
                            at.elapsed().as_secs_f64()
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    let secs = begin.elapsed().as_secs_f64();
    waits.sort_by(f64::total_cmp);
    let stats = store.stats();
    println!(
        "{} commits by {WRITERS} writers: {:.0}/s, {} syncs, p50 {:.1} ms, p99 {:.1} ms",
        stats.commits,
        stats.commits as f64 / secs,
        stats.syncs,
        waits[waits.len() / 2] * 1e3,
        waits[waits.len() * 99 / 100] * 1e3,
    );
    assert_eq!(u128::from(stats.commits), WRITERS * EACH);
    assert!(stats.syncs < stats.commits / 2, "{stats:?}");
    assert_sound(&store);
}

#[test]
fn a_page_of_ten_thousand_datasets_does_not_read_them_all() {
    let dir = tempfile::tempdir().unwrap();
    {
        let store = open(dir.path());
        for chunk in (0..10_000u128).collect::<Vec<_>>().chunks(500) {
            let add =
                |b: Batch, i: &u128| b.put(&dataset(*i, (*i % 2) as u64 + 1, None, *i as i64));
            store.commit(chunk.iter().fold(Batch::new(), add)).unwrap();
        }
    }
    let begin = Instant::now();
    let store = open(dir.path());
    println!("opened with 10,000 datasets in {:.0} ms", begin.elapsed().as_secs_f64() * 1e3);
    let mine = [Scope::Owner(UserId(1))];
    for (offset, rounds) in [(0u64, 200), (4_900, 20)] {
        let cpu = cpu_secs();
        for _ in 0..rounds {
            let page = store.list::<DatasetRec>(&mine, offset, 50).unwrap();
            assert_eq!((page.items.len(), page.total), (50, 5_000));
            assert_eq!(page.items[0].created_at, 9_998 - 2 * offset as i64);
        }
        let each = (cpu_secs() - cpu) / f64::from(rounds);
        println!("page of 50 of 5,000 at offset {offset}: {:.0} us of processor time", each * 1e6);
        assert!(each < 0.05, "{each}");
    }
}
