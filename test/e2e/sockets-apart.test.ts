// Two tenants with a server at one URL: whatever either sends there goes over sockets of its own.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import type { DialTarget } from '../../src/upstream/egress/dial.ts';
import { createNetDial } from '../../src/upstream/egress/dial.ts';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import { anOldSseServer, type OldMessage, type OldSession } from '../support/old-sse-server.ts';
import { ERAS, type TenantSide, useScene, withKeys, without } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { startOidcAs } from '../support/sign-in/oidc-as.ts';
import { startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { linkIn } from '../support/sign-in.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import { SocketKeys } from '../support/upstreams/socket-keys.ts';
import { watchSockets } from '../support/upstreams/socket-watch.ts';
import { CA, Network } from '../upstream/egress/a-network.ts';

const scene = useScene();

/** One after the other and to and fro, so that each finds the sockets that the other has just left. */
async function callInTurn(tenants: readonly TenantSide[], tool: string): Promise<void> {
  const agents = [];
  for (const tenant of tenants) agents.push(await tenant.raw('rawLegacy', 'ada'));
  for (let turn = 0; turn < 3; turn++)
    for (const agent of agents) expect((await agent.callTool(tool))['isError']).not.toBe(true);
}

function expectApart({ keysBySocket }: Pick<SocketKeys, 'keysBySocket'>, keys: readonly string[]): void {
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

function withClientCredentials(issuer: string, resource: string, watched: string, clientId: string): JsonObject {
  const place = { issuer, authorizationEndpoint: `${issuer}/authorize`, resource };
  const client = { clientId, clientSecret: 'our secret', scopes: ['read'] };
  const oauth = { ...place, ...client, tokenEndpoint: new URL('/token', watched).href };
  return { url: resource, credential: { kind: 'client_credentials', oauth } };
}

/** What nobody but the proxy asks an identity provider. */
const OF_THE_PROXY = /^\/(?:\.well-known|token|jwks)\b/;

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

  it('to a server of the old transport whose streams end, and leave their sockets', async () => {
    const streams = new SocketKeys();
    const old = await scene.keep(anOldSseServer({ onMessage: helloOf }));
    const watch = await scene.keep(
      watchSockets(old.url, ({ method, socket, headers }) => {
        if (method === 'GET') streams.note(socket, headers.authorization);
        return false;
      }),
    );
    // The second has no stream yet while the first has one: else each would find its own socket again.
    for (const key of ['key-ada', 'key-bob']) {
      const tenant = await scene.tenant({ same: withKeys(watch, { type: 'sse' }) });
      await tenant.setSecret('same', 'ada', key);
      const agent = await tenant.raw('rawLegacy', 'ada');
      expect((await agent.callTool('same__hello'))['isError']).not.toBe(true);
      old.endStreams();
      await eventually('the streams to end', () => old.openStreams() === 0);
    }
    expectApart(streams, BEARERS);
  });

  it('to a sign-in server, where the secrets of their clients go', async () => {
    const as = await scene.keep(startScriptedAs());
    const watch = await scene.keep(watchSockets(as.issuer));
    const mcp = await scene.keep(startGuardedMcp({ era: 'modern', tokens: as }));
    const keys: string[] = [];
    for (const clientId of ['us-here', 'us-there']) {
      as.addClient({ clientId, secret: 'our secret' });
      keys.push(`Basic ${Buffer.from(`${clientId}:our+secret`).toString('base64')}`);
      const tenant = await scene.tenant({ notes: withClientCredentials(as.issuer, mcp.url, watch.url, clientId) });
      const agent = await tenant.raw('rawLegacy', 'ada');
      expect(textOf(await agent.callTool('notes__whoami'))).toContain(`who=${clientId};`);
    }
    expectApart(watch, keys);
  });

  it('to a legacy server, by what they listen on', async () => {
    const streams = new SocketKeys();
    const watch = await scene.keep(
      watchSockets((await scene.keyed('legacy')).url, ({ method, socket, headers }, res) => {
        if (method !== 'GET') return false;
        // An answer that ends leaves its socket for the next request.
        res.writeHead(405).end();
        streams.note(socket, headers.authorization);
        return true;
      }),
    );
    for (const [at, tenant] of (await twoWithKeys(watch.url, {})).entries()) {
      const agent = await tenant.raw('rawLegacy', 'ada');
      await agent.callTool('same__whoami');
      await agent.onListChanged(() => {});
      await streams.came(BEARERS[at] as string);
    }
    expectApart(streams, BEARERS);
    expectApart(watch, BEARERS);
  });

  it('to an identity provider that proves their people', async () => {
    const sockets = new SocketKeys();
    let whose = '';
    const idp = await scene.keep(
      startOidcAs({
        // The other pages are for browsers.
        onRequest: ({ socket, url = '' }) => sockets.note(socket, OF_THE_PROXY.test(url) ? whose : undefined),
      }),
    );
    const upstream = await scene.keyed('modern');
    const clients = ['us-here', 'us-there'];
    for (const clientId of clients) {
      whose = clientId;
      const tenant = await scene.tenant({ notes: withKeys(upstream) });
      const redirectUri = `${scene.app.url}/connect/callback/${tenant.id}`;
      await idp.addClient({ client_id: clientId, client_secret: 'hush-hush-hush', redirect_uris: [redirectUri] });
      const signIn = { mode: 'oidc', issuer: idp.issuer, clientId, clientSecret: 'hush-hush-hush' };
      await scene.app.adminOk('PATCH', `/tenants/${tenant.id}`, { signIn });
      const browser = new Browser();
      await browser.open(linkIn(await (await tenant.raw('rawModern', 'ada')).callTool('notes__connect')));
      for (let steps = 0; steps < 6 && !browser.page.url.startsWith(scene.app.url); steps++) {
        const asksWhether = browser.page.forms[0]?.buttons.some(([, value]) => value === 'yes') === true;
        await browser.submit({ name: 'ada' }, asksWhether ? { button: 'yes' } : {});
      }
      expect(browser.page.text).toContain('You are signed in as <bdi>ada</bdi>');
    }
    expectApart(sockets, clients);
  });
});

describe('two tenants whose server sends them elsewhere', () => {
  const PUBLIC = '93.184.216.34';
  const dial = createNetDial(systemClock);
  let internet: Network;
  beforeEach(async () => {
    internet = await Network.open();
  });
  afterEach(() => internet.close());
  const outside = useScene({
    network: {
      ca: CA,
      resolve: () => Promise.resolve([PUBLIC]),
      dial: (target: DialTarget) => (target.address === PUBLIC ? internet.dial(target) : dial(target)),
    },
  });

  it('share no socket there', async () => {
    const sockets = new SocketKeys();
    internet.handle = ({ url }, res) => {
      if (res.socket !== null) sockets.note(res.socket, url);
      res.writeHead(405).end();
    };
    const upstream = await outside.open('legacy');
    const places = ['/for-one', '/for-two'];
    for (const place of places) {
      const watch = await outside.keep(
        watchSockets(upstream.url, ({ method }, res) => {
          if (method === 'GET') res.writeHead(307, { location: `https://b.example.net${place}` }).end();
          return method === 'GET';
        }),
      );
      const agent = await (await outside.tenant({ same: without(watch) })).raw('rawLegacy', 'ada');
      await agent.callTool('same__whoami');
      await agent.onListChanged(() => {});
      await sockets.came(place);
    }
    expectApart(sockets, places);
  });
});

describe('a tenant made anew under the id of a deleted one', () => {
  const again = async (id: string): Promise<TenantSide> => {
    await scene.app.tenant(id);
    return scene.side(id, await scene.app.agentKey(id));
  };

  it.each(ERAS)('takes no socket of its old one to a %s server', async (era) => {
    const watch = await scene.keep(watchSockets((await scene.keyed(era)).url));
    for (const key of ['key-ada', 'key-bob']) {
      const tenant = await again('made-anew');
      await tenant.put('same', withKeys(watch));
      await tenant.setSecret('same', 'ada', key);
      const agent = await tenant.raw('rawLegacy', 'ada');
      expect((await agent.callTool('same__whoami'))['isError']).not.toBe(true);
      // So that a socket of the way out is left, free for whoever comes.
      expect((await agent.callTool('same__whoami'))['isError']).not.toBe(true);
      await scene.app.adminOk('DELETE', '/tenants/made-anew');
    }
    expectApart(watch, BEARERS);
  });

  it('takes no socket of its old one to a sign-in server', async () => {
    const as = await scene.keep(startScriptedAs());
    const watch = await scene.keep(watchSockets(as.issuer));
    const mcp = await scene.keep(startGuardedMcp({ era: 'modern', tokens: as }));
    const keys: string[] = [];
    for (const clientId of ['us-before', 'us-after']) {
      as.addClient({ clientId, secret: 'our secret' });
      keys.push(`Basic ${Buffer.from(`${clientId}:our+secret`).toString('base64')}`);
      const tenant = await again('made-anew');
      await tenant.put('notes', withClientCredentials(as.issuer, mcp.url, watch.url, clientId));
      const agent = await tenant.raw('rawLegacy', 'ada');
      expect(textOf(await agent.callTool('notes__whoami'))).toContain(`who=${clientId};`);
      await scene.app.adminOk('DELETE', '/tenants/made-anew');
    }
    expectApart(watch, keys);
  });
});
