// Takes an admitted request to the method that answers it, and knows when its caller has left or cancelled.
import type { Exchange } from './keyed-exchange.ts';
import { initialize } from './keyed-legacy.ts';
import { listTools, toolNames } from './keyed-lists.ts';
import { discover } from './keyed-modern.ts';
import type { KeyedState } from './keyed-state.ts';
import { openListenStream } from './keyed-streams.ts';
import { callTool } from './keyed-tools.ts';
import type { Id } from './message.ts';

export const runningKey = (session: string, id: Id): string => `${session} ${JSON.stringify(id)}`;

/** A cancelled call gets no answer, and its response stays open: whoever cancelled has to hang up. */
export function cancel(state: KeyedState, session: string, id: Id): void {
  const stop = state.running.get(runningKey(session, id));
  if (stop === undefined) return;
  state.count('cancelled');
  stop();
}

function watch(exchange: Exchange): void {
  const { state, session, id, res } = exchange.asked;
  const key = runningKey(session, id);
  const stop = (): void => {
    exchange.isStopped = true;
  };
  state.running.set(key, stop);
  res.once('close', () => {
    if (state.running.get(key) === stop) state.running.delete(key);
    if (!res.writableFinished) state.count('aborted');
    stop();
  });
}

function call(exchange: Exchange): void {
  const { state, principal, message } = exchange.asked;
  state.count('calls');
  if (!toolNames(state, principal).includes(String(message.params['name'])))
    return exchange.error(-32602, 'Unknown tool');
  watch(exchange);
  callTool(exchange);
}

export function answer(exchange: Exchange): void {
  const { state, message, era } = exchange.asked;
  switch (`${era} ${message.method}`) {
    case 'legacy initialize':
      return initialize(exchange);
    case 'modern server/discover':
      return discover(exchange);
    case 'modern subscriptions/listen':
      return openListenStream(exchange);
    case 'legacy ping':
      return exchange.result('{}');
    case 'legacy tools/list':
    case 'modern tools/list':
      state.count('lists');
      return listTools(exchange);
    case 'legacy tools/call':
    case 'modern tools/call':
      return call(exchange);
    default:
      if (state.options.also !== undefined) {
        watch(exchange);
        if (state.options.also.answer(exchange)) return;
      }
      // 2026-07-28 §transports/streamable-http: method not found travels as 404.
      return exchange.error(-32601, 'Method not found', undefined, era === 'modern' ? 404 : 200);
  }
}
