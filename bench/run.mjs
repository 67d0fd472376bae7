// npm run bench: what one call costs in CPU time, beside a proxy that looks at nothing and one written with
// the SDK in an hour. Loopback only, about a minute. CPU time and ratios stand on a busy machine; speed does not.
import { fork } from 'node:child_process';
import { createPublicKey, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { makeKey } from './keys.mjs';
import { Load, signTokens } from './load.mjs';
import { fixtureFor, SERVERS, TOOLS_PER_SERVER } from './people.mjs';
import { prepare } from './prepare.mjs';

const [HEAT_MS, WARM_MS, ROUND_MS, ROUNDS] = [2_500, 1_000, 800, 2];
const SCENARIOS = [
  { name: 'small call', tool: 'echo', args: { size: 256 } },
  { name: '100 KiB', tool: 'echo', args: { size: 100 * 1024 } },
  { name: '50 progress events', tool: 'progress', args: { count: 50 } },
  { name: `${SERVERS * TOOLS_PER_SERVER} tools listed` },
];
const ERAS = { legacy: ['raw', 'naive', 'keybearer'], modern: ['raw', 'keybearer'] };

process.env.BENCH_SECRET = randomBytes(16).toString('hex');
const directory = mkdtempSync(join(tmpdir(), 'keybearer-bench-'));
// As root, PostgreSQL's own user has to get through to the database, or it would be kept elsewhere.
chmodSync(directory, 0o711);
const closers = [() => rmSync(directory, { recursive: true, force: true })];
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** A process of its own, whose CPU time can be asked for. */
async function start(script, env) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = fork(here(script), {
    execArgv: ['--import', here('measured.mjs')],
    env: { ...process.env, ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  closers.push(() => child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (text) => (said = `${said}${text}`.slice(-4_000)));
  while (
    !(await fetch(url).then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`${script} does not start: ${said}`);
    await sleep(50);
  }
  return { url, child };
}

async function startTargets() {
  const pemPath = makeKey(directory);
  const pem = readFileSync(pemPath);
  const tokens = await signTokens(pem);
  const BENCH_PUBLIC_KEY = createPublicKey(pem).export({ type: 'spki', format: 'pem' });
  const UPSTREAM = (await start('upstream.mjs', {})).url;
  const database = await prepare({ directory: join(directory, 'product'), fixture: fixtureFor(UPSTREAM), pemPath });
  closers.push(database.stop);
  return {
    raw: { isRaw: true, ...(await start('raw-proxy.mjs', { UPSTREAM })) },
    naive: { tokens, ...(await start('naive-proxy.mjs', { UPSTREAM, BENCH_PUBLIC_KEY })) },
    keybearer: { tokens, ...(await start('../dist/main.js', database.env)) },
  };
}

async function cpuOf({ child }) {
  child.send('cpu');
  const [{ user, system }] = await once(child, 'message');
  return user + system;
}

/** CPU time and calls of each target, the rounds of all interleaved. */
async function measure(scenario, era, targets, warmMs = WARM_MS) {
  const runs = ERAS[era].map((name) => {
    const [target, load] = [targets[name], new Load(targets[name], era)];
    return { scenario: scenario.name, era, name, target, load, cpuUs: 0, latencies: [], problems: [] };
  });
  for (const { load } of runs) await load.run(scenario, warmMs);
  for (let round = 0; round < ROUNDS; round++) {
    for (const run of round % 2 === 0 ? runs : runs.toReversed()) {
      const before = await cpuOf(run.target);
      const { latencies, problems } = await run.load.run(scenario, ROUND_MS);
      run.cpuUs += (await cpuOf(run.target)) - before;
      run.latencies.push(...latencies);
      run.problems.push(...problems);
    }
  }
  for (const { load } of runs) await load.close();
  return runs;
}

const perCall = ({ cpuUs, latencies }) => cpuUs / latencies.length;

function toCells(run, all) {
  const { scenario, era, name, latencies, problems } = run;
  const against = (other, otherEra) => {
    const base = all.find((one) => one.scenario === scenario && one.name === other && one.era === otherEra);
    return (perCall(run) / perCall(base)).toFixed(2);
  };
  const perSecond = latencies.length / ((ROUNDS * ROUND_MS) / 1_000);
  const p50 = latencies.sort((a, b) => a - b)[latencies.length >> 1];
  // The SDK proxy speaks only the older era; what it costs there is compared with both.
  const ratios = [against('raw', era), against('naive', 'legacy')];
  return [
    scenario,
    era,
    name,
    perCall(run).toFixed(0),
    ...ratios,
    perSecond.toFixed(0),
    p50.toFixed(1),
    problems.length,
  ];
}

function print(runs) {
  const head = ['scenario', 'era', 'target', 'CPU µs/call', '÷ raw', '÷ naive', 'calls/s', 'p50 ms', 'wrong'];
  const lines = [head, ...runs.map((run) => toCells(run, runs))].map((line) => line.map(String));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const pad = (cell, column) => (column < 3 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]));
  for (const line of lines) console.log(line.map(pad).join('  '));
  const kinds = new Set(
    runs.flatMap(({ name, scenario, problems }) => problems.map((why) => `${name}, ${scenario}: ${why}`)),
  );
  for (const kind of [...kinds].slice(0, 10)) console.log(kind);
}

async function main() {
  const targets = await startTargets();
  // Compilers warm up before anything counts.
  await measure(SCENARIOS[0], 'legacy', targets, HEAT_MS);
  const runs = [];
  for (const era of Object.keys(ERAS)) {
    for (const scenario of SCENARIOS) runs.push(...(await measure(scenario, era, targets)));
  }
  print(runs);
  if (runs.some(({ problems }) => problems.length > 0)) process.exitCode = 1;
}

async function closeAll() {
  for (const close of closers.splice(0).reverse()) await close();
}

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => closeAll().finally(() => process.exit(1)));
try {
  await main();
} finally {
  await closeAll();
}
