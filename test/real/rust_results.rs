// A function for each kind of result that rustc returns in a way of its own. Each call is printed as the name of the
// function and the numbers, texts and variants that it has returned.
use std::num::NonZeroU16;

/// What the compiler cannot foresee; also where std::hint has no such function yet.
fn black_box<T>(value: T) -> T {
    let read = unsafe { std::ptr::read_volatile(&value) };
    std::mem::forget(value);
    read
}

#[derive(Clone, Copy)]
pub struct Meters(f64);
#[derive(Clone, Copy)]
pub struct Id(u32);
#[derive(Clone, Copy)]
pub struct Wrapped {
    inner: Id,
    _unit: (),
}
#[derive(Clone, Copy)]
pub struct Point {
    x: i32,
    y: i32,
}
#[derive(Clone, Copy)]
pub struct Mixed {
    scale: f64,
    count: u16,
}
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Three {
    a: u8,
    b: u8,
    c: u16,
}
#[derive(Clone, Copy)]
pub struct Nested {
    point: Point,
    id: Id,
}
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Small,
    Large = 900,
}
#[derive(Clone, Copy)]
pub enum Shape {
    Circle(u32),
    Square(u32),
    Empty,
}
#[derive(Clone, Copy)]
pub enum Level {
    Low(f32),
    High(f32),
}
pub struct Long {
    text: String,
    id: u64,
}

macro_rules! functions {
    ($($name:ident: $result:ty = $value:expr;)*) => {
        $(#[inline(never)]
        pub fn $name(i: u32) -> $result {
            let i = black_box(i);
            black_box(($value)(i))
        })*
    };
}
static TEXT: &str = "seven";
static NUMBERS: [u16; 3] = [1, 2, 3];

functions! {
    unit: () = |_| ();
    byte: u8 = |i| i as u8 + 250;
    truth: bool = |i| i == 0;
    letter: char = |i| if i == 0 { 'x' } else { '\u{20ac}' };
    single: f32 = |i| i as f32 + 0.5;
    wide: i128 = |i| -5 - ((i as i128) << 70);
    meters: Meters = |i| Meters(i as f64 + 0.25);
    wrapped: Wrapped = |i| Wrapped { inner: Id(i + 77), _unit: () };
    point: Point = |i| Point { x: -3, y: i as i32 };
    pair: (u8, i32) = |i| (i as u8 + 1, -70000);
    words: (u64, u64) = |i| (u64::MAX - i as u64, 2);
    doubles: (f64, f64) = |i| (i as f64, -1.5);
    singles: (f32, f32) = |i| (i as f32, -1.5);
    mixed: Mixed = |i| Mixed { scale: 2.5, count: i as u16 + 9 };
    three: Three = |i| Three { a: 1, b: i as u8, c: 300 };
    nested: Nested = |i| Nested { point: Point { x: 1, y: 2 }, id: Id(i) };
    array: [u16; 3] = |i| [i as u16, 2, 3];
    kind: Kind = |i| if i == 0 { Kind::Small } else { Kind::Large };
    shape: Shape = |i| if i == 0 { Shape::Circle(40) } else if i == 1 { Shape::Square(41) } else { Shape::Empty };
    level: Level = |i| if i == 0 { Level::Low(0.5) } else { Level::High(1.5) };
    option: Option<u32> = |i| if i == 0 { None } else { Some(i + 6) };
    option_truth: Option<bool> = |i| if i == 0 { None } else { Some(i == 1) };
    option_wide: Option<u64> = |i| if i == 0 { None } else { Some(u64::MAX - i as u64) };
    option_float: Option<f64> = |i| if i == 0 { None } else { Some(i as f64) };
    option_reference: Option<&'static u16> = |i| if i == 0 { None } else { Some(&NUMBERS[i as usize]) };
    option_text: Option<&'static str> = |i| if i == 0 { None } else { Some(TEXT) };
    option_nonzero: Option<NonZeroU16> = |i| NonZeroU16::new(i as u16);
    option_pair: Option<(u32, u32)> = |i| if i == 0 { None } else { Some((i, 5)) };
    option_kind: Option<Kind> = |i| if i == 0 { None } else { Some(Kind::Large) };
    result: Result<u32, i32> = |i| if i == 0 { Ok(8) } else { Err(-(i as i32)) };
    result_units: Result<(), ()> = |i| if i == 0 { Ok(()) } else { Err(()) };
    result_truth: Result<bool, u64> = |i| if i == 0 { Ok(true) } else { Err(i as u64) };
    text: &'static str = |i| &TEXT[i as usize..];
    slice: &'static [u16] = |i| &NUMBERS[i as usize..];
    boxed: Box<u32> = |i| Box::new(i + 3);
    long: Long = |i| Long { text: "long".to_string(), id: i as u64 };
    owned: String = |_| "owned".to_string();
    list: Vec<u8> = |i| vec![i as u8, 2];
    wide_pair: (u64, u128) = |i| (i as u64, 1 << 80);
    option_128: Option<u128> = |i| if i == 0 { None } else { Some(1 << 80) };
    function: fn(u32) -> u8 = |_| byte as fn(u32) -> u8;
}

fn shape_text(shape: Shape) -> String {
    match shape {
        Shape::Circle(n) => format!("Circle {n}"),
        Shape::Square(n) => format!("Square {n}"),
        Shape::Empty => "Empty".to_string(),
    }
}
fn level_text(level: Level) -> String {
    match level {
        Level::Low(n) => format!("Low {n}"),
        Level::High(n) => format!("High {n}"),
    }
}
fn some<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or("None".to_string(), |inner| format!("Some {}", text(inner)))
}
fn kind_text(kind: Kind) -> String {
    format!("{kind:?}")
}

fn main() {
    for i in 0..3 {
        unit(i);
        println!("byte {}", byte(i));
        println!("truth {}", truth(i));
        println!("letter {}", letter(i));
        println!("single {}", single(i));
        println!("wide {}", wide(i));
        println!("meters {}", meters(i).0);
        println!("wrapped {}", wrapped(i).inner.0);
        let p = point(i);
        println!("point {} {}", p.x, p.y);
        let p = pair(i);
        println!("pair {} {}", p.0, p.1);
        let p = words(i);
        println!("words {} {}", p.0, p.1);
        let p = doubles(i);
        println!("doubles {} {}", p.0, p.1);
        let p = singles(i);
        println!("singles {} {}", p.0, p.1);
        let m = mixed(i);
        println!("mixed {} {}", m.scale, m.count);
        let t = three(i);
        println!("three {} {} {}", t.a, t.b, t.c);
        let n = nested(i);
        println!("nested {} {} {}", n.point.x, n.point.y, n.id.0);
        let a = array(i);
        println!("array {} {} {}", a[0], a[1], a[2]);
        println!("kind {}", kind_text(kind(i)));
        println!("shape {}", shape_text(shape(i)));
        println!("level {}", level_text(level(i)));
        println!("option {}", some(option(i), |n| n.to_string()));
        println!("option_truth {}", some(option_truth(i), |n| n.to_string()));
        println!("option_wide {}", some(option_wide(i), |n| n.to_string()));
        println!("option_float {}", some(option_float(i), |n| n.to_string()));
        println!("option_reference {}", some(option_reference(i), |n| format!("{n:p}")));
        println!("option_text {}", some(option_text(i), |n| format!("{:p} {}", n.as_ptr(), n.len())));
        println!("option_nonzero {}", some(option_nonzero(i), |n| n.to_string()));
        println!("option_pair {}", some(option_pair(i), |n| format!("{} {}", n.0, n.1)));
        println!("option_kind {}", some(option_kind(i), kind_text));
        println!("result {}", match result(i) { Ok(n) => format!("Ok {n}"), Err(n) => format!("Err {n}") });
        println!("result_units {}", match result_units(i) { Ok(()) => "Ok", Err(()) => "Err" });
        println!("result_truth {}", match result_truth(i) { Ok(n) => format!("Ok {n}"), Err(n) => format!("Err {n}") });
        println!("text {}", text(i));
        let s = slice(i);
        println!("slice {:p} {}", s.as_ptr(), s.len());
        println!("boxed {:p}", boxed(i));
        let l = long(i);
        println!("long {} {}", l.text, l.id);
        println!("owned {}", owned(i));
        let l = list(i);
        println!("list {:p} {} {}", l.as_ptr(), l.capacity(), l.len());
        let w = wide_pair(i);
        println!("wide_pair {} {}", w.0, w.1);
        println!("option_128 {}", some(option_128(i), |n| n.to_string()));
        println!("function {:p}", function(i) as *const u8);
    }
}
