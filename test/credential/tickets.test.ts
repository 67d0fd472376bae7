import { describe, expect, it } from 'vitest';
import { bindingOf } from '../../src/catalog/binding.ts';
import { createTickets } from '../../src/credential/tickets.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aPrincipal, aServer, aTenantId, InMemoryTickets } from './in-memory.ts';

const acme = aTenantId('acme');
const alice = aPrincipal('alice');
const MINUTE = 60_000;

function aDesk(publicUrl = 'https://px.test/keys/') {
  const clock = new FakeClock();
  const store = new InMemoryTickets();
  return { clock, store, tickets: createTickets({ store, clock, publicUrl: () => publicUrl }) };
}

const textOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1);

describe('tickets', () => {
  it('are 256-bit links under the public URL, good for ten minutes, stored as a hash only', async () => {
    const { clock, store, tickets } = aDesk();
    const server = aServer();
    const { url, expiresAt } = await tickets.issue(acme, alice, server);
    expect(url).toMatch(/^https:\/\/px\.test\/keys\/connect\/[A-Za-z0-9_-]{43}$/);
    expect(expiresAt).toBe(clock.now() + 10 * MINUTE);
    expect(JSON.stringify(store.rows)).not.toContain(textOf(url));
    expect(store.rows[0]?.hash).toHaveLength(32);
    expect(await tickets.find(textOf(url))).toMatchObject({
      tenantId: acme,
      principalId: alice,
      serverId: server.id,
      binding: bindingOf(server),
    });
    clock.advance(10 * MINUTE);
    expect(await tickets.find(textOf(url))).toBeUndefined();
  });

  it('give an agent that asks again, or twice at once, the same link', async () => {
    const { clock, store, tickets } = aDesk();
    const [first, second] = await Promise.all([
      tickets.issue(acme, alice, aServer()),
      tickets.issue(acme, alice, aServer()),
    ]);
    expect(second).toEqual(first);
    clock.advance(4 * MINUTE);
    expect(await tickets.issue(acme, alice, aServer())).toEqual(first);
    clock.advance(MINUTE);
    expect((await tickets.issue(acme, alice, aServer())).url).not.toBe(first.url);
    expect(store.rows).toHaveLength(2);
  });

  it('never give one link for two people, tenants, servers or addresses', async () => {
    const { tickets } = aDesk();
    const beta = aTenantId('beta');
    const links = await Promise.all([
      tickets.issue(acme, alice, aServer()),
      tickets.issue(acme, aPrincipal('bob'), aServer()),
      tickets.issue(beta, alice, aServer({}, { tenantId: beta })),
      tickets.issue(acme, alice, aServer({}, { name: 'other' })),
      tickets.issue(acme, alice, aServer({ url: 'https://moved.example/mcp' })),
    ]);
    expect(new Set(links.map(({ url }) => url)).size).toBe(5);
  });

  it('are not given again once used, also when another node used them', async () => {
    const { store, tickets } = aDesk();
    const { url } = await tickets.issue(acme, alice, aServer());
    const [row] = store.rows;
    if (row !== undefined) row.isUsed = true;
    expect((await tickets.issue(acme, alice, aServer())).url).not.toBe(url);
  });

  it('are used by one only of many at once', async () => {
    const { tickets } = aDesk();
    const { url } = await tickets.issue(acme, alice, aServer());
    const uses = await Promise.all(Array.from({ length: 50 }, () => tickets.consume(textOf(url))));
    expect(uses.filter((ticket) => ticket !== undefined)).toHaveLength(1);
  });

  it('T28: at most fifty are open per person; others are not affected', async () => {
    const { clock, tickets } = aDesk();
    const issue = (name: string, who = alice) => tickets.issue(acme, who, aServer({}, { name }));
    for (let index = 0; index < 50; index++) await issue(`s${String(index)}`);
    await expect(issue('s50')).rejects.toMatchObject({ code: 'rate_limited' });
    await issue('s50', aPrincipal('bob'));
    clock.advance(10 * MINUTE);
    await issue('s10');
  });

  it('are one link however a server words its challenges, and another where it begins to say where to look', async () => {
    const { store, tickets } = aDesk();
    const wish = (challenge: string) => tickets.issue(acme, alice, aServer(), { challenge, scopes: ['a', 'b'] });
    const first = await wish('Bearer error_description="expired at 1"');
    expect(await wish('Bearer error_description="expired at 2"')).toEqual(first);
    expect(
      await tickets.issue(acme, alice, aServer(), { scopes: ['b', 'a'] }),
      'in whatever order it names them',
    ).toEqual(first);
    const pointed = await wish('Bearer resource_metadata="https://notes.example/a"');
    expect(pointed.url).not.toBe(first.url);
    expect(await wish('Bearer resource_metadata="https://notes.example/b"')).toEqual(pointed);
    expect(store.rows).toHaveLength(2);
  });

  it('T28: of one server that always wants something else are ten at most; then the last is given again', async () => {
    const { clock, store, tickets } = aDesk();
    const wish = (n: number) => tickets.issue(acme, alice, aServer(), { scopes: [`scope-${n}`] });
    const links = await Promise.all(Array.from({ length: 60 }, (_, n) => wish(n)));
    expect(store.rows).toHaveLength(10);
    expect(links[59]).toEqual(links[9]);
    expect(await wish(3)).toEqual(links[3]);
    clock.advance(9 * MINUTE);
    expect(await wish(61), 'also when it is old').toEqual(links[9]);
    await tickets.issue(acme, alice, aServer({}, { name: 'other' }));
    await tickets.consume(textOf(links[9]?.url ?? ''));
    expect((await wish(62)).url, 'but not when it was used').not.toBe(links[9]?.url);
  });

  it('are forgotten where they could not be stored', async () => {
    const { store, tickets } = aDesk();
    const create = store.create.bind(store);
    store.create = () => Promise.reject(new Error('no database'));
    const both = await Promise.allSettled([1, 2].map(() => tickets.issue(acme, alice, aServer())));
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    store.create = create;
    await tickets.issue(acme, alice, aServer());
    expect(store.rows).toHaveLength(1);
  });

  it('are not looked up when the text cannot be one of ours', async () => {
    const { store, tickets } = aDesk();
    store.find = () => Promise.reject(new Error('asked'));
    for (const text of ['', 'x', 'a'.repeat(44), `${'a'.repeat(42)}/`, 'a'.repeat(100_000)])
      expect(await tickets.find(text)).toBeUndefined();
  });
});
