// All the ways in which a bad server can be bad, by name.
import type { FaultEntry } from './fault.ts';
import { httpFaults } from './faults-http.ts';
import { messageFaults } from './faults-message.ts';
import { socketFaults } from './faults-socket.ts';
import { eventFaults } from './faults-sse.ts';
import { plainAnswer } from './plain-answer.ts';
import { poisonedTools } from './poisoned-tools.ts';
import { serverRequests } from './server-requests.ts';

const healthy: FaultEntry = { on: 'anything', fault: (strike) => plainAnswer(strike.state, strike) };

const all = {
  healthy,
  ...socketFaults,
  ...httpFaults,
  ...messageFaults,
  ...eventFaults,
  ...serverRequests,
  'poisoned-tools': poisonedTools,
};

export type BadMode = keyof typeof all;
export const faults: Readonly<Record<BadMode, FaultEntry>> = all;

/** How servers of the legacy era answer the modern probe, none of which means that they are broken (B135). Strike on server/discover. */
export const PROBE_FAULTS = [
  'rpc-32601',
  'rpc-32600',
  'rpc-32602',
  'rpc-32000',
  'http-400-text',
  'http-404',
  'http-405',
  'http-406',
  'http-500',
  'empty-200',
  'hang',
] as const satisfies readonly BadMode[];
