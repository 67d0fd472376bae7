import { describe, expect, it } from 'vitest';
import { createLimitsMemory, type LimitedTenant } from '../../src/limits/limits-of.ts';
import { LIMIT_NAMES, readLimits } from '../../src/limits/tenant-limits.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { aTenantId } from '../credential/in-memory.ts';
import { AChangeFeed } from '../support/a-change-feed.ts';
import { someLimits } from '../support/limits.ts';

const ACME = aTenantId('acme');
const settled = (): Promise<void> => new Promise(setImmediate);

describe('what a tenant has of its own', () => {
  it('replaces the defaults, member by member', () => {
    expect(readLimits({ maxConnections: 5, requestsPerSecond: 100 }, someLimits())).toEqual(
      someLimits({ maxConnections: 5, requestsPerSecond: 100 }),
    );
  });

  it.each([['5'], [0], [-1], [1.5], [Number.NaN], [null], [{}], [1e12], [true]])(
    'counts as not said where somebody wrote %j into the table',
    (value) => {
      const written = Object.fromEntries(LIMIT_NAMES.filter((name) => !ZERO.has(name)).map((name) => [name, value]));
      expect(readLimits({ ...written, unknown: 1 }, someLimits())).toEqual(someLimits());
    },
  );
});

/** Where none at all is a limit, too. */
const ZERO: ReadonlySet<string> = new Set(['maxChildren', 'maxWaitingCalls', 'maxStreams']);

describe('the memory of limits', () => {
  function aBench() {
    const rows = new Map<string, LimitedTenant>();
    const reads: string[] = [];
    const gates: (() => void)[] = [];
    const bench = { isSlow: false, failure: undefined as Error | undefined };
    const changes = new AChangeFeed();
    const memory = createLimitsMemory({
      findTenant: async (id) => {
        reads.push(id);
        const found = rows.get(id);
        if (bench.isSlow) await new Promise<void>((resolve) => gates.push(resolve));
        if (bench.failure !== undefined) throw bench.failure;
        return found;
      },
      defaults: someLimits(),
      changes,
      logger: createLogger('silent'),
    });
    const write = (maxConnections: number): LimitedTenant => {
      const row = { id: ACME, limits: { maxConnections } };
      rows.set(ACME, row);
      return row;
    };
    return { bench, changes, gates, memory, reads, rows, write };
  }

  it('has the defaults for whom nobody read, and what was read from then on', async () => {
    const { memory, write } = aBench();
    expect(memory.of(ACME)).toEqual(someLimits());
    const row = write(5);
    expect(await memory.find(ACME)).toBe(row);
    expect(memory.of(ACME).maxConnections).toBe(5);
  });

  it('reads whom it does not know aside, once however many ask', async () => {
    const { memory, reads, write } = aBench();
    write(5);
    for (let n = 0; n < 10; n++) expect(memory.of(ACME)).toEqual(someLimits());
    await settled();
    expect(memory.of(ACME).maxConnections).toBe(5);
    expect(reads).toEqual([ACME]);
  });

  it('reads again what changed, and everything after a resync', async () => {
    const { changes, memory, reads, write } = aBench();
    write(5);
    await memory.find(ACME);
    write(6);
    changes.say({ kind: 'tenants', tenantId: ACME });
    await settled();
    expect(memory.of(ACME).maxConnections).toBe(6);
    write(7);
    changes.say({ kind: 'resync' });
    await settled();
    expect(memory.of(ACME).maxConnections).toBe(7);
    changes.say({ kind: 'tenants', tenantId: aTenantId('unheard-of') });
    changes.say({ kind: 'issuers', tenantId: ACME });
    await settled();
    expect(reads).toEqual([ACME, ACME, ACME]);
  });

  it('goes by the last of two reads, whichever comes back first', async () => {
    const { bench, changes, gates, memory, write } = aBench();
    write(5);
    await memory.find(ACME);
    bench.isSlow = true;
    write(6);
    changes.say({ kind: 'tenants', tenantId: ACME });
    write(7);
    changes.say({ kind: 'tenants', tenantId: ACME });
    gates[1]?.();
    await settled();
    gates[0]?.();
    await settled();
    expect(memory.of(ACME).maxConnections).toBe(7);
  });

  it('keeps what it knows while the database is away, and forgets a tenant that is gone', async () => {
    const { bench, changes, memory, rows, write } = aBench();
    write(5);
    await memory.find(ACME);
    bench.failure = new Error('away');
    changes.say({ kind: 'tenants', tenantId: ACME });
    await settled();
    expect(memory.of(ACME).maxConnections).toBe(5);
    bench.failure = undefined;
    rows.clear();
    changes.say({ kind: 'tenants', tenantId: ACME });
    await settled();
    expect(memory.of(ACME)).toEqual(someLimits());
    memory.close();
    expect(changes.listeners).toBe(0);
  });
});
