import { describe, expect, it } from 'vitest';
import { createShares } from '../../src/limits/shares.ts';
import type { TenantLimits } from '../../src/limits/tenant-limits.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { parseTenantId, type TenantId } from '../../src/shared/id.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { someLimits } from '../support/limits.ts';

function aBench(limits: Readonly<Record<string, Partial<TenantLimits>>>) {
  const clock = new FakeClock();
  const known = new Map(Object.entries(limits));
  const shares = createShares((tenantId) => someLimits(known.get(tenantId)), clock);
  const outcome = (tenant: string, person = 'anna'): 'taken' | ProxyError => {
    try {
      shares.take({ tenantId: parseTenantId(tenant) as TenantId, key: `${tenant}\u0000${person}` });
      return 'taken';
    } catch (error) {
      if (error instanceof ProxyError) return error;
      throw error;
    }
  };
  const taken = (times: number, tenant: string, person?: string): number =>
    Array.from({ length: times }, () => outcome(tenant, person)).filter((one) => one === 'taken').length;
  return { clock, known, outcome, taken };
}

describe('the share of a tenant', () => {
  it('is two seconds worth at once, then the rate; refusals say when to come again', () => {
    const { clock, outcome, taken } = aBench({ acme: { requestsPerSecond: 50 } });
    expect(taken(1_000, 'acme')).toBe(100);
    const refusal = outcome('acme');
    expect(refusal).toMatchObject({ code: 'rate_limited', data: { retryAfterMs: 20 } });
    clock.advance(20);
    expect(taken(10, 'acme')).toBe(1);
    clock.advance(1_000);
    expect(taken(1_000, 'acme')).toBe(50);
  });

  it('is named in the refusal', () => {
    const { outcome, taken } = aBench({ one: { requestsPerSecond: 1 }, two: { requestsPerSecondPerPrincipal: 2 } });
    expect([taken(100, 'one'), taken(100, 'two')]).toEqual([20, 20]);
    expect(outcome('one')).toMatchObject({ message: 'At most 1 request a second for this tenant; try again shortly.' });
    expect(outcome('two')).toMatchObject({ message: 'At most 2 requests a second for one person; try again shortly.' });
  });

  it('leaves every request of another tenant alone, though it asks for ten times its limit', () => {
    const { clock, taken } = aBench({ acme: { requestsPerSecond: 100 }, umbrella: { requestsPerSecond: 100 } });
    let ofAcme = 0;
    let ofUmbrella = 0;
    for (let n = 0; n < 1_000; n++) {
      ofAcme += taken(10, 'acme', `p${n % 7}`);
      ofUmbrella += taken(1, 'umbrella');
      clock.advance(10);
    }
    expect(ofUmbrella).toBe(1_000);
    expect(ofAcme).toBeLessThanOrEqual(200 + 1_000 + 1);
    expect(ofAcme).toBeGreaterThanOrEqual(1_000);
  });

  it('changes with the limit, from the next request on', () => {
    const { known, taken } = aBench({ acme: { requestsPerSecond: 20 } });
    expect(taken(100, 'acme')).toBe(40);
    known.set('acme', {});
    expect(taken(10_000, 'acme')).toBe(10_000);
  });

  it('is not counted where there is no limit', () => {
    expect(aBench({}).taken(100_000, 'acme')).toBe(100_000);
  });

  it('lets an agent that connects ask for a few things at once, however small the rate', () => {
    expect(aBench({ acme: { requestsPerSecond: 1 } }).taken(100, 'acme')).toBe(20);
  });
});

describe('the share of one person', () => {
  it('leaves the others of the tenant their own', () => {
    const { taken } = aBench({ acme: { requestsPerSecondPerPrincipal: 50 } });
    expect(taken(1_000, 'acme', 'anna')).toBe(100);
    expect(taken(100, 'acme', 'ben')).toBe(100);
  });

  it('is not used up by what the tenant as a whole was refused', () => {
    const { clock, taken } = aBench({ acme: { requestsPerSecond: 100, requestsPerSecondPerPrincipal: 50 } });
    expect(taken(100, 'acme', 'anna')).toBe(100);
    expect(taken(100, 'acme', 'ben')).toBe(100);
    expect(taken(500, 'acme', 'carl')).toBe(0);
    clock.advance(1_000);
    expect(taken(500, 'acme', 'carl')).toBe(100);
  });

  it('takes nothing of the tenant that it was refused itself', () => {
    const { taken } = aBench({ acme: { requestsPerSecond: 100, requestsPerSecondPerPrincipal: 50 } });
    expect(taken(10_000, 'acme', 'anna')).toBe(100);
    expect(taken(100, 'acme', 'ben')).toBe(100);
  });
});
