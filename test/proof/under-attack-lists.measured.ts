// The same for what a server may list: whatever that is, it is read, kept and shown without anybody else feeling it, no
// schema of a server is compiled, and nothing that a list names is fetched.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { type ScriptedUpstream, startScripted } from '../support/scripted-upstream.ts';
import { FULL, fullPage, type ListAttack, listing, lists } from '../support/upstreams/hostile-lists.ts';
import { type Listener, listen } from '../support/upstreams/listener.ts';
import { type JsonObject, objectAt } from '../support/upstreams/message.ts';
import { calmly, type Tenant, UnderAttack } from './under-attack.ts';

const SEEN_MS = 20_000;
/** Servers that each list as much as may be. */
const FULL_SERVERS = 8;
/** How long a restless list is listened to. */
const LASTS_MS = 3_000;
/** The first at once, and then one a second. */
const MOST_READS = 5;

let bench: UnderAttack;
let canary: Listener;
let fetched = 0;
let server: ScriptedUpstream;
let attack: ListAttack | undefined;
let names = 0;

beforeAll(async () => {
  bench = await UnderAttack.begin();
  canary = await listen((_req, res) => {
    fetched++;
    res.end('{}');
  });
  server = await startScripted({
    era: 'modern',
    onCall: ({ params, result }) =>
      result(JSON.stringify({ resultType: 'complete', content: [], structuredContent: params['arguments'] })),
    onOther: listing(() => attack),
  });
}, 120_000);

afterAll(async () => {
  await bench?.end();
  await server?.close();
  await canary?.close();
});

/** What became of a server's list, once that is known. */
async function settledState(tenant: Tenant, name: string): Promise<JsonObject> {
  return eventually(
    'the list',
    async () => {
      const shown = await bench.admin('GET', `/tenants/${tenant.id}/servers/${name}`);
      return shown['status'] === 'ok' || shown['lastError'] !== 'It has not answered yet.' ? shown : undefined;
    },
    SEEN_MS,
  );
}

describe('a list of', () => {
  // Its address is known only when the canary listens.
  const all = Object.keys(lists(''));

  it.each(all.map((name, nth) => [name, nth] as const))(
    '%s',
    async (name, nth) => {
      const mine = lists(new URL(canary.url).origin)[name];
      if (mine === undefined) throw new Error('no such attack');
      const tenant = await bench.tenant({});
      const agent = await tenant.agent(nth % 2 === 0 ? 'rawLegacy' : 'rawModern');
      await calmly(bench, async () => {
        attack = mine;
        const prefix = `s${++names}`;
        const path = `/tenants/${tenant.id}/servers/${prefix}`;
        const before = server.methods.length;
        try {
          expect(await bench.admin('PUT', path, { url: server.url })).toMatchObject({ httpStatus: 200 });
          await judge(tenant, agent, prefix, mine);
          if (mine.isRestless === true) await listened(tenant, before);
        } finally {
          await bench.admin('DELETE', path);
        }
      });
      await agent.close();
    },
    90_000,
  );

  async function judge(tenant: Tenant, agent: RawAgent, prefix: string, mine: ListAttack): Promise<void> {
    const shown = await settledState(tenant, prefix);
    expect([shown['status'], shown['toolCount']]).toEqual([mine.state, mine.tools]);
    expect(String(shown['lastError'])).toContain(mine.reason ?? 'null');
    const { tools } = await agent.listTools();
    expect(tools).toHaveLength(mine.tools);
    if (mine.args === undefined) return;
    const reply = await agent.callTool(`${prefix}__t0`, mine.args);
    expect(objectAt(reply, 'structuredContent')).toEqual(mine.args);
  }

  async function listened(tenant: Tenant, before: number): Promise<void> {
    let heard = 0;
    const ear = await tenant.agent('rawModern');
    await ear.onListChanged(() => heard++);
    await new Promise((resolve) => setTimeout(resolve, LASTS_MS));
    await ear.close();
    const reads = server.methods.slice(before).filter((method) => method === 'tools/list').length;
    expect(reads, 'reads of the list').toBeGreaterThan(1);
    expect(reads, 'reads of the list').toBeLessThanOrEqual(MOST_READS);
    expect(heard, 'told').toBeGreaterThan(0);
    expect(heard, 'told').toBeLessThanOrEqual(MOST_READS);
  }

  it('whatever a schema names: nothing was fetched from there', () => {
    expect(fetched).toBe(0);
  });
});

describe(`a tenant with ${FULL_SERVERS} servers that list as much as may be`, () => {
  let tenant: Tenant;
  let agent: RawAgent;
  let edits = 0;

  beforeAll(async () => {
    const page = fullPage();
    attack = { page: () => page, state: 'ok', tools: FULL };
    const all = Array.from({ length: FULL_SERVERS }, (_, nth) => [`full-${nth}`, { url: server.url }] as const);
    tenant = await bench.tenant(Object.fromEntries(all));
    for (const [name] of all) expect(await settledState(tenant, name)).toMatchObject({ toolCount: FULL });
    agent = await tenant.agent('rawModern');
  }, 90_000);

  beforeEach(async () => {
    expect((await agent.listTools()).tools).toHaveLength(FULL_SERVERS * FULL);
  });

  const edit = async (): Promise<void> => {
    const definition = { url: server.url, title: `Edited ${++edits}` };
    await bench.admin('PUT', `/tenants/${tenant.id}/servers/full-0`, definition);
  };

  it('is read anew after an edit, and called', async () => {
    await calmly(bench, async () => {
      await edit();
      await agent.callTool('full-1__t1_', { a: 1 });
    });
  });

  it('is listed anew after an edit', async () => {
    await calmly(bench, async () => {
      await edit();
      expect((await agent.listTools()).tools).toHaveLength(FULL_SERVERS * FULL);
    });
  });
});
