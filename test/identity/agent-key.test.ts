import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createAgentKey, isAgentKey } from '../../src/identity/agent-key.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tenant } from './support.ts';

const clock = new FakeClock();
const plain = { tenantId: tenant('a'), name: 'ci', scopes: [], expiresAt: undefined } as const;

describe('making an agent key', () => {
  it('gives 256 fresh bits behind kb_ and keeps only their SHA-256', () => {
    const { key, record } = createAgentKey({ ...plain, principal: 'ann' }, clock);
    expect(key).toMatch(/^kb_[A-Za-z0-9_-]{43}$/);
    expect(record.keyHash).toEqual(createHash('sha256').update(key).digest());
    expect(JSON.stringify(record)).not.toContain(key.slice(3));
    expect(createAgentKey({ ...plain, principal: 'ann' }, clock).key).not.toBe(key);
  });

  it('records whom it acts for', () => {
    expect(createAgentKey({ ...plain, principal: 'ann' }, clock).record).toMatchObject({
      principal: 'ann',
      mayActFor: [],
      createdAt: clock.now(),
    });
    expect(createAgentKey({ ...plain, mayActFor: '*' }, clock).record).toMatchObject({
      principal: undefined,
      mayActFor: '*',
    });
  });

  it('refuses a key that acts for nobody, unless it is for the admin API only', () => {
    expect(() => createAgentKey(plain, clock)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    expect(createAgentKey({ ...plain, scopes: ['admin:a'] }, clock).record.scopes).toEqual(['admin:a']);
  });

  it('refuses impossible principals and an expiry in the past', () => {
    for (const principal of ['', ' ann', 'a\u0000b', 'x'.repeat(513)]) {
      expect(() => createAgentKey({ ...plain, principal }, clock)).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
      expect(() => createAgentKey({ ...plain, mayActFor: [principal] }, clock)).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    }
    for (const expiresAt of [clock.now(), Number.NaN]) {
      expect(() => createAgentKey({ ...plain, principal: 'ann', expiresAt }, clock)).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    }
  });

  it('knows the form of a key', () => {
    expect(isAgentKey(createAgentKey({ ...plain, principal: 'ann' }, clock).key)).toBe(true);
    for (const text of ['', 'kb_', 'kb_short', `kb_${'a'.repeat(44)}`, `xx_${'a'.repeat(43)}`])
      expect(isAgentKey(text)).toBe(false);
  });
});
