// Every test that docs/threat-model.md names for a threat, then what is measured of the product while somebody attacks it, then
// the guards, each weakened in turn. Each part ends with its own line of counts; a weakened guard that no test notices fails
// the run too.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

process.chdir(new URL('..', import.meta.url).pathname);
const named = readFileSync('docs/threat-model.md', 'utf8').matchAll(/`((?:[a-z0-9-]+\/)+[a-z0-9.-]+\.test\.ts)`/g);
const tests = [...new Set(Array.from(named, ([, file]) => `test/${file}`))].sort();

const step = (script, args) => spawnSync(process.execPath, [script, ...args], { stdio: 'inherit' }).status ?? 1;
console.log(`== ${tests.length} files of tests that the threat model names`);
const ofTests = step('scripts/test.mjs', tests);
console.log('== measured under attack');
const underAttack = step('scripts/test.mjs', ['--config', 'test/proof/under-attack.config.ts']);
console.log('== each guard weakened in turn');
const ofMutants = step('scripts/mutants.mjs', []);
process.exitCode = ofTests === 0 && underAttack === 0 && ofMutants === 0 ? 0 : 1;
