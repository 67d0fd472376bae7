// T19: what a server offers one person is shown to nobody else: not to another person, not in another tenant, not when
// both ask at once; and no request goes out with another person's key.
import { describe, expect, it } from 'vitest';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import { keysOf, LISTS, saidIn } from '../support/offers.ts';
import { PAIRINGS, RAW_KINDS, type TenantSide, useScene, withKeys, without } from '../support/scene.ts';
import type { KeyedServer } from '../support/upstreams/keyed-server.ts';
import { objectAt } from '../support/upstreams/message.ts';
import { promptItem, resourceItem, templateItem } from '../support/upstreams/offering-items.ts';

const scene = useScene();
const PEOPLE = ['ada', 'bob'] as const;

/** The same for everybody, and beside it what nobody else has. */
const offer = (who: string) => ({
  prompts: [promptItem('greet'), promptItem(`of-${who}`)],
  resources: [resourceItem('note://all'), resourceItem(`note://of-${who}`)],
  templates: [templateItem(`item://of-${who}/{x}`)],
});
const keysFor = (who: string, prefix: string) => [
  [`${prefix}greet`, `${prefix}of-${who}`],
  ['note://all', `note://of-${who}`],
  [`item://of-${who}/{x}`],
];
const argument = { name: 'who', value: '' };
const asksOf = (who: string, prefix: string) =>
  [
    ['prompts/get', { name: `${prefix}greet` }],
    ['prompts/get', { name: `${prefix}of-${who}` }],
    ['resources/read', { uri: 'note://all' }],
    ['resources/read', { uri: `note://of-${who}` }],
    ['resources/read', { uri: `item://of-${who}/1` }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: `${prefix}greet` }, argument }],
    ['completion/complete', { ref: { type: 'ref/resource', uri: `item://of-${who}/{x}` }, argument }],
  ] as const;

const listed = (agent: RawAgent): Promise<unknown[][]> =>
  Promise.all(LISTS.map(async (list) => [...(await keysOf(agent, list))].sort()));

/** Whoever's words a request carries, it carried that person's key. */
function expectOwnKeys({ seen, counters }: KeyedServer): void {
  for (const { text, principal, headers } of seen) {
    if (principal === undefined) continue;
    expect(headers.authorization).toBe(`Bearer key-${principal}`);
    for (const who of PEOPLE) if (text.includes(`of-${who}`)) expect(principal).toBe(who);
  }
  expect(counters.crossed).toBe(0);
  expect(counters.unauthorized).toBe(0);
}

describe.each(PAIRINGS.flatMap((pairing) => ['/mcp', '/mcp/s'].map((path) => ({ ...pairing, path }))))(
  'for $agent over a $upstream server at $path',
  ({ agent: kind, upstream: era, path }) => {
    const prefix = path === '/mcp' ? 's__' : '';
    const giveKeys = async (tenant: TenantSide): Promise<void> => {
      for (const who of PEOPLE) await tenant.setSecret('s', who, `key-${who}`);
    };

    it.each(['shared', 'principal'])('two people have their own, whoever asks first (catalog: %s)', async (catalog) => {
      const upstream = await scene.offering(era, { offer });
      const tenant = await scene.tenant({ s: withKeys(upstream, { catalog }) });
      await giveKeys(tenant);
      for (const who of ['ada', 'bob', 'ada'])
        expect(await listed(await tenant.raw(kind, who, path)), who).toEqual(keysFor(who, prefix));
      expectOwnKeys(upstream);
    });

    it('two people who ask at once, with equal ids, each get their own', async () => {
      const upstream = await scene.offering(era, { offer });
      const tenant = await scene.tenant({ s: withKeys(upstream) });
      await giveKeys(tenant);
      const rounds = Array.from({ length: 4 }, () =>
        PEOPLE.map((who) => ({ who, agent: tenant.raw(kind, who, path) })),
      );
      await Promise.all(
        rounds.flat().map(async ({ who, agent: connecting }) => {
          const agent = await connecting;
          const lists = listed(agent);
          const said = Promise.all(
            asksOf(who, prefix).map(async ([method, params]) => saidIn(await agent.request(method, params))),
          );
          expect(await lists).toEqual(keysFor(who, prefix));
          for (const text of await said) expect(text).toMatch(new RegExp(`^who=${who};`));
        }),
      );
      expectOwnKeys(upstream);
    });

    it('who signs in as somebody else has at once what that one has, and nothing of before', async () => {
      const upstream = await scene.offering(era, { offer });
      const tenant = await scene.tenant({ s: withKeys(upstream) });
      await tenant.setSecret('s', 'ada', 'key-ada');
      const agent = await tenant.raw(kind, 'ada', path);
      expect(await listed(agent)).toEqual(keysFor('ada', prefix));
      await tenant.setSecret('s', 'ada', 'key-bob');
      expect(await listed(agent)).toEqual(keysFor('bob', prefix));
      expect(saidIn(await agent.request('prompts/get', { name: `${prefix}of-bob` }))).toMatch(/^who=bob;/);
      await expect(agent.request('prompts/get', { name: `${prefix}of-ada` })).rejects.toMatchObject({ code: -32602 });
    });

    it('what only somebody else has is as if it were not there', async () => {
      const upstream = await scene.offering(era, { offer });
      const tenant = await scene.tenant({ s: withKeys(upstream) });
      await giveKeys(tenant);
      const [ada, bob] = [await tenant.raw(kind, 'ada', path), await tenant.raw(kind, 'bob', path)];
      await listed(ada);
      const answerTo = async (agent: RawAgent, method: string, params: object, word: string): Promise<unknown> => {
        const answer = await (await agent.send(method, { ...params })).answer();
        return JSON.parse(JSON.stringify(objectAt(answer, 'error')).replaceAll(word, 'IT'));
      };
      const others = asksOf('ada', prefix).filter(([, params]) => JSON.stringify(params).includes('of-ada'));
      for (const [method, params] of others.filter(([name]) => name !== 'completion/complete')) {
        const nobodys = JSON.parse(JSON.stringify(params).replace('of-ada', 'of-nobody')) as object;
        const found = await answerTo(bob, method, params, 'of-ada');
        expect(found, JSON.stringify(params)).toHaveProperty('code');
        expect(found).toEqual(await answerTo(bob, method, nobodys, 'of-nobody'));
      }
      expect(upstream.seen.filter(({ principal, text }) => principal === 'ada' && text.includes('"of-nobody'))).toEqual(
        [],
      );
    });

    it('another tenant with the same server sees and reads nothing of it', async () => {
      const upstream = await scene.offering(era, { offer });
      const tenant = await scene.tenant({ s: withKeys(upstream) });
      const other = await scene.tenant({ s: withKeys(upstream) });
      await giveKeys(tenant);
      await listed(await tenant.raw(kind, 'ada', path));
      const stranger = await other.raw(kind, 'ada', path);
      expect(await listed(stranger)).toEqual([[], [], []]);
      const before = upstream.seen.length;
      for (const [method, params] of asksOf('ada', prefix))
        expect(await (await stranger.send(method, params)).answer(), method).toHaveProperty('error.code');
      expect(upstream.seen.slice(before)).toEqual([]);
    });
  },
);

it.each(RAW_KINDS)('beside a server that is the same for all, each person has their own: %s', async (kind) => {
  const shared = await scene.offering('modern', { requireKey: false, offer: () => offer('all') });
  const personal = await scene.offering('legacy', { offer });
  const tenant = await scene.tenant({ a: without(shared), s: withKeys(personal), z: without(shared) });
  for (const who of PEOPLE) await tenant.setSecret('s', who, `key-${who}`);
  for (const who of ['ada', 'bob', 'ada', 'eve']) {
    const found = (await listed(await tenant.raw(kind, who))).flat().map(String);
    const isMine = (key: string): boolean => /of-(ada|bob)/.test(key);
    expect(found.filter(isMine), who).toEqual(
      who === 'eve' ? [] : keysFor(who, 's__').flatMap((keys) => keys.slice(-1)),
    );
    expect(found, who).toContain('a__of-all');
    expect(found, who).toContain('note://of-all');
  }
  expectOwnKeys(personal);
});
