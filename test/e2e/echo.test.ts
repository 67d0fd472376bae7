// T12, T23: a server that says its key back, in whatever it says, shows it to nobody.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { OperatorFile } from '../../src/catalog/operator-file.ts';
import { parseOperatorFile } from '../../src/catalog/operator-file.ts';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import type { RawResponse } from '../support/agents/raw-http.ts';
import { anOldSseServer } from '../support/old-sse-server.ts';
import { PAIRINGS, useScene, withKeys } from '../support/scene.ts';
import { type ScriptedCall, startScripted } from '../support/scripted-upstream.ts';
import { errorText, type JsonObject, objectAt, resultText } from '../support/upstreams/message.ts';
import { eventText, startEvents } from '../support/upstreams/responses.ts';
import { foundIn, writtenForms } from '../support/written-forms.ts';

const KEY = 'sk_live+4f/9a"Qz7-echo';
const TEAM = 'team-5d1c-literal-canary';
const SECRETS = { key: KEY, header: TEAM };

const command = fileURLToPath(new URL('../support/stdio/server.mjs', import.meta.url));
let file: OperatorFile | undefined;
const scene = useScene({ operatorFile: () => file });

/** All that a debugging server would repeat: its request's headers, and the key in every form. */
const echoed = (req: IncomingMessage): string =>
  [JSON.stringify(req.headers), ...writtenForms(KEY), ...writtenForms(TEAM)].join(' | ');

const content = (text: string): string =>
  JSON.stringify({ content: [{ type: 'text', text }], [text]: { deep: [text] } });

const ANSWERS: Readonly<Record<string, (call: ScriptedCall) => void>> = {
  result: ({ req, result }) => result(content(echoed(req))),
  error: ({ req, res, id }) => {
    const error = { code: -32000, message: echoed(req), data: { [KEY]: echoed(req) } };
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error }));
  },
  stream: ({ req, res, id, params }) => {
    startEvents(res);
    const token = objectAt(params, '_meta')['progressToken'];
    for (const [method, rest] of [
      ['notifications/progress', { progressToken: token, progress: 1, message: echoed(req) }],
      ['notifications/message', { level: 'info', data: echoed(req) }],
    ] as const)
      res.write(eventText(JSON.stringify({ jsonrpc: '2.0', method, params: rest })));
    res.end(eventText(resultText(id, content(echoed(req)))));
  },
  'stream in small pieces': ({ req, res, id }) => {
    startEvents(res);
    const text = eventText(resultText(id, content(echoed(req))));
    // Each cut falls somewhere else in the key.
    const pieces = text.match(/[^]{1,5}/g) ?? [];
    for (const piece of pieces) res.write(piece);
    res.end();
  },
};

/** Everything that the agent sees of this. */
async function seen(response: RawResponse): Promise<string> {
  const answer = JSON.stringify(await response.answer());
  return [answer, ...(response.stream?.events.map(({ data }) => data) ?? [])].join('\n');
}

function list(req: IncomingMessage): string {
  const tool = { name: 'act', description: echoed(req), inputSchema: { type: 'object', properties: { [KEY]: {} } } };
  return JSON.stringify({ resultType: 'complete', tools: [tool], ttlMs: 0, cacheScope: 'private' });
}

describe.each(PAIRINGS)('for $agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it.each(Object.entries(ANSWERS))('the key is masked in a %s', async (_, onCall) => {
    const upstream = await scene.keep(startScripted({ era, onCall }));
    const tenant = await scene.tenant({ s: withKeys(upstream, { headers: { 'x-team': TEAM } }) });
    await tenant.setSecret('s', 'ada', KEY);
    const agent = await tenant.raw(kind);
    await agent.listTools();
    const params = { name: 's__act', arguments: {}, _meta: { progressToken: 'p' } };
    const text = await seen(await agent.send('tools/call', params));
    expect(upstream.requests.at(-1)?.headers['authorization'], 'the server got it').toBe(`Bearer ${KEY}`);
    expect(text).toContain('[secret]');
    expect(foundIn(text, SECRETS)).toEqual([]);
    expect(foundIn(scene.app.lines.join(''), SECRETS)).toEqual([]);
  });

  it('the key is in no list, and in no row of it', async () => {
    const onOther = (
      message: { method?: string | undefined; id?: unknown } | undefined,
      req: IncomingMessage,
      res: ServerResponse,
    ): boolean => {
      if (message?.method !== 'tools/list') return false;
      res.writeHead(200, { 'content-type': 'application/json' }).end(resultText(message.id as number, list(req)));
      return true;
    };
    const upstream = await scene.keep(startScripted({ era, onOther, onCall: ANSWERS['result']! }));
    const tenant = await scene.tenant({ s: withKeys(upstream, { headers: { 'x-team': TEAM } }) });
    await tenant.setSecret('s', 'ada', KEY);
    const ada = await tenant.raw(kind);
    const bob = await tenant.raw(kind, 'bob');
    const texts = [JSON.stringify(await ada.listTools()), JSON.stringify(await bob.listTools())];
    expect(texts.join('')).toContain('[secret]');
    const rows = JSON.stringify(await scene.app.sql('SELECT * FROM catalogs'));
    expect(rows).toContain('[secret]');
    expect(foundIn([...texts, rows].join(''), SECRETS)).toEqual([]);
  });
});

it('a challenge, an error page and a type that repeat the key end in an error without it', async () => {
  const bad: ((req: IncomingMessage, res: ServerResponse) => void)[] = [
    (req, res) => res.writeHead(401, { 'www-authenticate': `Bearer error="${encodeURIComponent(echoed(req))}"` }).end(),
    (req, res) =>
      res
        .writeHead(403, {
          'www-authenticate': `Bearer error="insufficient_scope", scope="a ${KEY.replaceAll('"', '')}"`,
        })
        .end(echoed(req)),
    (req, res) => res.writeHead(500, { 'content-type': 'text/html' }).end(echoed(req)),
    (req, res) => res.writeHead(200, { 'content-type': `text/${Buffer.from(KEY).toString('hex')}` }).end(echoed(req)),
    (req, res) => res.writeHead(400, { 'content-type': 'application/json' }).end(errorText(7, -32600, echoed(req))),
    (req, res) =>
      res.writeHead(200, { 'content-type': 'application/json' }).end(`{"jsonrpc":"2.0","result":"${echoed(req)}`),
    (_req, res) => res.writeHead(302, { location: `/x?${encodeURIComponent(KEY)}` }).end(),
  ];
  let turn = 0;
  const upstream = await scene.keep(startScripted({ onCall: ({ req, res }) => bad[turn]?.(req, res) }));
  const tenant = await scene.tenant({ s: withKeys(upstream, { headers: { 'x-team': TEAM } }) });
  await tenant.setSecret('s', 'ada', KEY);
  const agent = await tenant.raw('rawLegacy');
  const texts: string[] = [];
  for (; turn < bad.length; turn++) {
    const result = await agent
      .request('tools/call', { name: 's__act', arguments: {} })
      .catch((error: unknown) => ({ error: String(error) }));
    texts.push(JSON.stringify(result));
  }
  expect(upstream.calls).toBeGreaterThanOrEqual(bad.length);
  for (const path of ['servers/s', 'credentials', 'connections'])
    texts.push(JSON.stringify(await scene.app.adminOk('GET', `/tenants/${tenant.id}/${path}`)));
  expect(foundIn([...texts, ...scene.app.lines].join(''), SECRETS)).toEqual([]);
});

it('an SSE server, its stream cut anywhere, shows no key', async () => {
  const upstream = await scene.keep(
    anOldSseServer({
      onMessage: ({ id, method }, session) => {
        if (id === undefined) return;
        const [{ headers }] = upstream.requests as [IncomingMessage];
        const text = JSON.stringify(headers) + writtenForms(KEY).join();
        const result =
          method === 'tools/list'
            ? { tools: [{ name: 'act', description: text, inputSchema: { type: 'object' } }] }
            : { content: [{ type: 'text', text }] };
        const event = `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;
        for (const piece of event.match(/[^]{1,7}/g) ?? []) session.write(piece);
      },
    }),
  );
  const tenant = await scene.tenant({ s: withKeys(upstream, { type: 'sse', headers: { 'x-team': TEAM } }) });
  await tenant.setSecret('s', 'ada', KEY);
  const agent = await tenant.raw('rawModern');
  const texts = [JSON.stringify(await agent.listTools()), JSON.stringify(await agent.callTool('s__act'))];
  expect(upstream.requests.every(({ headers }) => headers.authorization === `Bearer ${KEY}`)).toBe(true);
  for (const text of texts) expect(text).toContain('[secret]');
  expect(foundIn([...texts, ...scene.app.lines].join(''), SECRETS)).toEqual([]);
});

it('a command shows neither its key nor what its file keeps secret, to the agent or to the log', async () => {
  const token = 'file-token-8e21-canary';
  const tenant = await scene.tenant();
  const read = parseOperatorFile(
    JSON.stringify({
      tenant: tenant.id,
      mcpServers: {
        local: {
          command: process.execPath,
          args: [command],
          env: { SERVICE_TOKEN: token, MODE: 'production' },
          credential: { owner: 'principal', kind: 'secret', env: 'API_KEY' },
        },
      },
    }),
    {},
  );
  if (!read.ok) throw new Error('The file does not hold');
  file = read.file;
  await scene.app.refresh(tenant.id);
  await tenant.setSecret('local', 'ada', KEY);
  const agent = await tenant.raw('rawLegacy');
  await eventually('the tools of the command', async () =>
    (await agent.listTools()).tools.some(({ name }) => name === 'local__env'),
  );
  const env = textOf(await agent.callTool('local__env'));
  expect(JSON.parse(env) as JsonObject).toMatchObject({
    API_KEY: '[secret]',
    SERVICE_TOKEN: '[secret]',
    MODE: 'production',
  });
  expect(textOf(await agent.callTool('local__sdrawkcab', { name: 'API_KEY' }))).toBe(
    Array.from(KEY).reverse().join(''),
  );
  await agent.callTool('local__complain', { lines: [...writtenForms(KEY), ...writtenForms(token)] });
  await eventually('the log to have it', () => scene.app.lines.some((line) => line.includes('[secret]')));
  const died = JSON.stringify(await agent.callTool('local__die').catch(String));
  expect(foundIn([env, died, ...scene.app.lines].join(''), { KEY, token })).toEqual([]);
});
