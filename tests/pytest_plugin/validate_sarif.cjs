// SPDX-License-Identifier: Apache-2.0
// validate_sarif.cjs FILE...: validates each file against the JSON schema of SARIF 2.1.0, and
// prints one line for each error. Expects `npm install` to have been run in viewer/.
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");

const PACKAGE = "@microsoft/jest-sarif"; // it carries the schema
const fromViewer = createRequire(path.join(__dirname, "../../viewer/package.json"));
const fromPackage = createRequire(fromViewer.resolve(PACKAGE));
const Ajv = fromPackage("ajv");

const ajv = new Ajv({ schemaId: "id", meta: false, allErrors: true });
ajv.addMetaSchema(fromPackage("ajv/lib/refs/json-schema-draft-04.json"));
const validate = ajv.compile(fromViewer(`${PACKAGE}/lib/schemas/sarif-2.1.0-rtm.5.json`));

for (const file of process.argv.slice(2)) {
    if (!validate(JSON.parse(readFileSync(file, "utf8")))) {
        for (const { dataPath, message } of validate.errors) {
            console.log(`${file}: ${dataPath} ${message}`);
        }
    }
}
