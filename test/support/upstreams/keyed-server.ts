// An MCP server over HTTP that wants a key per principal, says whose key it saw, and remembers everything.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answer, cancel } from './keyed-answer.ts';
import { Exchange } from './keyed-exchange.ts';
import { admitSession, endSession } from './keyed-legacy.ts';
import { admitModern } from './keyed-modern.ts';
import type { KeyedServerOptions, KeyedSettings } from './keyed-options.ts';
import { type Counters, KeyedState, type Seen } from './keyed-state.ts';
import { announceListChange, endStreams, openGetStream } from './keyed-streams.ts';
import { listen, readBody } from './listener.ts';
import { errorText, type Message, objectAt, parseMessage } from './message.ts';
import { sendNothing, sendText } from './responses.ts';
import { type Era, MODERN, VERSION_KEY } from './revisions.ts';

export interface KeyedServer {
  readonly url: string;
  /** key → principal; change it to rotate or revoke. */
  readonly keys: Map<string, string>;
  readonly settings: KeyedSettings;
  readonly seen: readonly Seen[];
  readonly counters: Readonly<Counters>;
  readonly executed: ReadonlyMap<string, number>;
  readonly sessions: ReadonlyMap<string, { readonly principal: string }>;
  readonly sockets: { readonly accepted: number; readonly open: number };
  addTool(name: string): void;
  removeTool(name: string): void;
  /** Resolves once `holds`; looked at after each thing seen, for five seconds. */
  until(holds: () => boolean, what?: string): Promise<void>;
  /** Forgets all sessions and drops the open streams, as a new process would. */
  restart(): void;
  endStreams(): void;
  close(): Promise<void>;
}

function principalOf(state: KeyedState, req: IncomingMessage): string | undefined {
  const { header = 'authorization', scheme = 'Bearer' } = state.options;
  const value = String(req.headers[header.toLowerCase()] ?? '');
  const prefix = scheme === '' ? '' : `${scheme} `;
  const isSchemed = value.toLowerCase().startsWith(prefix.toLowerCase());
  return (
    (isSchemed ? state.keys.get(value.slice(prefix.length)) : undefined) ??
    (state.settings.requireKey ? undefined : 'anonymous')
  );
}

function eraOf(state: KeyedState, req: IncomingMessage, message: Message): Era {
  if (state.options.era !== 'both') return state.options.era;
  const isModern =
    objectAt(message.params, '_meta')[VERSION_KEY] !== undefined || req.headers['mcp-protocol-version'] === MODERN;
  return isModern ? 'modern' : 'legacy';
}

/** Streamable HTTP: a POST takes both kinds of answer and sends JSON. */
function isNegotiable(req: IncomingMessage, res: ServerResponse): boolean {
  const accept = String(req.headers.accept);
  if (!accept.includes('application/json') || !accept.includes('text/event-stream')) {
    sendText(
      res,
      406,
      errorText(null, -32000, 'Not Acceptable: Client must accept both application/json and text/event-stream'),
    );
    return false;
  }
  if (String(req.headers['content-type']).startsWith('application/json')) return true;
  sendText(res, 415, errorText(null, -32000, 'Unsupported Media Type: Content-Type must be application/json'));
  return false;
}

function post(state: KeyedState, req: IncomingMessage, res: ServerResponse, principal: string, message: Message): void {
  const era = eraOf(state, req, message);
  const id = message.id ?? 0;
  const exchange = (session: string): Exchange =>
    new Exchange({ state, req, res, principal, message, id, era, session });
  if (era === 'modern') {
    if (message.id === undefined) return sendNothing(res, 202);
    const asked = exchange('-');
    return admitModern(asked) ? answer(asked) : undefined;
  }
  if (message.method === 'initialize') return answer(exchange('-'));
  const session = admitSession(state, req, res, principal, message.id ?? null);
  if (session === undefined) return;
  if (message.id !== undefined && message.method !== undefined) return answer(exchange(session.id));
  const cancelled = message.params['requestId'];
  if (message.method === 'notifications/cancelled' && (typeof cancelled === 'string' || typeof cancelled === 'number'))
    cancel(state, session.id, cancelled);
  sendNothing(res, 202);
}

/** GET and DELETE exist in the legacy era only. */
function bodyless(state: KeyedState, req: IncomingMessage, res: ServerResponse, principal: string): void {
  const isOffered =
    state.options.era !== 'modern' && (req.method === 'DELETE' || (req.method === 'GET' && state.settings.listChanged));
  if (!isOffered) return sendNothing(res, 405, { allow: 'POST' });
  const session = admitSession(state, req, res, principal, null);
  if (session === undefined) return;
  if (req.method === 'DELETE') endSession(state, session, res);
  else openGetStream(state, res);
}

async function serve(state: KeyedState, req: IncomingMessage, res: ServerResponse, socket: number): Promise<void> {
  const text = await readBody(req);
  const message = parseMessage(text);
  const principal = principalOf(state, req);
  state.saw({
    http: req.method ?? '',
    method: message?.method,
    principal,
    headers: req.headers,
    body: message?.all,
    text,
    socket,
  });
  if (principal === undefined) {
    state.count('unauthorized');
    return sendText(res, 401, '{"error":"invalid_token"}', { 'www-authenticate': state.settings.challenge });
  }
  if (req.method !== 'POST') return bodyless(state, req, res, principal);
  if (!isNegotiable(req, res)) return;
  if (message === undefined) return sendText(res, 400, errorText(null, -32700, 'Parse error'));
  post(state, req, res, principal, message);
}

export async function startKeyedServer(options: KeyedServerOptions): Promise<KeyedServer> {
  const state = new KeyedState(options);
  const listener = await listen((req, res) => {
    // A caller that leaves while sending its body has nothing to be answered.
    serve(state, req, res, listener.socketNumber(req.socket)).catch(() => res.destroy());
  });
  const { keys, settings, seen, counters, executed, sessions } = state;
  return {
    url: listener.url,
    keys,
    settings,
    seen,
    counters,
    executed,
    sessions,
    get sockets() {
      return listener.sockets;
    },
    addTool: (name) => {
      state.addTool(name);
      announceListChange(state);
    },
    removeTool: (name) => {
      state.removeTool(name);
      announceListChange(state);
    },
    until: (holds, what = 'the server to see it') => state.until(holds, what),
    restart: () => {
      sessions.clear();
      for (const { res } of state.subscribers) res.destroy();
    },
    endStreams: () => endStreams(state),
    close: () => listener.close(),
  };
}
