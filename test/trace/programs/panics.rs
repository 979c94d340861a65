//! Panics: through frames with and without values to drop, caught, resumed, in threads, repeatedly
//! from the same place. The last one ends the program. Prints marks as expect.h describes them.

use std::cell::Cell;
use std::panic;
use std::ptr;
use std::sync::Mutex;
use std::thread;

static ZERO: u32 = 0;

// N, in a way that the compiler cannot know it.
#[inline(always)]
fn unknown(n: u32) -> u32 {
    n + unsafe { ptr::read_volatile(&ZERO) }
}

type Mark = (usize, char, &'static str);

static MARKS: Mutex<Vec<Mark>> = Mutex::new(Vec::new());

thread_local! {
    static THREAD: Cell<usize> = Cell::new(0);
}

#[inline(never)]
fn expect(mark: char, function: &'static str) {
    MARKS.lock().unwrap().push((THREAD.with(Cell::get), mark, function));
}

// Marks a function's entry and its end, however it ends.
struct Traced(&'static str);

impl Traced {
    #[inline(always)]
    fn new(function: &'static str) -> Traced {
        expect('>', function);
        Traced(function)
    }
}

impl Drop for Traced {
    #[inline(always)]
    fn drop(&mut self) {
        expect(if thread::panicking() { '!' } else { '<' }, self.0);
    }
}

#[no_mangle]
#[inline(never)]
fn leaf(n: u32) -> u32 {
    let _traced = Traced::new("leaf");
    unknown(n) * 3
}

// It has nothing to drop: its caller marks its end.
#[no_mangle]
#[inline(never)]
fn bare(n: u32) -> u32 {
    if unknown(n) == 0 {
        panic!("bare");
    }
    unknown(n) + 1
}

#[no_mangle]
#[inline(never)]
fn dive(depth: u32, n: u32) -> u32 {
    let _traced = Traced::new("dive");
    if depth > 0 {
        return dive(depth - 1, n) + leaf(depth);
    }
    expect('>', "bare");
    if n == 0 {
        expect('!', "bare");
    }
    let result = bare(n);
    expect('<', "bare");
    result
}

#[no_mangle]
#[inline(never)]
fn resumes(n: u32) -> u32 {
    let _traced = Traced::new("resumes");
    match panic::catch_unwind(|| dive(1, n)) {
        Ok(result) => result,
        Err(payload) => {
            leaf(n + 1);
            panic::resume_unwind(payload)
        }
    }
}

#[no_mangle]
#[inline(never)]
fn everything(rounds: u32) -> u32 {
    let _traced = Traced::new("everything");
    let mut sum = 0;
    for n in 0..rounds {
        sum = sum * 3 + panic::catch_unwind(|| dive(3, n % 2)).unwrap_or(1000);
        sum = sum * 3 + panic::catch_unwind(|| resumes(n % 2)).unwrap_or(2000);
        sum += leaf(n);
    }
    sum
}

#[no_mangle]
#[inline(never)]
fn ends_its_thread(number: usize) -> u32 {
    THREAD.with(|thread| thread.set(number));
    let _traced = Traced::new("ends_its_thread");
    everything(2) + dive(2, 0)
}

fn print_marks() {
    for (thread, mark, function) in MARKS.lock().unwrap().drain(..) {
        println!("|{thread} {mark} {function}");
    }
}

#[no_mangle]
#[inline(never)]
fn ends_the_program(n: u32) -> u32 {
    expect('>', "ends_the_program");
    println!("{}", everything(4));
    expect('!', "ends_the_program");
    print_marks();
    panic!("the last of {n}");
}

fn main() {
    panic::set_hook(Box::new(|panic| {
        eprintln!("panic at line {}", panic.location().unwrap().line());
    }));
    for number in 1..3 {
        let ended = thread::spawn(move || ends_its_thread(number)).join();
        println!("{}", ended.is_err());
    }
    println!("{}", ends_the_program(unknown(4)));
}
