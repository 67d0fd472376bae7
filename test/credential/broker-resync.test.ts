import { describe, expect, it } from 'vitest';
import { aBench, anna, ben, ofAnna, secretOf, server, settled } from './broker-bench.ts';
import { aPrincipal } from './in-memory.ts';

describe('a comparison after lost notices', () => {
  it('B259: drops what is outdated, also that there was none, and keeps the rest', async () => {
    const { broker, keeper, credentials, changes } = aBench();
    const carl = aPrincipal('carl');
    await keeper.keep(server, ofAnna, 'old');
    await keeper.keep(server, { kind: 'principal', principalId: carl }, 'same');
    for (const principal of [anna, ben, carl]) await broker.find(server, principal);
    await keeper.keep(server, ofAnna, 'new');
    await keeper.keep(server, { kind: 'principal', principalId: ben }, 'first');
    changes.say({ kind: 'resync' });
    await settled();
    expect(credentials.comparisons).toBe(1);
    expect(secretOf(await broker.find(server, anna))).toBe('new');
    expect(secretOf(await broker.find(server, ben))).toBe('first');
    expect(credentials.finds).toBe(5);
    expect(secretOf(await broker.find(server, carl))).toBe('same');
    expect(credentials.finds).toBe(5);
  });

  it('drops what was removed', async () => {
    const { broker, keeper, changes } = aBench();
    await keeper.keep(server, ofAnna, 'old');
    await broker.find(server, anna);
    await keeper.remove(server.tenantId, server.id, ofAnna);
    changes.say({ kind: 'resync' });
    await settled();
    expect(await broker.find(server, anna)).toBeUndefined();
  });

  it('asks in parts, however much is remembered', async () => {
    const { broker, credentials, changes } = aBench();
    await Promise.all(Array.from({ length: 2_500 }, async (_, n) => broker.find(server, aPrincipal(`p${n}`))));
    changes.say({ kind: 'resync' });
    await settled();
    expect(credentials.comparisons).toBe(3);
  });
});
