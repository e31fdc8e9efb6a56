// The package is ESM; what stands in dist/cjs is not, and says so.
import { writeFileSync } from "node:fs";

writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
