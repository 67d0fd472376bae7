// An MCP server with one fault: well behaved but for the method that the fault strikes.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BadState, type Strike, type Target } from './fault.ts';
import { type BadMode, faults } from './faults.ts';
import { listen, readBody } from './listener.ts';
import { type JsonObject, parseMessage } from './message.ts';
import { plainAnswer } from './plain-answer.ts';
import type { PoisonName } from './poisoned-tools.ts';
import { sendNothing, sendText } from './responses.ts';
import type { Era } from './revisions.ts';

export type { BadMode } from './faults.ts';
export { PROBE_FAULTS } from './faults.ts';

export interface BadServerOptions {
  /** What the fault strikes; each mode has a sensible default. */
  readonly on?: Target;
  readonly era?: Era;
  /** For the mode poisoned-tools: only these. */
  readonly poison?: readonly PoisonName[];
}

export interface BadServer {
  readonly url: string;
  /** May be changed while it runs: `healthy` makes it well. */
  mode: BadMode;
  readonly seen: BadState['seen'];
  /** How often the fault struck. */
  readonly strikes: number;
  /** Bytes written by the endless modes. */
  readonly bytesSent: number;
  /** Requests that are neither answered to the end nor left. */
  readonly openResponses: number;
  /** What the client answered to the requests that the server sent. */
  readonly answers: readonly JsonObject[];
  readonly sockets: { readonly accepted: number; readonly open: number };
  until(holds: () => boolean, what?: string): Promise<void>;
  close(): Promise<void>;
}

async function serve(state: BadState, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const message = parseMessage(await readBody(req));
  state.saw({
    http: req.method ?? '',
    url: req.url ?? '',
    method: message?.method,
    headers: req.headers,
    body: message?.all,
  });
  if (req.url === '/login')
    return sendText(res, 200, '<!doctype html><title>Sign in</title>', { 'content-type': 'text/html' });
  const { on, fault } = faults[state.mode];
  const target = state.on ?? on;
  const isStruck = target === 'anything' || (message !== undefined && target === message.method);
  if (message === undefined)
    return isStruck ? fault(state.strike({ req, res, message: noMessage })) : sendNothing(res, 405, { allow: 'POST' });
  const strike = { req, res, message };
  if (isStruck) fault(state.strike(strike));
  else plainAnswer(state, strike);
}

const noMessage = { id: undefined, method: undefined, params: {}, all: {} } satisfies Strike['message'];

export async function startBadServer(mode: BadMode, options: BadServerOptions = {}): Promise<BadServer> {
  const state = new BadState(mode, options);
  const listener = await listen((req, res) => {
    state.opened(res);
    serve(state, req, res).catch(() => res.destroy());
  });
  return {
    url: listener.url,
    seen: state.seen,
    answers: state.answers,
    get mode() {
      return state.mode;
    },
    set mode(next) {
      state.mode = next;
    },
    get strikes() {
      return state.strikes;
    },
    get bytesSent() {
      return state.bytesSent;
    },
    get openResponses() {
      return state.openResponses;
    },
    get sockets() {
      return listener.sockets;
    },
    until: (holds, what = 'the server to see it') => state.until(holds, what),
    close: () => listener.close(),
  };
}
