// Weakens one guard after another in a copy of the project, and shows that tests notice. A guard whose loss no test
// feels fails the run, and so does one that has moved: then its line in scripts/mutants/ has to move along.
// Words after the name choose those whose names contain them.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { EGRESS } from './mutants/egress.mjs';
import { WALLS } from './mutants/walls.mjs';

const root = new URL('..', import.meta.url).pathname;
const wanted = process.argv.slice(2).join(' ');
const mutants = [...EGRESS, ...WALLS].filter(({ name }) => name.includes(wanted));
const LONGEST_MS = 240_000;
const AT_ONCE = Math.min(4, availableParallelism());

/** Tests of these folders ask a database; the others start quicker without one. */
const NEED_DATABASE = /^test\/(?:store|e2e|proof|admin)\//;
const LEAN = `export default { test: { include: ['test/**/*.test.ts'], setupFiles: ['test/support/tripwire.ts'] } };\n`;

function makeCopy() {
  const copy = mkdtempSync(join(tmpdir(), 'keybearer-mutants-'));
  for (const name of ['src', 'test', 'migrations', 'package.json', 'tsconfig.json', 'vitest.config.ts', 'docs'])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  writeFileSync(join(copy, 'lean.config.mjs'), LEAN);
  return copy;
}

/** 'green', 'red', or what kept the tests from telling. */
function run(copy, tests) {
  // Without a name vitest would run everything.
  if (tests.length === 0) return 'green';
  const config = tests.some((test) => NEED_DATABASE.test(test)) ? 'vitest.config.ts' : 'lean.config.mjs';
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--bail=1', '--reporter=default', `--config=${config}`, ...tests],
    { cwd: copy, timeout: LONGEST_MS, env: { ...process.env, NO_COLOR: '1' } },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((resolve) => {
    child.on('close', (status) => {
      if (status === 0) resolve('green');
      // A failing test says so; code that does not load, or no test at all, says nothing about the guard.
      else resolve(/Tests\s+\d+ failed/.test(output) ? 'red' : `broken:\n${output.slice(-1_500)}`);
    });
  });
}

function weaken(copy, { edits }) {
  const before = new Map();
  for (const [file, find, put] of edits) {
    const path = join(copy, file);
    const text = readFileSync(path, 'utf8');
    if (!before.has(path)) before.set(path, text);
    if (text.split(find).length !== 2) return { before, problem: `moved: ${file} does not have it once: ${find}` };
    writeFileSync(
      path,
      text.replace(find, () => put),
    );
  }
  return { before, problem: undefined };
}

async function tryOne(copy, mutant) {
  const { before, problem } = weaken(copy, mutant);
  const outcome = problem ?? (await run(copy, mutant.tests));
  for (const [path, text] of before) writeFileSync(path, text);
  return outcome;
}

const copies = Array.from({ length: AT_ONCE }, makeCopy);
const began = performance.now();
let noticed = 0;
try {
  const tests = [...new Set(mutants.flatMap((mutant) => mutant.tests))];
  const withDatabase = tests.filter((test) => NEED_DATABASE.test(test));
  const baseline = await Promise.all([
    run(copies[0], withDatabase),
    run(
      copies.at(-1),
      tests.filter((test) => !withDatabase.includes(test)),
    ),
  ]);
  const broken = baseline.filter((outcome) => outcome !== 'green');
  if (broken.length > 0) console.log(`The tests are not green before anything is weakened.\n${broken.join('\n')}`);
  else {
    const waiting = [...mutants];
    const work = async (copy) => {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        const outcome = await tryOne(copy, mutant);
        if (outcome === 'red') noticed++;
        console.log(outcome === 'red' ? `noticed   ${mutant.name}` : `NOT SEEN  ${mutant.name}\n  ${outcome}`);
      }
    };
    await Promise.all(copies.map(work));
  }
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}
const seconds = ((performance.now() - began) / 1000).toFixed(0);
console.log(`${noticed} of ${mutants.length} weakened guards were noticed, in ${seconds} s`);
if (noticed < mutants.length) process.exitCode = 1;
