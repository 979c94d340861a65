// Functions with arguments and results of each kind, called with known values.
use std::collections::HashMap;
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Small,
    Large = 9,
}
#[derive(Clone)]
pub enum Shape {
    Circle(f64),
    Rect { w: i32, h: i32 },
    Empty,
}
#[derive(Clone)]
pub struct Item {
    id: u32,
    price: f64,
    name: String,
}
#[inline(never)]
pub fn ints(a: i8, b: u16, c: i32, d: u64, e: bool, f: char) -> i64 {
    std::hint::black_box(a as i64 + b as i64 + c as i64 + (d as i64 >> 9) + e as i64 + f as i64)
}
#[inline(never)]
pub fn floats(a: f32, b: f64) -> f64 {
    std::hint::black_box(a as f64 + b)
}
#[inline(never)]
pub fn text(s: &str, t: String, u: &String) -> usize {
    std::hint::black_box(s.len() + t.len() + u.len())
}
#[inline(never)]
pub fn kind(k: Kind, s: Shape) -> Kind {
    std::hint::black_box(&s);
    if k == Kind::Small {
        Kind::Large
    } else {
        k
    }
}
#[inline(never)]
pub fn item(i: &Item, j: Item) -> u32 {
    std::hint::black_box(i.id + j.id)
}
#[inline(never)]
pub fn make(id: u32) -> Item {
    std::hint::black_box(Item {
        id,
        price: 2.5,
        name: "made".to_string(),
    })
}
#[inline(never)]
pub fn maybe(o: Option<u32>, p: Option<&Item>, b: Option<Box<i32>>) -> Option<u32> {
    std::hint::black_box((&p, &b));
    o.map(|x| x + 1)
}
#[inline(never)]
pub fn result(r: Result<u32, String>) -> Result<u32, String> {
    std::hint::black_box(r)
}
#[inline(never)]
pub fn slice(v: &[i32], w: Vec<u8>, m: &mut [u16]) -> i32 {
    m[0] = 5;
    std::hint::black_box(v[0] + w[0] as i32)
}
#[inline(never)]
pub fn tuple(t: (i32, f64), a: [u8; 4]) -> (u8, i32) {
    std::hint::black_box((a[0], t.0))
}
#[inline(never)]
pub fn wide(a: i128, b: u128) -> u128 {
    std::hint::black_box((a as u128).wrapping_add(b))
}
#[inline(never)]
pub fn generic<T: std::fmt::Debug>(t: T) -> usize {
    std::hint::black_box(format!("{:?}", t).len())
}
#[inline(never)]
pub fn map(m: &HashMap<String, i32>) -> usize {
    std::hint::black_box(m.len())
}
#[inline(never)]
pub fn unit(_u: ()) {
    std::hint::black_box(());
}
impl Item {
    #[inline(never)]
    pub fn total(&self, n: i32) -> f64 {
        std::hint::black_box(self.price * n as f64)
    }
    #[inline(never)]
    pub fn grow(&mut self) {
        self.id += 1;
        std::hint::black_box(&self);
    }
}
pub trait Area {
    fn area(&self, k: i32) -> i32;
}
impl Area for Item {
    #[inline(never)]
    fn area(&self, k: i32) -> i32 {
        std::hint::black_box(self.id as i32 * k)
    }
}
#[inline(never)]
pub fn dynamic(a: &dyn Area) -> i32 {
    std::hint::black_box(a.area(3))
}
#[inline(never)]
pub fn closure<F: Fn(i32) -> i32>(f: F, x: i32) -> i32 {
    std::hint::black_box(f(x))
}
fn main() {
    for i in 0..3 {
        ints(-1, 2, 3, u64::MAX / 3, true, '\u{20ac}');
        floats(1.5, 2.25);
        text("hello", "owned".to_string(), &"ref".to_string());
        kind(Kind::Small, Shape::Circle(1.5));
        kind(Kind::Large, Shape::Rect { w: 1, h: 2 });
        kind(Kind::Large, Shape::Empty);
        let mut it = make(i);
        item(&it, it.clone());
        it.total(3);
        it.grow();
        it.area(2);
        dynamic(&it);
        maybe(Some(3), Some(&it), Some(Box::new(4)));
        maybe(None, None, None);
        let _ = result(Ok(3));
        let _ = result(Err("bad".to_string()));
        slice(&[1, 2, 3], vec![7, 8], &mut [9, 10]);
        tuple((1, 2.5), [1, 2, 3, 4]);
        wide(-5, 7);
        generic(5);
        generic("x");
        map(&HashMap::new());
        unit(());
        closure(|y| y + i as i32, 4);
    }
}
