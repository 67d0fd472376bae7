// Every test that docs/threat-model.md names for a threat, then the guards, each weakened in turn. Ends with one plain line,
// `N passed, N failed`, over the tests; a weakened guard that no test notices fails the run too.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

process.chdir(new URL('..', import.meta.url).pathname);
const named = readFileSync('docs/threat-model.md', 'utf8').matchAll(/`((?:[a-z0-9-]+\/)+[a-z0-9.-]+\.test\.ts)`/g);
const tests = [...new Set(Array.from(named, ([, file]) => `test/${file}`))].sort();

const step = (script, args) => spawnSync(process.execPath, [script, ...args], { stdio: 'inherit' }).status ?? 1;
console.log(`== ${tests.length} files of tests that the threat model names`);
const ofTests = step('scripts/test.mjs', tests);
console.log('== each guard weakened in turn');
const ofMutants = step('scripts/mutants.mjs', []);
process.exitCode = ofTests === 0 && ofMutants === 0 ? 0 : 1;
