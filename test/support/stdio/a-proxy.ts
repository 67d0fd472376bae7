// A proxy reduced to its commands, in a process of its own, for tests that kill it.
// Arguments: data directory, marker, and the ways of escapes.mjs. Says 'ready' when all run.
import { systemClock } from '../../../src/shared/clock.ts';
import { createStdioDial } from '../../../src/upstream/stdio-dial.ts';
import { aLog, aServer, client, never, none, stdioTransport } from './a-stdio-server.ts';

const [, , dataDir = '', marker = '', ...ways] = process.argv;
const dial = createStdioDial({
  clock: systemClock,
  logger: aLog('silent').logger,
  client,
  parentEnv: { PATH: process.env['PATH'] },
  dataDir,
});
await Promise.all(ways.map((way) => dial(aServer(stdioTransport('escapes.mjs', [way, marker])), none, never())));
setTimeout(() => process.exit(9), 50_000);
process.stdout.write('ready\n');
