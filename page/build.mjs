// Bundles src/*.ts into ../src/regard/look/page.js. Its first line carries a hash of the sources, by which a test
// in Python sees, without node, whether the bundle is current.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL("./src/", import.meta.url);
const hash = createHash("sha256");
for (const name of readdirSync(here).filter((name) => name.endsWith(".ts")).sort()) {
  hash.update(`${name}\0${readFileSync(new URL(name, here), "utf8").replaceAll("\r\n", "\n")}\0`);
}
await build({
  entryPoints: [new URL("main.ts", here).pathname],
  outfile: new URL("../src/regard/look/page.js", import.meta.url).pathname,
  bundle: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  minify: true,
  legalComments: "none",
  banner: { js: `// built from page/src, sha256 ${hash.digest("hex")}` },
});
