// Who shares an address with a flood of strangers still gets in with a key that was good before.
import { describe, expect, it } from 'vitest';
import { createAdmit } from '../../src/admin/admit.ts';
import { createStrangers } from '../../src/limits/strangers.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { Secret } from '../../src/shared/secret.ts';
import { aTenantId } from '../credential/in-memory.ts';
import { FakeClock } from '../support/fake-clock.ts';

type FoundKey = Awaited<ReturnType<Parameters<typeof createAdmit>[0]['findAgentKey']>>;

const ACME = aTenantId('acme');
const from = (): string => '192.0.2.1';

function aBench() {
  const bench = { good: new Set(['kb_good']), isAway: false };
  const admit = createAdmit({
    adminKey: new Secret('operator'),
    strangers: createStrangers(new FakeClock(), createLogger('silent')),
    findAgentKey: async (text) => {
      if (bench.isAway) throw new Error('away');
      return bench.good.has(text) ? ({ tenantId: ACME, scopes: [`admin:${ACME}`] } as unknown as FoundKey) : undefined;
    },
  });
  const ask = (key: string) => admit(`Bearer ${key}`, from);
  const flood = async (): Promise<void> => {
    for (let n = 0; n < 1_000; n++) await ask(`kb_bad${n}`).catch(() => undefined);
    await expect(ask('kb_bad')).rejects.toMatchObject({ code: 'rate_limited' });
  };
  return { bench, ask, flood };
}

describe('an admin of a tenant behind an address that is flooded', () => {
  it('is let in with a key that was good before, until it is no more', async () => {
    const { bench, ask, flood } = aBench();
    expect(await ask('kb_good')).toEqual({ kind: 'tenant', tenantId: ACME });
    await flood();
    expect(await ask('kb_good')).toEqual({ kind: 'tenant', tenantId: ACME });
    bench.good.clear();
    expect(await ask('kb_good')).toBeUndefined();
    await expect(ask('kb_good')).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('is not blamed for a database that is away', async () => {
    const { bench, ask } = aBench();
    bench.isAway = true;
    for (let n = 0; n < 1_500; n++) await expect(ask('kb_good')).rejects.toThrow('away');
    bench.isAway = false;
    expect(await ask('kb_good')).toEqual({ kind: 'tenant', tenantId: ACME });
  });
});
