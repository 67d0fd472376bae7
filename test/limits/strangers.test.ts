import { describe, expect, it } from 'vitest';
import { createStrangers, type Strangers } from '../../src/limits/strangers.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { aTenantId } from '../credential/in-memory.ts';
import { FakeClock } from '../support/fake-clock.ts';

const ACME = aTenantId('acme');

function aBench() {
  const clock = new FakeClock();
  const lines: string[] = [];
  const strangers = createStrangers(clock, createLogger('debug', { write: (line) => void lines.push(line) }));
  const passed = (times: number, ask: (strangers: Strangers) => void): number => {
    let count = 0;
    for (let n = 0; n < times; n++) {
      try {
        ask(strangers);
        count++;
      } catch (error) {
        expect(error).toBeInstanceOf(ProxyError);
        expect(error).toMatchObject({ code: 'rate_limited' });
      }
    }
    return count;
  };
  return { clock, lines, strangers, passed };
}

describe('an address', () => {
  it('asks a thousand times without a good credential, then fifty times a second', () => {
    const { clock, passed } = aBench();
    expect(passed(5_000, (all) => all.count('192.0.2.1'))).toBe(1_000);
    clock.advance(1_000);
    expect(passed(5_000, (all) => all.count('192.0.2.1'))).toBe(50);
    expect(passed(1, (all) => all.count('192.0.2.2'))).toBe(1);
  });

  it('is not counted for what turned out to be good', () => {
    const { passed } = aBench();
    const goodOne = (all: Strangers): void => {
      all.count('192.0.2.1');
      all.forgive('192.0.2.1');
    };
    expect(passed(100_000, goodOne)).toBe(100_000);
  });

  it('opens pages and begins sign-ins, each with a measure of its own', () => {
    const { clock, passed } = aBench();
    expect(passed(5_000, (all) => all.countPage('192.0.2.1'))).toBe(300);
    expect(passed(5_000, (all) => all.countDeparture('192.0.2.1', ACME))).toBe(60);
    expect(passed(1, (all) => all.count('192.0.2.1'))).toBe(1);
    clock.advance(10_000);
    expect(passed(5_000, (all) => all.countPage('192.0.2.1'))).toBe(200);
    expect(passed(5_000, (all) => all.countDeparture('192.0.2.1', ACME))).toBe(10);
  });

  it('has no part in what others begin for a tenant, until all of them together are too many', () => {
    const { passed } = aBench();
    let n = 0;
    expect(passed(5_000, (all) => all.countDeparture(`10.0.0.${n++}`, ACME))).toBe(600);
    expect(passed(1, (all) => all.countDeparture('192.0.2.1', aTenantId('umbrella')))).toBe(1);
  });

  it('that asks too often stands in the log, once a minute', () => {
    const { clock, lines, passed } = aBench();
    passed(5_000, (all) => all.count('192.0.2.1'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('192.0.2.1');
    clock.advance(60_000);
    passed(5_000, (all) => all.countPage('192.0.2.2'));
    expect(lines).toHaveLength(2);
  });
});
