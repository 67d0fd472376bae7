// An upstream of the 2024-11-05 transport: one stream for each session, and a key wanted with every request.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { questionsTo } from '../support/upstreams/keyed-exchange.ts';
import type { Seen } from '../support/upstreams/keyed-state.ts';
import { listen, readBody } from '../support/upstreams/listener.ts';
import { isObject, type JsonObject, objectAt } from '../support/upstreams/message.ts';
import { Watched } from '../support/upstreams/watched.ts';
import { type Far, ownTools } from './far.ts';

interface OldSession {
  readonly id: string;
  readonly who: string;
  readonly res: ServerResponse;
  readonly running: Map<unknown, NodeJS.Timeout | undefined>;
}

class OldUpstream extends Watched {
  readonly keys = new Map<string, string>();
  readonly seen: Seen[] = [];
  readonly executed = new Map<string, number>();
  readonly counters = { crossed: 0, aborted: 0 };
  readonly sessions = new Map<string, OldSession>();
  readonly tools = new Set(['whoami', 'slow', 'progress']);

  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const text = await readBody(req);
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    const who = this.keys.get(String(req.headers.authorization).replace(/^Bearer /, ''));
    const method = isObject(body) ? (body['method'] as string | undefined) : undefined;
    const { headers } = req;
    this.seen.push({ http: req.method ?? '', method, principal: who, headers, body, text, socket: 0 });
    if (who === undefined) res.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end();
    else if (req.method === 'GET') this.#open(res, who);
    else this.#hear(req, res, who, body);
    this.changed();
  }

  drop(): void {
    for (const { res } of this.sessions.values()) res.destroy();
    this.sessions.clear();
  }

  announce(): void {
    for (const session of this.sessions.values()) say(session, { method: 'notifications/tools/list_changed' });
  }

  #open(res: ServerResponse, who: string): void {
    const session: OldSession = { id: randomUUID(), who, res, running: new Map() };
    this.sessions.set(session.id, session);
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(`event: endpoint\ndata: ?session=${session.id}\n\n`);
    res.on('close', () => {
      this.sessions.delete(session.id);
      this.counters.aborted += session.running.size;
      for (const timer of session.running.values()) clearTimeout(timer);
      this.changed();
    });
  }

  #hear(req: IncomingMessage, res: ServerResponse, who: string, body: unknown): void {
    const session = this.sessions.get(new URL(req.url ?? '', 'http://old').searchParams.get('session') ?? '');
    if (session === undefined || session.who !== who) {
      this.counters.crossed += session === undefined ? 0 : 1;
      res.writeHead(404).end();
      return;
    }
    res.writeHead(202).end('Accepted');
    if (isObject(body)) this.#answer(session, body);
  }

  #answer(session: OldSession, body: JsonObject): void {
    const { id, method } = body;
    const params = objectAt(body, 'params');
    if (method === 'initialize')
      say(session, {
        id,
        result: {
          protocolVersion: '2024-11-05',
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'old', version: '1' },
        },
      });
    else if (method === 'tools/list') {
      const names = [...this.tools, ...ownTools(session.who)];
      say(session, { id, result: { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) } });
    } else if (method === 'notifications/cancelled') this.#cancel(session, params['requestId']);
    else if (method === 'tools/call') this.#call(session, id, params);
    else if (method === 'ping') say(session, { id, result: {} });
  }

  #cancel(session: OldSession, id: unknown): void {
    if (!session.running.has(id)) return;
    clearTimeout(session.running.get(id));
    session.running.delete(id);
    this.counters.aborted += 1;
  }

  #call(session: OldSession, id: unknown, params: JsonObject): void {
    const { who } = session;
    const name = String(params['name']);
    const args = objectAt(params, 'arguments');
    this.executed.set(name, (this.executed.get(name) ?? 0) + 1);
    const answer = (): void => {
      session.running.delete(id);
      say(session, { id, result: { content: [], structuredContent: { who, session: session.id, args } } });
    };
    if (name === 'progress') chatter(session, params, args);
    if (name === 'slow') session.running.set(id, setTimeout(answer, Number(args['ms'])));
    else answer();
  }
}

/** All that a server may say while a call runs. */
function chatter(session: OldSession, params: JsonObject, args: JsonObject): void {
  const { who } = session;
  const progressToken = objectAt(params, '_meta')['progressToken'];
  const total = Number(args['count'] ?? 0);
  for (let progress = 1; progress <= total; progress += 1)
    say(session, {
      method: 'notifications/progress',
      params: { progressToken, progress, total, message: `${who} ${progress}` },
    });
  if (args['chatty'] === true)
    for (const { method, params } of questionsTo(who))
      say(session, { id: `${method} of ${String(args['question'])}`, method, params });
}

function say({ res }: OldSession, message: JsonObject): void {
  if (!res.destroyed) res.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
}

export async function startOldUpstream(): Promise<Far> {
  const old = new OldUpstream();
  const listener = await listen((req, res) => {
    old.serve(req, res).catch(() => res.destroy());
  });
  const { keys, seen, executed, counters } = old;
  return {
    url: listener.url,
    keys,
    seen,
    executed,
    counters,
    addTool: (name) => {
      old.tools.add(name);
      old.announce();
    },
    removeTool: (name) => {
      old.tools.delete(name);
      old.announce();
    },
    until: (holds, what = 'the old server to see it') => old.until(holds, what),
    restart: () => old.drop(),
    close: () => {
      old.drop();
      return listener.close();
    },
  };
}
