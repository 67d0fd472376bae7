// npm run conformance: the sign-in scenarios of the MCP conformance suite, through Keybearer, one at a time.
//   npm run conformance -- auth/iss-supported                   only this one, in each revision that has it
//   npm run conformance -- --revision 2026-07-28 auth/basic-cimd
//   npm run conformance -- --log auth/iss-supported             with the log of what passed, too
//   npm run conformance -- --servers                            the server scenarios instead; see server-run.ts
// Writes docs/conformance.md when everything was run. Ends with 1 when something failed.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startDatabases } from './database.ts';
import { type Result, report } from './report.ts';
import { EXTRAS } from './scenarios.ts';
import { serverReport } from './server-report.ts';
import { isSound, runServers } from './server-run.ts';
import { install, type Run, required, revisions, runScenario, stopAll } from './suite.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    revision: { type: 'string' },
    log: { type: 'boolean', default: false },
    servers: { type: 'boolean', default: false },
  },
});

function plan(): readonly Run[] {
  const all: Run[] = revisions().flatMap((revision) => required(revision).map((scenario) => ({ scenario, revision })));
  all.push(...EXTRAS.map(({ scenario, revision, name }) => ({ scenario, revision, extra: name })));
  return all.filter(
    ({ scenario, revision }) =>
      (positionals.length === 0 || positionals.includes(scenario)) &&
      (values.revision === undefined || values.revision === revision),
  );
}

async function runAll(runs: readonly Run[], databaseUrl: string): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const run of runs) {
    const began = performance.now();
    const outcome = await runScenario(run, databaseUrl);
    results.push({ run, outcome });
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const name = run.extra === undefined ? run.scenario : `${run.scenario} (${run.extra})`;
    const verdict = outcome.isPassed ? 'passed' : 'FAILED';
    console.log(
      `${run.revision}  ${name.padEnd(42)}  ${verdict}  ${String(outcome.checks).padStart(2)} checks  ${seconds} s`,
    );
    for (const problem of outcome.problems) console.log(`    ${problem}`);
    if (!outcome.isPassed || values.log) console.log(outcome.log.replace(/^/gmu, '    | '));
  }
  return results;
}

async function main(): Promise<void> {
  await install();
  const runs = plan();
  if (runs.length === 0 && !values.servers) throw new Error('No scenario of that name is run');
  const databases = await startDatabases();
  const stop = (): void => {
    stopAll();
    void databases.stop().finally(() => process.exit(1));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  try {
    if (values.servers) await judgeServers(databases.url);
    else await signInAll(runs, databases.url);
  } finally {
    await databases.stop();
  }
}

const isWhole = (): boolean => positionals.length === 0 && values.revision === undefined;

const write = (name: string, text: string): void => writeFileSync(new URL(`../docs/${name}`, import.meta.url), text);

async function judgeServers(databaseUrl: string): Promise<void> {
  const { revision, log } = values;
  const results = await runServers(databaseUrl, { scenarios: positionals, revision, isLogged: log });
  if (results.length === 0) throw new Error('No server scenario of that name is run');
  if (isWhole()) write('conformance-servers.md', serverReport(revisions(), results));
  const required = results.filter(({ isRequired }) => isRequired);
  const failed = required.filter((result) => !isSound(result)).length;
  console.log(`${required.length - failed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}

async function signInAll(runs: readonly Run[], databaseUrl: string): Promise<void> {
  const results = await runAll(runs, databaseUrl);
  const failed = results.filter(({ outcome }) => !outcome.isPassed).length;
  if (isWhole()) write('conformance.md', report(revisions(), results));
  console.log(`${results.length - failed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}

await main();
