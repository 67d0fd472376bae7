// Faults below HTTP's answers: silence, broken connections, bodies without end.
import type { Strike } from './fault.ts';
import { startEvents } from './responses.ts';

const CHUNK = Buffer.alloc(65_536, 'x');

/** Writes for as long as the other side reads. */
function pour({ res, state }: Pick<Strike, 'res' | 'state'>): void {
  while (!res.destroyed) {
    state.pour(CHUNK.length);
    if (!res.write(CHUNK)) return void res.once('drain', () => pour({ res, state }));
  }
}

export const socketFaults = {
  /** Takes the request and says nothing, ever. */
  hang: { on: 'tools/call', fault: () => {} },
  'hang-after-headers': { on: 'tools/call', fault: ({ res }: Strike) => startEvents(res) },
  /** Declares 1000 bytes, sends 100, dies. */
  'die-mid-answer': {
    on: 'tools/call',
    fault: ({ res, good }: Strike) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 });
      res.write(`{"jsonrpc":"2.0","result":${good}`.padEnd(100).slice(0, 100), () => res.destroy());
    },
  },
  /** A TCP reset before the status line. */
  reset: { on: 'tools/call', fault: ({ req }: Strike) => void req.socket.resetAndDestroy() },
  'endless-body': {
    on: 'tools/call',
    fault: (strike: Strike) => {
      strike.res.writeHead(200, { 'content-type': 'application/json' });
      strike.res.write('{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"');
      pour(strike);
    },
  },
  /** One event that never ends. */
  'endless-event': {
    on: 'tools/call',
    fault: (strike: Strike) => {
      startEvents(strike.res);
      strike.res.write('data: {"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"');
      pour(strike);
    },
  },
} as const;
