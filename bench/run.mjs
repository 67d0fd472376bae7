// npm run bench: what one call costs in CPU time, beside a proxy that looks at nothing and one written with
// the SDK in an hour. Loopback only, about a minute. CPU time and ratios stand on a busy machine; speed does not.
import { createPublicKey } from 'node:crypto';
import { Bench, cpuOf, here, SCENARIOS } from './bench.mjs';
import { Load } from './load.mjs';

const [HEAT_MS, WARM_MS, ROUND_MS, ROUNDS] = [2_500, 1_000, 800, 2];
const ERAS = { legacy: ['raw', 'naive', 'keybearer'], modern: ['raw', 'keybearer'] };

const bench = new Bench();

async function startTargets() {
  const { pem, tokens } = await bench.keys();
  const BENCH_PUBLIC_KEY = createPublicKey(pem).export({ type: 'spki', format: 'pem' });
  const UPSTREAM = (await bench.start(here('upstream.mjs'), {})).url;
  return {
    raw: { isRaw: true, ...(await bench.start(here('raw-proxy.mjs'), { UPSTREAM })) },
    naive: { tokens, ...(await bench.start(here('naive-proxy.mjs'), { UPSTREAM, BENCH_PUBLIC_KEY })) },
    keybearer: { tokens, ...(await bench.product(here('..'), UPSTREAM)) },
  };
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

await bench.run(main);
