// Two tenants with a server at one URL: whatever either sends there goes over sockets of its own.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { anOldSseServer, type OldMessage, type OldSession } from '../support/old-sse-server.ts';
import { ERAS, type TenantSide, useScene, withKeys } from '../support/scene.ts';
import { startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { type SocketWatch, watchSockets } from '../support/upstreams/socket-watch.ts';

const scene = useScene();

/** One after the other and to and fro, so that each finds the sockets that the other has just left. */
async function callInTurn(tenants: readonly TenantSide[], tool: string): Promise<void> {
  const agents = [];
  for (const tenant of tenants) agents.push(await tenant.raw('rawLegacy', 'ada'));
  for (let turn = 0; turn < 3; turn++)
    for (const agent of agents) expect((await agent.callTool(tool))['isError']).not.toBe(true);
}

function expectApart({ keysBySocket }: SocketWatch, keys: readonly string[]): void {
  for (const key of keys) expect(keysBySocket.some((seen) => seen.has(key))).toBe(true);
  for (const seen of keysBySocket) expect([...seen]).toHaveLength(1);
}

const TOOL = { name: 'hello', inputSchema: { type: 'object' } };

function helloOf({ id, method }: OldMessage, session: OldSession): void {
  if (id === undefined) return;
  const server = { capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } };
  const results: Readonly<Record<string, unknown>> = {
    initialize: { protocolVersion: '2024-11-05', ...server },
    'tools/list': { tools: [TOOL] },
  };
  const result = results[method ?? ''] ?? { content: [{ type: 'text', text: 'hello' }] };
  session.event(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

async function twoWithKeys(url: string, more: object): Promise<readonly TenantSide[]> {
  const tenants: TenantSide[] = [];
  for (const key of ['key-ada', 'key-bob']) {
    const tenant = await scene.tenant({ same: withKeys({ url }, { ...more }) });
    await tenant.setSecret('same', 'ada', key);
    tenants.push(tenant);
  }
  return tenants;
}

const BEARERS = ['Bearer key-ada', 'Bearer key-bob'];

describe('two tenants share no socket', () => {
  it.each(ERAS)('to a %s server', async (era) => {
    const watch = await scene.keep(watchSockets((await scene.keyed(era)).url));
    await callInTurn(await twoWithKeys(watch.url, {}), 'same__whoami');
    expectApart(watch, BEARERS);
  });

  it('to a server of the old transport, neither for its stream nor for what is posted', async () => {
    const old = await scene.keep(anOldSseServer({ onMessage: helloOf }));
    const watch = await scene.keep(watchSockets(old.url));
    await callInTurn(await twoWithKeys(watch.url, { type: 'sse' }), 'same__hello');
    expectApart(watch, BEARERS);
  });

  it('to a sign-in server, where the secrets of their clients go', async () => {
    const as = await scene.keep(startScriptedAs());
    const watch = await scene.keep(watchSockets(as.issuer));
    const mcp = await scene.keep(startGuardedMcp({ era: 'modern', tokens: as }));
    const keys: string[] = [];
    for (const clientId of ['us-here', 'us-there']) {
      as.addClient({ clientId, secret: 'our secret' });
      keys.push(`Basic ${Buffer.from(`${clientId}:our+secret`).toString('base64')}`);
      const place = { issuer: as.issuer, authorizationEndpoint: `${as.issuer}/authorize`, resource: mcp.url };
      const oauth = {
        ...place,
        tokenEndpoint: new URL('/token', watch.url).href,
        clientId,
        clientSecret: 'our secret',
      };
      const tenant = await scene.tenant({
        notes: { url: mcp.url, credential: { kind: 'client_credentials', oauth: { ...oauth, scopes: ['read'] } } },
      });
      const agent = await tenant.raw('rawLegacy', 'ada');
      expect(textOf(await agent.callTool('notes__whoami'))).toContain(`who=${clientId};`);
    }
    expectApart(watch, keys);
  });
});
