// The prompts of all servers as one list, from which each finds its way back under its server's own name.
import { describe, expect, it } from 'vitest';
import { itemsIn, keysOf, LISTS, saidIn } from '../support/offers.ts';
import { PAIRINGS, RAW_KINDS, useScene, without } from '../support/scene.ts';
import { OWN_ERROR } from '../support/upstreams/offering-answers.ts';
import { GREET, promptItem } from '../support/upstreams/offering-items.ts';

const scene = useScene();
const [PROMPTS] = LISTS;
const OPEN = { requireKey: false };
const prompts = (...names: string[]) => ({ prompts: names.map((name) => promptItem(name)) });

describe.each(PAIRINGS)('for $agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('each is listed with its prefix and otherwise as its server describes it', async () => {
    const upstream = await scene.offering(era, OPEN);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    const [greet] = itemsIn(await agent.request('prompts/list'), PROMPTS);
    expect(greet).toEqual({ ...(JSON.parse(GREET) as object), name: 's__greet' });
  });

  it('each finds its way back, with its arguments and the answer unharmed', async () => {
    const upstream = await scene.offering(era, OPEN);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    const result = await agent.request('prompts/get', { name: 's__greet', arguments: { who: 'é' } });
    expect(saidIn(result)).toBe('who=anonymous;at=keyed;prompt=greet;args={"who":"é"}');
    expect(result).toMatchObject({
      description: 'Filled in',
      'x-future': { '': 1 },
      _meta: { 'vendor/key': 'kept', 'keybearer/origin': { server: 's', trust: 'outside' } },
    });
  });

  it('of every page of a server', async () => {
    const names = ['e', 'a', 'd', 'b', 'c'];
    const servers = await Promise.all(
      [{ kind: 'size', size: 2 } as const, { kind: 'empty-cursor' } as const, { kind: 'repeated-cursor' } as const].map(
        (paging) => scene.offering(era, { ...OPEN, paging, offer: prompts(...names) }),
      ),
    );
    const [one, two, three] = servers.map((server) => without(server));
    const tenant = await scene.tenant({ one: one ?? {}, two: two ?? {}, three: three ?? {} });
    const found = await keysOf(await tenant.raw(kind), PROMPTS);
    const all = ['one', 'three', 'two'].flatMap((prefix) => [...names].sort().map((name) => `${prefix}__${name}`));
    expect(found).toEqual(all);
  });

  it("a server's own error stays its own", async () => {
    const upstream = await scene.offering(era, { ...OPEN, offer: prompts('broken') });
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    await expect(agent.request('prompts/get', { name: 's__broken' })).rejects.toMatchObject(OWN_ERROR);
  });
});

describe.each(RAW_KINDS)('for %s', (kind) => {
  it('names that model APIs would not take, and those of two servers, are told apart and found again', async () => {
    const long = 'x'.repeat(80);
    const names = ['fix é/bug', 'fix é bug', `${long}1`, `${long}2`, 'plain', 'a__b', '__proto__'];
    const [first, second] = [
      await scene.offering('modern', { ...OPEN, name: 'first', offer: prompts(...names) }),
      await scene.offering('legacy', { ...OPEN, name: 'second', offer: prompts(...names) }),
    ];
    const tenant = await scene.tenant({
      first: without(first, { prefix: 'p' }),
      second: without(second, { prefix: 'p' }),
    });
    const agent = await tenant.raw(kind);
    const found = (await keysOf(agent, PROMPTS)).map(String);
    expect(found).toHaveLength(2 * names.length);
    expect(new Set(found).size).toBe(found.length);
    for (const name of found) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
    const said = await Promise.all(found.map(async (name) => saidIn(await agent.request('prompts/get', { name }))));
    const wanted = ['first', 'second'].flatMap((at) =>
      names.map((name) => `who=anonymous;at=${at};prompt=${name};args={}`),
    );
    expect([...said].sort()).toEqual(wanted.sort());
    expect(found).toContain('p__plain');
    expect(saidIn(await agent.request('prompts/get', { name: 'p__plain' }))).toContain('at=first');
  });

  it('a name never leads to another server because the one that it belongs to is down', async () => {
    const [first, second] = [
      await scene.offering('modern', { ...OPEN, name: 'first', offer: prompts('plain') }),
      await scene.offering('legacy', { ...OPEN, name: 'second', offer: prompts('plain') }),
    ];
    await first.close();
    const tenant = await scene.tenant({
      first: without(first, { prefix: 'p' }),
      second: without(second, { prefix: 'p' }),
    });
    const agent = await tenant.raw(kind);
    const found = (await keysOf(agent, PROMPTS)).map(String);
    expect(found).toEqual([expect.stringMatching(/^p__plain-[0-9a-f]{8}$/)]);
    expect(saidIn(await agent.request('prompts/get', { name: found[0] }))).toContain('at=second');
    await expect(agent.request('prompts/get', { name: 'p__plain' })).rejects.toHaveProperty('code');
    expect(second.seen.filter(({ method }) => method === 'prompts/get')).toHaveLength(1);
  });

  it('they are sorted and the same each time, also for another session', async () => {
    const names = ['z', 'B', 'a', '_', '0', 'b'];
    const b = await scene.offering('legacy', { ...OPEN, offer: prompts(...names) });
    const a = await scene.offering('modern', { ...OPEN, offer: prompts(...[...names].reverse()) });
    const tenant = await scene.tenant({ b: without(b), a: without(a) });
    const found = (await keysOf(await tenant.raw(kind), PROMPTS)).map(String);
    expect(found).toEqual(['a', 'b'].flatMap((prefix) => [...names].sort().map((name) => `${prefix}__${name}`)));
    expect(await keysOf(await tenant.raw(kind), PROMPTS)).toEqual(found);
  });

  it('one that is not listed, or not a name, is told as missing, and no server is asked', async () => {
    const upstream = await scene.offering('modern', OPEN);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    for (const name of ['s__nothing', 'greet', 's__', 'other__greet', '__proto__', 'constructor'])
      await expect(agent.request('prompts/get', { name }), name).rejects.toMatchObject({ code: -32602 });
    for (const name of [7, null, undefined, {}])
      expect(await (await agent.send('prompts/get', { name })).answer()).toHaveProperty('error');
    expect(upstream.seen.filter(({ method }) => method === 'prompts/get')).toEqual([]);
  });

  it('a modern agent is told that the list is for this person alone; a legacy one no result type', async () => {
    const tenant = await scene.tenant({ s: without(await scene.offering('modern', OPEN)) });
    const agent = await tenant.raw(kind);
    const list = await agent.request('prompts/list');
    const got = await agent.request('prompts/get', { name: 's__greet' });
    if (kind === 'rawModern') {
      expect(list).toMatchObject({ resultType: 'complete', ttlMs: expect.any(Number), cacheScope: 'private' });
      expect(got).toMatchObject({ resultType: 'complete' });
    } else expect([list['resultType'], got['resultType']]).toEqual([undefined, undefined]);
  });
});
