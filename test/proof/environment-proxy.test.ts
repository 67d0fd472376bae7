// Proxy variables of the environment are for others: whatever they name would see every key, and could answer for everybody.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { connectRaw } from '../support/agents/raw-agent.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { linkIn } from '../support/sign-in.ts';
import { startKeyedServer } from '../support/upstreams/keyed-server.ts';
import { buildProduct, type Product, startProduct } from './product.ts';

const ADMIN_KEY = 'admin-key-of-this-test-and-no-other';
const closing: (() => unknown)[] = [];

/** Hangs up on everybody, and counts them. */
async function aListener(): Promise<{ readonly port: number; heard: number }> {
  const listener = { port: 0, heard: 0 };
  const server: Server = createServer((socket) => {
    listener.heard++;
    socket.on('error', () => undefined).destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  listener.port = (server.address() as AddressInfo).port;
  closing.push(() => server.close());
  return listener;
}

let database: TestDatabase;
let product: Product;
let proxy: Awaited<ReturnType<typeof aListener>>;
beforeAll(async () => {
  await buildProduct();
  database = await createTestDatabase();
  proxy = await aListener();
  const address = `http://127.0.0.1:${proxy.port}`;
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
  product = await startProduct({
    DATABASE_URL: database.url,
    KEYBEARER_ADMIN_KEY: ADMIN_KEY,
    KEYBEARER_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    KEYBEARER_EGRESS_ALLOW: '127.0.0.0/8',
    KEYBEARER_EGRESS_ALLOW_HTTP: 'true',
    NODE_USE_ENV_PROXY: '1',
    NO_PROXY: '',
    ...Object.fromEntries(names.map((name) => [name, address])),
  });
}, 120_000);
afterAll(async () => {
  await product?.end('SIGTERM');
  for (const close of closing.reverse()) await close();
  await database?.close();
});

async function admin(method: string, path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${product.url}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(300);
  return text === '' ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>);
}

it('calls, sign-ins and key sets go where they go, and not to a proxy that the environment names', async () => {
  const open = await startKeyedServer({ era: 'modern', keys: [], requireKey: false });
  const as = await startScriptedAs();
  const guarded = await startGuardedMcp({ era: 'modern', tokens: as });
  closing.push(
    () => open.close(),
    () => as.close(),
    () => guarded.close(),
  );
  const keys = await aListener();
  await admin('POST', '/tenants', { id: 'acme' });
  const { key } = await admin('POST', '/tenants/acme/keys', { name: 'test', mayActFor: '*' });
  await admin('PUT', '/tenants/acme/servers/open', { url: open.url });
  const credential = { owner: 'principal', kind: 'oauth' };
  await admin('PUT', '/tenants/acme/servers/guarded', { url: guarded.url, credential });
  await admin('POST', '/tenants/acme/issuers', {
    issuer: 'https://idp.example.com',
    jwksUri: `https://127.0.0.1:${keys.port}/keys`,
    audience: 'kb',
  });
  const mcp = `${product.url}/mcp`;
  const agent = await connectRaw('rawModern', mcp, {
    authorization: `Bearer ${String(key)}`,
    'keybearer-principal': 'ada',
  });
  closing.push(() => agent.close());

  expect(textOf(await agent.callTool('open__whoami'))).toMatch(/^who=/);
  await new Browser().open(linkIn(await agent.callTool('guarded__connect')));
  await guarded.until(() => guarded.metadataReads > 0 && as.seen.metadata.length > 0, 'its documents to be read');
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const claims = { iss: 'https://idp.example.com', sub: 'ada', aud: 'kb', iat: 1, exp: 9e9 };
  const token = `${encode({ alg: 'ES256', kid: 'k', typ: 'at+jwt' })}.${encode(claims)}.${'A'.repeat(86)}`;
  const response = await fetch(mcp, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
  expect(response.status).toBeGreaterThanOrEqual(400);
  expect(keys.heard, 'asked for its keys').toBeGreaterThan(0);
  expect(proxy.heard).toBe(0);
});
