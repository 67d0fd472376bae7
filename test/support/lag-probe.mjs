// Loaded into the product before it starts (`node --import`), for tests alone: how long its event loop stood still
// and how much memory it took. It measures where the product runs, so a test's own work does not count.
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const TICK_MS = 5;

const delay = monitorEventLoopDelay({ resolution: TICK_MS });
delay.enable();

/**
 * Time for which this thread could have run and was given no core, as Linux counts it. On a machine that does
 * other work as well it is most of what `monitorEventLoopDelay` shows, and none of the product's doing.
 */
function waitedForCoreMs() {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

let last = { at: performance.now(), waited: waitedForCoreMs() };
let longest = 0;
let peakRss = process.memoryUsage.rss();

function tick() {
  const now = { at: performance.now(), waited: waitedForCoreMs() };
  longest = Math.max(longest, now.at - last.at - TICK_MS - (now.waited - last.waited));
  peakRss = Math.max(peakRss, process.memoryUsage.rss());
  last = now;
}
setInterval(tick, TICK_MS).unref();

process.on('message', (wish) => {
  if (wish === 'begin') {
    // Garbage of what was before is not counted as memory of what comes.
    globalThis.gc?.();
    delay.reset();
    last = { at: performance.now(), waited: waitedForCoreMs() };
    longest = 0;
    peakRss = process.memoryUsage.rss();
  } else tick();
  process.send?.({ ownMs: longest, maxMs: delay.max / 1e6, peakRss, rss: process.memoryUsage.rss() });
});
// The product ends when its work ends, whoever still listens.
process.channel?.unref();
