// Wrapper: every operation counts against the share of its tenant and principal before it begins. Throws at
// once rather than giving a promise, as a promise more on each call would cost more than the counting.
import type { Shares } from '../limits/shares.ts';
import type { Operations } from './operations.ts';

export function limited({ callTool, listTools }: Operations, shares: Shares): Operations {
  return {
    callTool(caller, call, signal) {
      shares.take(caller);
      return callTool(caller, call, signal);
    },
    listTools(caller, scope, signal) {
      shares.take(caller);
      return listTools(caller, scope, signal);
    },
  };
}
