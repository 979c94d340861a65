// Reads files by speedscope's own importer: speedscope.mjs MODULES FILE...
//
// Prints a JSON array with an object for each profile of the files: its name, and by name of a function the calls, total
// and self time that speedscope has computed.
//
// The package has only the page. Its script is run up to the point where it would draw, in a page that has nothing; there
// its importer is taken out.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import vm from "node:vm";

const [modules, ...files] = process.argv.slice(2);
const folder = join(modules, "speedscope", "dist", "release");
const script = readdirSync(folder).find((name) => /^speedscope-.*\.js$/.test(name));
let text = readFileSync(join(folder, script), "utf8");

const [, space] = /[\w$]+\(([\w$]+),\{[^}]*importProfilesFromArrayBuffer:/.exec(text);
const [, loader] = text.match(new RegExp(`\\(([\\w$]+)\\(\\),${space.replace("$", "\\$")}\\)`));
const start = text.lastIndexOf("console.log(`speedscope v");
text = `${text.slice(0, start)}globalThis.take(${loader},${space});return;${text.slice(start)}`;

// Whatever is asked of the page is there, and does nothing.
const nothing = new Proxy(function () {}, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => "" : key === Symbol.iterator ? [][Symbol.iterator] : nothing),
    set: () => true,
    apply: () => nothing,
    construct: () => nothing,
});
let importer;
const page = { document: nothing, navigator: { userAgent: "", platform: "" }, location: { protocol: "file:", hash: "" },
               localStorage: nothing, matchMedia: () => nothing, addEventListener() {}, requestAnimationFrame() {},
               setTimeout, clearTimeout, TextDecoder, TextEncoder, URL, Blob, atob, btoa, performance, fetch: nothing,
               console: { ...console, log() {} },
               take: (init, namespace) => { init(); importer = namespace; } };
page.window = page.self = page;
vm.runInContext(text, vm.createContext(page), { filename: script });

const results = [];
for (const file of files) {
    const bytes = readFileSync(file);
    const group = await importer.importProfilesFromArrayBuffer(
        basename(file), bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    for (const profile of group.profiles) {
        const functions = {};
        const of = (frame) => (functions[frame.name] ??= { calls: 0, total_ns: 0, self_ns: 0 });
        // forEachCall() leaves out calls that take no time.
        for (const nodes = [...profile.appendOrderCalltreeRoot.children]; nodes.length;) {
            const node = nodes.pop();
            of(node.frame).calls++;
            nodes.push(...node.children);
        }
        profile.forEachFrame((frame) => {
            of(frame).total_ns += frame.getTotalWeight();
            of(frame).self_ns += frame.getSelfWeight();
        });
        results.push({ name: profile.getName(), unit: profile.getWeightUnit(), functions });
    }
}
console.log(JSON.stringify(results));
