import { describe, expect, it } from 'vitest';
import type { McpRoute } from '../../src/agent/route.ts';
import { type Session, Sessions } from '../../src/agent/sessions.ts';
import type { PrincipalId, TenantId } from '../../src/shared/id.ts';
import { ACME, ANNA, aCaller, BEN } from '../catalog/a-tenant.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { someLimits } from '../support/limits.ts';

const route: McpRoute = { tenant: undefined, only: undefined, path: '/mcp' };
const HOUR = 3_600_000;

function aBench() {
  const clock = new FakeClock();
  const sessions = new Sessions(clock, () => someLimits());
  return { clock, sessions, open: (caller = aCaller()) => sessions.open(caller, route, '2025-11-25', {}) };
}

describe('a session', () => {
  it('is found by the caller who opened it', () => {
    const { sessions, open } = aBench();
    const session = open();
    expect(sessions.find(session.id, aCaller(), route)).toBe(session);
    expect(session).toMatchObject({ version: '2025-11-25', path: '/mcp' });
  });

  it('B252: does not exist for anybody else, and the three kinds of unknown look the same', () => {
    const { sessions, open } = aBench();
    const session = open();
    for (const stranger of [aCaller(BEN), aCaller('Anna' as PrincipalId), aCaller(ANNA, 'umbrella' as TenantId)])
      expect(sessions.find(session.id, stranger, route)).toBeUndefined();
    sessions.end(session);
    for (const id of [session.id, 'x'.repeat(43), '', '__proto__', 'constructor'])
      expect(sessions.find(id, aCaller(), route)).toBeUndefined();
    expect(ACME).toBe('acme');
  });

  it('belongs to the path it was opened on', () => {
    const { sessions, open } = aBench();
    const session = open();
    expect(sessions.find(session.id, aCaller(), { ...route, only: 'linear', path: '/mcp/linear' })).toBeUndefined();
  });

  it('has an id that nobody can guess and that never comes again', () => {
    const { open } = aBench();
    const ids = new Set(Array.from({ length: 500 }, () => open().id));
    expect(ids.size).toBe(500);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  it('takes its stream and its requests with it when it ends', () => {
    const { sessions, open } = aBench();
    const session = open();
    let closed = 0;
    session.stream = { say: () => undefined, end: () => closed++ };
    const controller = new AbortController();
    session.inFlight = new Map([['1', controller]]);
    sessions.end(session);
    sessions.end(session);
    expect([closed, sessions.size]).toEqual([1, 0]);
    expect(controller.signal.reason).toMatchObject({ code: 'cancelled' });
  });
});

describe('the end of a session', () => {
  it('B270: comes by itself after an idle hour', () => {
    const { clock, sessions, open } = aBench();
    open();
    clock.advance(HOUR);
    expect(sessions.size).toBe(1);
    clock.advance(60_000);
    expect(sessions.size).toBe(0);
  });

  it('does not come while it is used', () => {
    const { clock, sessions, open } = aBench();
    const session = open();
    for (let n = 0; n < 5; n++) {
      clock.advance(HOUR - 60_000);
      expect(sessions.find(session.id, aCaller(), route)).toBe(session);
    }
  });

  it('does not come while a stream is open or a request runs', () => {
    const { clock, sessions, open } = aBench();
    const [streaming, running] = [open(), open()];
    streaming.stream = { say: () => undefined, end: () => undefined };
    running.inFlight = new Map([['1', new AbortController()]]);
    clock.advance(5 * HOUR);
    expect(sessions.size).toBe(2);
    streaming.stream = undefined;
    running.inFlight.clear();
    clock.advance(60_000);
    expect(sessions.size).toBe(0);
  });

  it('leaves no timer when all is closed', () => {
    const { clock, sessions, open } = aBench();
    open();
    sessions.close();
    expect([sessions.size, clock.pending]).toEqual([0, 0]);
  });
});

describe('too many sessions of one caller', () => {
  it('end the one that was used longest ago, and never one of another caller', () => {
    const { clock, sessions, open } = aBench();
    const foreign = open(aCaller(BEN));
    const first = open();
    const second = open();
    for (let n = 2; n < 1_000; n++) open();
    clock.advance(1_000);
    sessions.find(first.id, aCaller(), route);
    open();
    expect(sessions.find(second.id, aCaller(), route)).toBeUndefined();
    expect(sessions.find(first.id, aCaller(), route)).toBe(first);
    expect(sessions.find(foreign.id, aCaller(BEN), route)).toBe(foreign);
    expect(sessions.size).toBe(1_001);
  });

  it('of one tenant end its own longest unused, whatever another tenant has', () => {
    const clock = new FakeClock();
    const sessions = new Sessions(clock, () => someLimits({ maxSessions: 3 }));
    const open = (principal: string, tenant = 'acme') =>
      sessions.open(aCaller(principal as PrincipalId, tenant as TenantId), route, '2025-11-25', {});
    const isThere = (session: Session, principal: string, tenant = 'acme'): boolean =>
      sessions.find(session.id, aCaller(principal as PrincipalId, tenant as TenantId), route) !== undefined;
    const foreign = open('x', 'umbrella');
    const [a, b, c] = [open('a'), open('b'), open('c')];
    clock.advance(1);
    expect(isThere(a, 'a')).toBe(true);
    const d = open('d');
    expect([isThere(a, 'a'), isThere(b, 'b'), isThere(c, 'c'), isThere(d, 'd')]).toEqual([true, false, true, true]);
    expect(isThere(foreign, 'x', 'umbrella')).toBe(true);
  });

  it('B268: are forgotten when they end', () => {
    const { sessions, open } = aBench();
    for (let n = 0; n < 3_000; n++) sessions.end(open());
    expect(sessions.size).toBe(0);
  });
});
