import { describe, expect, it } from 'vitest';
import type { Renewed } from '../../src/credential/renewal-failure.ts';
import { createRenewalTurns } from '../../src/credential/renewal-turns.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aServer, aTenantId } from './in-memory.ts';

const settled = (): Promise<void> => new Promise(setImmediate);
const OVER: Renewed = { kind: 'over' };

function aBench() {
  const clock = new FakeClock();
  const turns = createRenewalTurns(clock);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (server: string, tenant = 'acme'): Promise<Renewed> =>
    turns.run(aServer({}, { tenantId: aTenantId(tenant), id: server }), () => {
      begun.push(`${tenant} ${server}`);
      return new Promise((resolve) => ends.push(() => resolve(OVER)));
    });
  return { clock, turns, begun, ends, run };
}

describe('renewals', () => {
  it('of one server are sixteen at a time; those of another server and another tenant go on', async () => {
    const { begun, ends, run, clock } = aBench();
    const hanging = Array.from({ length: 100 }, () => run('slow'));
    await settled();
    expect(begun).toHaveLength(16);
    void run('good');
    void run('slow', 'umbrella');
    await settled();
    expect(begun.slice(16)).toEqual(['acme good', 'umbrella slow']);
    ends[0]?.();
    await settled();
    expect(begun).toHaveLength(19);
    await expect(hanging[0]).resolves.toBe(OVER);
    // Nobody waits for ever: the others are told to come again, and those that run are not cut off.
    clock.advance(10_000);
    await expect(hanging[99]).resolves.toMatchObject({ kind: 'later', retryAfterMs: 1_000 });
    expect(begun).toHaveLength(19);
    for (const end of ends) end();
    await expect(hanging[16]).resolves.toBe(OVER);
    expect(clock.pending).toBe(0);
  });

  it('of one tenant are sixty-four at a time, over all its servers', async () => {
    const { begun, run } = aBench();
    for (let n = 0; n < 200; n++) void run(`s${n}`);
    await settled();
    expect(begun).toHaveLength(64);
    void run('s', 'umbrella');
    await settled();
    expect(begun.at(-1)).toBe('umbrella s');
  });

  it('are refused at once when a thousand wait already', async () => {
    const { run } = aBench();
    for (let n = 0; n < 1_016; n++) void run('slow');
    await expect(run('slow')).resolves.toMatchObject({ kind: 'later' });
  });

  it('that fail fail as they are, and leave their place', async () => {
    const { turns, begun, run } = aBench();
    const server = aServer({}, { tenantId: aTenantId('acme'), id: 'slow' });
    for (let n = 0; n < 20; n++)
      await expect(turns.run(server, () => Promise.reject(new Error('down')))).rejects.toThrow('down');
    void run('slow');
    await settled();
    expect(begun).toEqual(['acme slow']);
  });

  it('that wait are let go when the node stops', async () => {
    const { turns, run, clock } = aBench();
    for (let n = 0; n < 16; n++) void run('slow');
    const waiting = run('slow');
    await settled();
    turns.close();
    await expect(waiting).resolves.toMatchObject({ kind: 'later' });
    expect(clock.pending).toBe(0);
  });
});
