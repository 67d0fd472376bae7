// npm run bench:against -- CHECKOUT [processes] [scenario...]: what one call costs in CPU time, in this checkout and in
// another one of the same product, built as well (`npm ci && npm run build` there). Of each so many processes, their
// rounds interleaved; the median of the rounds, then of the processes: two processes of the same build differ.
import { resolve } from 'node:path';
import { Bench, cpuOf, here, SCENARIOS } from './bench.mjs';
import { Load } from './load.mjs';

const [WARM_MS, ROUND_MS, ROUNDS] = [1_500, 500, 12];
const [other, processes = '2', ...wanted] = process.argv.slice(2);
if (other === undefined) throw new Error('Name the checkout to compare with.');

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

async function measure(scenario, era, targets) {
  const runs = targets.map((target) => ({ ...target, load: new Load(target, era), perCall: [], wrong: 0 }));
  for (const { load } of runs) await load.run(scenario, WARM_MS);
  for (let round = 0; round < ROUNDS; round++) {
    for (const run of round % 2 === 0 ? runs : runs.toReversed()) {
      const before = await cpuOf(run);
      const { latencies, problems } = await run.load.run(scenario, ROUND_MS);
      run.perCall.push(((await cpuOf(run)) - before) / latencies.length);
      run.wrong += problems.length;
    }
  }
  for (const { load } of runs) await load.close();
  return runs;
}

const bench = new Bench();
await bench.run(async () => {
  const { tokens } = await bench.keys();
  const { url: upstream } = await bench.start(here('upstream.mjs'), {});
  const targets = [];
  for (let nth = 0; nth < Number(processes); nth++)
    for (const [name, checkout] of Object.entries({ other: resolve(other), this: here('..') }))
      targets.push({ name, tokens, ...(await bench.product(checkout, upstream)) });
  console.log('scenario            era     other   this  this/other  wrong   (CPU us per call; of each process)');
  for (const scenario of SCENARIOS.filter(
    ({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
  ))
    for (const era of ['legacy', 'modern']) {
      const runs = await measure(scenario, era, targets);
      const of = (name) => runs.filter((run) => run.name === name).map(({ perCall }) => median(perCall));
      const [before, after] = [median(of('other')), median(of('this'))];
      const wrong = runs.reduce((sum, run) => sum + run.wrong, 0);
      const each = `${of('other').map(Math.round)} / ${of('this').map(Math.round)}`;
      const cells = [
        before.toFixed(0).padStart(6),
        after.toFixed(0).padStart(6),
        (after / before).toFixed(3).padStart(11),
      ];
      console.log(scenario.name.padEnd(19), era, ...cells, String(wrong).padStart(6), ` ${each}`);
      if (wrong > 0) process.exitCode = 1;
    }
});
