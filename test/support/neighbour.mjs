// A quiet tenant in a process of its own, its server included: one call after another, each timed. Started by
// `under-attack.ts` with tsx; what it is told and what it says are messages of the process.
import { readFileSync } from 'node:fs';
import { connectRaw } from './agents/raw-agent.ts';
import { startScripted } from './scripted-upstream.ts';

const MESSAGE_EACH = 20;

const server = await startScripted({
  era: 'modern',
  onCall: ({ result }) => result('{"resultType":"complete","content":[{"type":"text","text":"still here"}]}'),
});

let isCalling = false;
let took = [];

/** How long a process's main thread could have run and was given no core, in ms, as Linux counts it. */
function waitedForCore(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/**
 * Time on the wall, less what the machine's other work took of it from us and from the product. What the product
 * spends on somebody else stays in.
 */
async function timed(productPid, call) {
  const [from, waited] = [performance.now(), waitedForCore(productPid) + waitedForCore('self')];
  const result = await call();
  const wait = waitedForCore(productPid) + waitedForCore('self') - waited;
  took.push(Math.max(0, performance.now() - from - wait));
  return result;
}

async function keepCalling({ url, headers, tool, productPid }) {
  const agent = await connectRaw('rawModern', url, headers);
  for (let n = 0; n < 100; n++) await agent.callTool(tool);
  process.send({ kind: 'ready' });
  for (;;) {
    if (!isCalling) {
      await new Promise((resolve) => process.once('message', resolve));
      continue;
    }
    const result = await timed(productPid, () => agent.callTool(tool));
    if (result.content?.[0]?.text !== 'still here') throw new Error(`The neighbour got ${JSON.stringify(result)}`);
    if (took.length % MESSAGE_EACH === 0) process.send({ kind: 'made', calls: took.length });
  }
}

process.on('message', (wish) => {
  if (wish.kind === 'connect') void keepCalling(wish);
  if (wish.kind === 'begin') {
    took = [];
    isCalling = true;
  }
  if (wish.kind === 'end') {
    isCalling = false;
    process.send({ kind: 'took', took });
  }
});
process.on('unhandledRejection', (error) => {
  console.error(error);
  process.exit(1);
});
process.send({ kind: 'listening', url: server.url });
