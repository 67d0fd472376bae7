import { describe, expect, it } from 'vitest';
import { OAuthRefusal, OAuthUnavailable } from '../../src/credential/authorization-server.ts';
import { afterFailure, type Circumstances, FRESH } from '../../src/credential/renewal-failure.ts';
import { ProxyError } from '../../src/shared/errors.ts';

const NOW = 1_700_000_000_000;
const A_PERSONS: Circumstances = { canEnd: true, clientIsGone: false, isAboutCaller: false };
const OUR_OWN: Circumstances = { canEnd: false, clientIsGone: false, isAboutCaller: false };
const state = { ...FRESH, version: '7' };

describe('no answer', () => {
  it('is followed by longer and longer pauses, up to a minute, and never ends a grant (B195)', () => {
    let now = state;
    const pauses: number[] = [];
    for (let n = 0; n < 8; n++) {
      const verdict = afterFailure(new OAuthUnavailable('down'), now, NOW, A_PERSONS);
      if (verdict?.renewed.kind !== 'later') throw new Error('a grant ended for lack of an answer');
      pauses.push(verdict.renewed.retryAfterMs);
      expect(verdict.state).toMatchObject({ version: '7', spent: false, retryAt: NOW + verdict.renewed.retryAfterMs });
      now = { ...state, ...verdict.state, version: '7' };
    }
    expect(pauses).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it('that names a time is waited for at least so long', () => {
    const wait = (ms: number) => afterFailure(new OAuthUnavailable('busy', ms), state, NOW, A_PERSONS)?.renewed;
    expect(wait(7_000)).toMatchObject({ retryAfterMs: 7_000 });
    expect(wait(1)).toMatchObject({ retryAfterMs: 2_000 });
    expect(wait(300_000)).toMatchObject({ retryAfterMs: 300_000 });
  });

  it('forgets no refusal that came before', () => {
    const refusedOnce = { ...state, refusals: 1 };
    expect(afterFailure(new OAuthUnavailable('down'), refusedOnce, NOW, A_PERSONS)?.state.refusals).toBe(1);
  });
});

describe('a refusal', () => {
  const after = (code: string, refusals = 0, circumstances = A_PERSONS) =>
    afterFailure(new OAuthRefusal(code), { ...state, refusals, failures: 3 }, NOW, circumstances);

  it('by invalid_grant ends it at once', () => {
    expect(after('invalid_grant')).toMatchObject({
      renewed: { kind: 'over' },
      state: { version: '7', spent: true, failures: 0, retryAt: undefined },
      why: 'invalid_grant',
    });
  });

  it.each(['invalid_request', 'unauthorized_client', 'invalid_scope', 'unknown_error'])(
    'by %s is believed the second time, a minute later (B197)',
    (code) => {
      expect(after(code)).toMatchObject({
        renewed: { kind: 'later', retryAfterMs: 60_000 },
        state: { spent: false, refusals: 1, retryAt: NOW + 60_000 },
      });
      expect(after(code, 1)).toMatchObject({ renewed: { kind: 'over' }, state: { spent: true, refusals: 2 } });
    },
  );

  it('of the client of an admin is theirs to mend: no grant ends, however often (B168)', () => {
    for (const refusals of [0, 1, 5])
      expect(after('invalid_client', refusals)).toMatchObject({
        renewed: { kind: 'later', retryAfterMs: 2_000, reason: expect.stringContaining('clientId') },
        state: { spent: false, refusals },
      });
  });

  it('of a registration of ours that is gone ends the grants that were given to it (B207)', () => {
    expect(after('invalid_client', 0, { ...A_PERSONS, clientIsGone: true })).toMatchObject({
      renewed: { kind: 'over' },
      state: { spent: true },
    });
  });

  it.each(['invalid_grant', 'invalid_request', 'invalid_client'])(
    'by %s of what we ask for as ourselves never is the last word',
    (code) => {
      for (const refusals of [0, 1, 9])
        expect(after(code, refusals, OUR_OWN)).toMatchObject({ renewed: { kind: 'later' }, state: { spent: false } });
    },
  );
});

describe('anything else', () => {
  it('that says what an admin has to do is passed on, with a pause', () => {
    const verdict = afterFailure(new ProxyError('upstream_protocol', 'No PKCE there.'), state, NOW, A_PERSONS);
    expect(verdict).toMatchObject({
      renewed: { kind: 'later', retryAfterMs: 2_000, reason: 'No PKCE there' },
      state: { spent: false, failures: 1, retryAt: NOW + 2_000 },
    });
  });

  it.each([new ProxyError('internal', 'x'), new TypeError('a fault of ours'), 'text'])(
    'such as %s is no verdict about a grant',
    (error) => {
      expect(afterFailure(error, state, NOW, A_PERSONS)).toBeUndefined();
    },
  );
});
