// A small MCP server of either era that wants no key and whose answer to each tool call the test decides.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen, readBody } from './upstreams/listener.ts';
import { errorText, type Id, type JsonObject, type Message, parseMessage, resultText } from './upstreams/message.ts';
import { sendNothing, sendText } from './upstreams/responses.ts';
import { type Era, LEGACY, MODERN } from './upstreams/revisions.ts';
import { Watched } from './upstreams/watched.ts';

export interface ScriptedCall {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly id: Id;
  readonly params: JsonObject;
  /** 1 for the first call of all. */
  readonly nth: number;
  /** Answers with this result, JSON text. */
  result(json: string): void;
}

export interface ScriptedOptions {
  readonly era?: Era;
  readonly tools?: readonly string[];
  /** Beside tools. */
  readonly capabilities?: JsonObject;
  readonly onCall: (call: ScriptedCall) => void;
  /** Answers anything but a call itself when it gives true. */
  readonly onOther?: (message: Message | undefined, req: IncomingMessage, res: ServerResponse) => boolean;
}

export interface ScriptedUpstream {
  readonly url: string;
  /** JSON-RPC methods in the order they came; HTTP methods where there was no message. */
  readonly methods: readonly string[];
  readonly messages: readonly Message[];
  readonly requests: readonly IncomingMessage[];
  readonly calls: number;
  until(holds: () => boolean, what?: string): Promise<void>;
  forgetSessions(): void;
  close(): Promise<void>;
}

class Script extends Watched {
  readonly methods: string[] = [];
  readonly messages: Message[] = [];
  readonly requests: IncomingMessage[] = [];
  readonly sessions = new Set<string>();
  calls = 0;
}

const serverInfo = { name: 'scripted', version: '1.0.0' };

export async function startScripted(options: ScriptedOptions): Promise<ScriptedUpstream> {
  const script = new Script();
  const listener = await listen((req, res) => void serve(script, options, req, res).catch(() => res.destroy()));
  return {
    url: listener.url,
    methods: script.methods,
    messages: script.messages,
    requests: script.requests,
    get calls() {
      return script.calls;
    },
    until: (holds, what = 'the upstream to see it') => script.until(holds, what),
    forgetSessions: () => script.sessions.clear(),
    close: () => listener.close(),
  };
}

async function serve(
  script: Script,
  options: ScriptedOptions,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const message = parseMessage(await readBody(req));
  script.requests.push(req);
  if (message !== undefined) script.messages.push(message);
  script.methods.push(message?.method ?? req.method ?? '');
  if (message?.method === 'tools/call') script.calls++;
  script.changed();
  if (message?.method !== 'tools/call' && options.onOther?.(message, req, res) === true) return;
  if (message === undefined) return sendNothing(res, req.method === 'DELETE' ? 204 : 405);
  answer(script, options, message, req, res);
}

function answer(
  script: Script,
  { era = 'legacy', tools = ['act'], capabilities: more = {}, onCall }: ScriptedOptions,
  message: Message,
  req: IncomingMessage,
  res: ServerResponse,
): void {
  const { id, method, params } = message;
  if (id === undefined || method === undefined) return sendNothing(res, 202);
  const send = (json: string, headers = {}): void => sendText(res, 200, resultText(id, json), headers);
  const capabilities = { tools: {}, ...more };
  const typed = era === 'modern' ? { resultType: 'complete' } : {};
  const isKnown = era === 'modern' || script.sessions.has(String(req.headers['mcp-session-id']));
  if (method === 'initialize' && era === 'legacy') {
    const session = randomUUID();
    script.sessions.add(session);
    const result = { protocolVersion: LEGACY[0], capabilities, serverInfo };
    send(JSON.stringify(result), { 'mcp-session-id': session });
  } else if (method === 'server/discover' && era === 'modern') {
    send(JSON.stringify({ ...typed, supportedVersions: [MODERN], capabilities }));
  } else if (req.headers['mcp-session-id'] === undefined && era === 'legacy') {
    sendText(res, 400, errorText(id, -32000, 'Bad Request: Mcp-Session-Id header is required'));
  } else if (!isKnown) sendText(res, 404, errorText(id, -32001, 'Session not found'));
  else if (method === 'tools/list') {
    const list = tools.map((name) => ({ name, inputSchema: { type: 'object' } }));
    send(JSON.stringify({ ...typed, tools: list, ...(era === 'modern' ? { ttlMs: 0, cacheScope: 'private' } : {}) }));
  } else if (method === 'tools/call') onCall({ req, res, id, params, nth: script.calls, result: send });
  else sendText(res, 200, errorText(id, -32601, 'Method not found'));
}
