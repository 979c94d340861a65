"""node: its own JIT, promises, workers, exceptions, regular expressions, compression, a child."""
from real import real_program, which

SCRIPT = r'''
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
const crypto = require("crypto"), zlib = require("zlib"), child = require("child_process");
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
class Refused extends Error {}
function dive(n) { try { if (n === 0) throw new Refused("bottom"); dive(n - 1); } finally { count++; } }
let count = 0;
try { dive(50); } catch (e) { console.log(e instanceof Refused, e.message, count); }
console.log(fib(20), "a1b22c333".replace(/\d+/g, d => d.length));
console.log(crypto.createHash("sha256").update("spoor").digest("hex"));
const packed = zlib.deflateSync(Buffer.from("text ".repeat(2000)));
console.log(zlib.inflateSync(packed).length, JSON.stringify({ a: [1, null, { b: 2.5 }] }));
console.log(child.execFileSync("/bin/echo", ["from", "a", "child"]).toString().trim());
const worker = new Worker("require('worker_threads').parentPort.postMessage(6 * 7)", { eval: true });
worker.on("message", m => console.log("worker", m));
worker.on("exit", () => Promise.all([1, 2, 3].map(async n => n * (await n))).then(all => {
  console.log(all);
  console.error("to stderr");
  process.exitCode = 6;
}));
'''

real_program([which("node"), "-e", SCRIPT], status=6, processes=2)
