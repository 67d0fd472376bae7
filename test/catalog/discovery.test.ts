import { describe, expect, it } from 'vitest';
import { CredentialRefusedError } from '../../src/shared/errors.ts';
import { Bench, DOWN, PERSONAL } from './a-discovery.ts';
import { ACME, ANNA, aTool, BEN, settled } from './a-tenant.ts';

describe('finding tools', () => {
  it('asks a server that needs no person as soon as it is registered, once', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    expect(bench.asked).toHaveLength(1);
    await bench.refresh();
    await Promise.race([bench.discovery.ensure(server, '', undefined), settled()]);
    expect(bench.asked).toHaveLength(1);
    await bench.last.answer(aTool('search'));
    expect(bench.tools('linear')).toEqual(['search']);
    expect(bench.discovery.troubleOf(server, '')).toBeUndefined();
  });

  it("never asks a person's server on the tenant's behalf", async () => {
    const bench = new Bench();
    await bench.registered('linear', PERSONAL);
    expect(bench.asked).toEqual([]);
  });

  it('does not ask one that is switched off or does not hold', async () => {
    const bench = new Bench();
    bench.define('off', { enabled: false });
    bench.define('broken', { url: 'ftp://x' });
    await bench.refresh();
    await settled();
    expect(bench.asked).toEqual([]);
  });

  it('says that a server has not answered yet while it is being asked', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    expect(bench.discovery.troubleOf(server, '')).toEqual({ state: 'pending', reason: 'It has not answered yet.' });
    expect(bench.discovery.isLate(server, '', 5_000)).toBe(false);
    await bench.pass(5_000);
    expect(bench.discovery.isLate(server, '', 5_000)).toBe(true);
  });

  it('B091: never lets a slow server hold up the others', async () => {
    const bench = new Bench();
    for (let n = 0; n < 40; n++) bench.define(`s${n}`);
    await bench.refresh();
    await settled();
    expect(bench.asked).toHaveLength(16);
    await bench.pass(1_000);
    expect(bench.asked).toHaveLength(32);
    await bench.pass(1_000);
    expect(bench.asked).toHaveLength(40);
  });
});

describe('asking anew', () => {
  it('B087: reads once more behind a read that is under way, however many ask', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    const renewals = Promise.all([1, 2, 3].map(() => bench.discovery.renew(server, '', undefined)));
    await bench.last.answer(aTool('old'));
    expect(bench.asked).toHaveLength(2);
    await bench.last.answer(aTool('new'));
    await renewals;
    expect(bench.tools('linear')).toEqual(['new']);
    expect(bench.asked).toHaveLength(2);
  });

  it('B090: happens with the new credential although a read with a refused one has just failed', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear', PERSONAL);
    void bench.discovery.ensure(server, '', BEN);
    await settled();
    const renewed = bench.discovery.renew(server, '', ANNA);
    await bench.last.fail(new CredentialRefusedError(401, undefined));
    expect(bench.last.principalId).toBe(ANNA);
    await bench.last.answer(aTool('mine'));
    await renewed;
    expect(bench.tools('linear')).toEqual(['mine']);
  });

  it('says what went wrong, pause or not', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    await bench.last.fail();
    const renewed = bench.discovery.renew(server, '', undefined);
    await settled();
    expect(bench.asked).toHaveLength(2);
    void bench.last.fail();
    await expect(renewed).rejects.toBe(DOWN);
  });

  it('keeps the lists of two people apart', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear', { ...PERSONAL, catalog: 'principal' });
    const both = Promise.all([
      bench.discovery.renew(server, 'p:anna', ANNA),
      bench.discovery.renew(server, 'p:ben', BEN),
    ]);
    await settled();
    for (const asked of bench.asked) await asked.answer(aTool(`of-${asked.principalId}`));
    await both;
    const lists = bench.registry.known(ACME)?.byName.get('linear')?.lists;
    expect([...(lists ?? [])].map(([owner, { tools }]) => [owner, tools.map(({ name }) => name)])).toEqual([
      ['p:anna', ['of-anna']],
      ['p:ben', ['of-ben']],
    ]);
  });

  it('counts as failed when the list cannot be kept', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    bench.catalogs.put = () => Promise.reject(new Error('no database'));
    await bench.last.answer(aTool('a'));
    expect(bench.discovery.troubleOf(server, '')).toMatchObject({ state: 'unavailable' });
    await bench.pass(1_000);
    expect(bench.asked).toHaveLength(2);
  });
});
