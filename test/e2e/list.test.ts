// Servers connect each on their own, and whatever is missing is named.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import type { Listing } from '../support/agents/agent.ts';
import { RAW_KINDS, useScene, withKeys, without } from '../support/scene.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import { objectAt } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';

const DEADLINE_MS = 600;
const scene = useScene({ limits: { listDeadlineMs: DEADLINE_MS } });

const servers = ({ raw }: Listing) => objectAt(objectAt(raw[0] ?? {}, '_meta'), 'keybearer/servers');
const names = ({ tools }: Listing) => tools.map(({ name }) => name);

describe.each(RAW_KINDS)('a list for %s', (kind) => {
  it('is not held up by servers that are down, hang, or are broken, and names them with their state', async () => {
    const good = await scene.open('legacy');
    const hanging = await scene.bad('hang', { on: 'anything' });
    const broken = await scene.bad('html', { on: 'initialize' });
    const down = await scene.open('legacy');
    const keyed = await scene.keyed('modern');
    await down.close();
    const tenant = await scene.tenant({
      good: without(good),
      hanging: without(hanging, { connectTimeoutMs: 20_000 }),
      broken: without(broken),
      down: without(down),
      keyed: withKeys(keyed),
      off: without(good, { enabled: false }),
    });
    const agent = await tenant.raw(kind);
    const start = performance.now();
    const listing = await agent.listTools();
    expect(performance.now() - start).toBeLessThan(DEADLINE_MS + 1_500);
    expect(names(listing)).toContain('good__whoami');
    expect(names(listing)).toContain('keyed__connect');
    expect(names(listing).filter((name) => !/^(good|keyed)__/.test(name))).toEqual([]);
    expect(servers(listing)).toEqual({
      good: { state: 'ok' },
      keyed: { state: 'sign_in_required', reason: expect.any(String) },
      hanging: { state: 'unavailable', reason: expect.any(String) },
      broken: { state: 'unavailable', reason: expect.any(String) },
      down: { state: 'unavailable', reason: expect.any(String) },
    });
  });

  it('waits for a hanging server once, not each time', async () => {
    const good = await scene.open('legacy');
    const hanging = await scene.bad('hang', { on: 'anything' });
    const tenant = await scene.tenant({ good: without(good), hanging: without(hanging, { connectTimeoutMs: 20_000 }) });
    const agent = await tenant.raw(kind);
    await agent.listTools();
    const start = performance.now();
    await agent.listTools();
    expect(performance.now() - start).toBeLessThan(DEADLINE_MS / 2);
  });

  it('is at once what was found before, also while its server hangs', async () => {
    const flaky = await scene.bad('healthy');
    const tenant = await scene.tenant({ flaky: without(flaky) });
    const agent = await tenant.raw(kind);
    await agent.listTools();
    flaky.mode = 'hang';
    const start = performance.now();
    expect(names(await agent.listTools())).toEqual(['flaky__echo']);
    expect(performance.now() - start).toBeLessThan(DEADLINE_MS / 2);
  });

  it('learns by list_changed of a server that comes up later', async () => {
    const server = await scene.bad('http-500', { on: 'anything' });
    const tenant = await scene.tenant({ late: without(server) });
    const agent = await tenant.raw(kind);
    expect(names(await agent.listTools())).toEqual([]);
    const changed = new Promise<void>((resolve) => void agent.onListChanged(resolve));
    server.mode = 'healthy';
    await within(changed, 'the list change', 8_000);
    const listing = await agent.listTools();
    expect([names(listing), servers(listing)]).toEqual([['late__echo'], { late: { state: 'ok' } }]);
  });

  it('learns by list_changed of servers that are added, disabled and removed, within a second', async () => {
    const server = await scene.open('legacy');
    const tenant = await scene.tenant();
    const agent = await tenant.raw(kind);
    expect((await agent.listTools()).tools).toEqual([]);
    let changes = 0;
    await agent.onListChanged(() => changes++);
    await tenant.put('a', without(server));
    await eventually('the first change', () => changes > 0, 1_000);
    await eventually('its tools', async () => names(await agent.listTools()).includes('a__echo'), 2_000);
    const before = changes;
    await tenant.put('a', without(server, { enabled: false }));
    await eventually('the second change', () => changes > before, 1_000);
    expect((await agent.listTools()).tools).toEqual([]);
  });

  it('has every page of a server, and each tool once', async () => {
    const server = await scene.open('modern', { paging: { kind: 'size', size: 3 } });
    const other = await scene.open('legacy', { paging: { kind: 'empty-cursor' } });
    const again = await scene.open('legacy', { paging: { kind: 'repeated-cursor' } });
    const tenant = await scene.tenant({ a: without(server), b: without(other), c: without(again) });
    const found = names(await (await tenant.raw(kind)).listTools());
    const of = (prefix: string) => found.filter((name) => name.startsWith(prefix)).map((name) => name.slice(3));
    expect(of('a__')).toContain('whoami');
    expect(of('b__')).toEqual(of('a__'));
    expect(of('c__')).toEqual(of('a__'));
    expect(new Set(found).size).toBe(found.length);
  });

  it('is not poisoned by bad tools, nor ended by endless pages', async () => {
    const poisoned = await scene.bad('poisoned-tools');
    const endless = await scene.bad('endless-cursor');
    const tenant = await scene.tenant({ poisoned: without(poisoned), endless: without(endless) });
    const agent = await tenant.raw(kind);
    const listing = await eventually('the good tool', async () => {
      const now = await agent.listTools();
      return names(now).includes('poisoned__echo') ? now : undefined;
    });
    for (const { name, inputSchema } of listing.tools) {
      expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
      expect(inputSchema).toMatchObject({ type: 'object' });
    }
    expect(servers(listing)).toMatchObject({ poisoned: { state: 'ok' }, endless: { state: 'unavailable' } });
  });

  it('never shows one tenant the servers of another', async () => {
    const server = await scene.open('legacy');
    await scene.tenant({ private: without(server) });
    const other = await scene.tenant();
    const listing = await (await other.raw(kind)).listTools();
    expect([listing.tools, servers(listing)]).toEqual([[], {}]);
    await expect((await other.raw(kind)).callTool('private__whoami')).rejects.toMatchObject({ code: -32602 });
  });

  it('offers only what the definition lets through', async () => {
    const server = await scene.keep(
      startScripted({
        tools: ['read_a', 'read_b', 'delete_a', 'write'],
        onCall: ({ result }) => result('{"content":[]}'),
      }),
    );
    const tenant = await scene.tenant({ s: without(server, { only: ['read_*', 'delete_*'], except: ['delete_*'] }) });
    const agent = await tenant.raw(kind);
    expect(names(await agent.listTools())).toEqual(['s__read_a', 's__read_b']);
    await expect(agent.callTool('s__delete_a')).rejects.toMatchObject({ code: -32602 });
    expect(server.calls).toBe(0);
  });
});
