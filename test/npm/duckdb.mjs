// Asks DuckDB: duckdb.mjs MODULES SQL. Prints the rows as a JSON array of objects; large numbers are strings.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, sql] = process.argv.slice(2);
const { DuckDBInstance } = await import(pathToFileURL(join(modules, "@duckdb", "node-api", "lib", "index.js")));
const connection = await (await DuckDBInstance.create(":memory:")).connect();
const result = await connection.runAndReadAll(sql);
console.log(JSON.stringify(result.getRowObjectsJson()));
