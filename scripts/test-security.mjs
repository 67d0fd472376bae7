// Every test that docs/threat-model.md names for a threat, then what is measured of the product while somebody attacks it, then
// the guards, each weakened in turn. Each part ends with its own line of counts; a weakened guard that no test notices fails
// the run too. The last lines name what was skipped, and why: without it a green run promises more than it looked at.
// `--list` only prints the files of the first part. Other arguments go to vitest in their place, and nothing else is run.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

process.chdir(new URL('..', import.meta.url).pathname);

/** A name with a star in it stands for every file of its folder that it matches. */
function filesNamed(name) {
  const path = `test/${name}`;
  if (!name.includes('*')) return [path];
  const [start, end] = path.slice(dirname(path).length + 1).split('*');
  return readdirSync(dirname(path))
    .filter((file) => file.startsWith(start) && file.endsWith(end))
    .map((file) => join(dirname(path), file));
}

const named = readFileSync('docs/threat-model.md', 'utf8').matchAll(/`((?:[a-z0-9-]+\/)*[a-z0-9.*-]+\.test\.ts)`/g);
const tests = [...new Set(Array.from(named, ([, name]) => filesNamed(name)).flat())].sort();
const wishes = process.argv.slice(2);

function run() {
  const directory = mkdtempSync(join(tmpdir(), 'test-security-'));
  const skips = join(directory, 'skips');
  const env = { ...process.env, TEST_SKIPS_FILE: skips };
  const step = (script, args) => spawnSync(process.execPath, [script, ...args], { stdio: 'inherit', env }).status === 0;
  const steps = [];
  if (wishes.length > 0) steps.push(step('scripts/test.mjs', wishes));
  else {
    console.log(`== ${tests.length} files of tests that the threat model names`);
    steps.push(step('scripts/test.mjs', tests));
    console.log('== measured under attack');
    steps.push(step('scripts/test.mjs', ['--config', 'test/proof/under-attack.config.ts']));
    console.log('== each guard weakened in turn');
    steps.push(step('scripts/mutants.mjs', []));
  }
  const skipped = existsSync(skips) ? readFileSync(skips, 'utf8').trimEnd().split('\n') : [];
  rmSync(directory, { recursive: true });
  for (const line of new Set(skipped)) {
    const count = skipped.filter((other) => other === line).length;
    console.log(`WARNING: ${count === 1 ? '1 test was' : `${count} tests were`} skipped in ${line}`);
  }
  process.exitCode = steps.every(Boolean) ? 0 : 1;
}

if (wishes[0] === '--list') console.log(tests.join('\n'));
else run();
