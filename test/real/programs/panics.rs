// A Rust program for rust.py: panics that are caught, that end threads, and one that ends the
// program.
use std::collections::BTreeMap;
use std::panic;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

struct Guard<'a>(&'a Mutex<i32>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[no_mangle]
#[inline(never)]
fn dive(n: u32, dropped: &Mutex<i32>) -> u32 {
    let _guard = Guard(dropped);
    if n == 0 {
        panic!("bottom");
    }
    dive(n - 1, dropped) + 1
}

#[no_mangle]
#[inline(never)]
fn words(seed: u64) -> u64 {
    let mut map: BTreeMap<String, u64> = BTreeMap::new();
    for i in 0..2000 {
        *map.entry(format!("k{}", (i * 31 + seed) % 997)).or_default() += i;
    }
    map.values().sum()
}

fn main() {
    let dropped = Arc::new(Mutex::new(0));
    let caught = panic::catch_unwind(|| dive(20, &dropped));
    println!("{:?} {}", caught.unwrap_err().downcast_ref::<&str>(), dropped.lock().unwrap());
    let (sender, receiver) = mpsc::channel();
    for i in 0..8 {
        let sender = sender.clone();
        thread::spawn(move || sender.send(words(i)).unwrap());
    }
    drop(sender);
    println!("{}", receiver.iter().sum::<u64>());
    for i in 0..8u32 {
        let dropped = dropped.clone();
        let ended = thread::spawn(move || if i % 2 == 0 { dive(i, &dropped) } else { i }).join();
        println!("{}", ended.is_err());
    }
    println!("{}", dropped.lock().unwrap());
    let empty: Vec<i32> = Vec::new();
    println!("{}", empty[std::env::args().count() + 3]);
}
