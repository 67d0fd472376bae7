import { describe, expect, it } from 'vitest';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import { Pool } from '../../src/connection/pool.ts';
import { createAskForCredential } from '../../src/proxy/ask-for-credential.ts';
import { createWithUpstream } from '../../src/proxy/with-upstream.ts';
import { CredentialRefusedError, NotRunError, SignInRequiredError } from '../../src/shared/errors.ts';
import { createLogger } from '../../src/shared/logger.ts';
import type { Reply } from '../../src/wire/reply.ts';
import { aGrantsBench, anna, server, tokens, type Wishes } from '../credential/grants-bench.ts';
import { aServer } from '../credential/in-memory.ts';
import { InMemoryScopes } from '../credential/in-memory-oauth.ts';
import { someLimits } from '../support/limits.ts';
import { NEVER, OK, type Outcome, ScriptedConnection } from './support.ts';

const CHALLENGE = 'Bearer error="insufficient_scope", scope="write"';
const lacks = (...scopes: string[]) => new CredentialRefusedError(403, CHALLENGE, scopes);
const unauthorized = new CredentialRefusedError(401, 'Bearer error="invalid_token"');
const forbidden = new CredentialRefusedError(403, undefined);

/** Calls of one person, over real grants. */
function aBench(wishes: Wishes = {}) {
  const grants = aGrantsBench();
  const { clock, broker, ticketRows } = grants;
  const scopes = new InMemoryScopes();
  const sent: string[] = [];
  const connections: ScriptedConnection[] = [];
  let outcomes: Outcome[] = [];
  const pool = new Pool({
    dial: async (_server, credential) => {
      const connection = new ScriptedConnection(credential, () => {
        sent.push(credential.kind === 'static' ? credential.secret.reveal() : credential.kind);
        return outcomes.shift() ?? OK;
      });
      connections.push(connection);
      return connection;
    },
    clock,
    logger: createLogger('silent'),
    limitsOf: () => someLimits({ maxConnections: 10 }),
  });
  const askForCredential = createAskForCredential({ broker, scopes, clock });
  const withUpstream = createWithUpstream({ broker, pool, askForCredential });
  const call = (tool: string | undefined, then: Outcome[], of: UpstreamServer = server): Promise<Reply> => {
    outcomes = then;
    const use = ({ connection }: { connection: ScriptedConnection }) =>
      connection.request({ method: 'tools/call', params: {}, signal: NEVER });
    return withUpstream(of, anna, NEVER, use as never, tool);
  };
  const asked = () => ticketRows.rows.map((row) => ({ challenge: row.challenge, scopes: row.scopes }));
  const needs = () => scopes.rows.map((row) => [row.key.owner, row.tool, row.scopes]);
  const signIn = (more: Wishes = wishes) => grants.signIn(more);
  return { ...grants, connections, sent, call, asked, needs, signIn, pool };
}

describe('a call that lacks a scope', () => {
  it('is not tried again and nothing is renewed: its person is asked, with what is missing (T10, B171)', async () => {
    const bench = aBench();
    await bench.signIn();
    await expect(bench.call('write_note', [lacks('write')])).rejects.toMatchObject({ code: 'sign_in_required' });
    expect([bench.sent, bench.refreshes]).toEqual([['access-0'], []]);
    expect(bench.asked()).toEqual([{ challenge: CHALLENGE, scopes: ['write'] }]);
    expect(bench.needs()).toEqual([['p:anna', 'write_note', ['write']]]);
  });

  it('says nothing against the connection, which other tools go on using', async () => {
    const bench = aBench();
    await bench.signIn();
    await bench.call('write_note', [lacks('write')]).catch(() => undefined);
    await bench.call('read_note', [OK]);
    expect(bench.connections.map(({ isClosed }) => isClosed)).toEqual([false]);
  });

  it('leaves a credential that nobody is told they are connected by', async () => {
    const bench = aBench();
    await bench.signIn();
    await bench.call('write_note', [lacks('write')]).catch(() => undefined);
    const credential = await bench.broker.find(server, anna);
    expect(credential && bench.broker.isRefused(server, credential)).toBe(true);
  });

  it('leaves it so when it is renewed, for that brings the same scopes', async () => {
    const bench = aBench();
    await bench.signIn({ lifeMs: 300_000 });
    await bench.call('write_note', [lacks('write')]).catch(() => undefined);
    bench.clock.advance(299_000);
    const renewed = await bench.broker.find(server, anna);
    expect(bench.refreshes).toHaveLength(1);
    expect(renewed && bench.broker.isRefused(server, renewed)).toBe(true);
    await bench.signIn({ signInId: 'second' });
    const anew = await bench.broker.look(server, anna);
    expect(anew && bench.broker.isRefused(server, anew)).toBe(false);
  });

  it('leaves it so until that tool is taken, whatever others are', async () => {
    const bench = aBench();
    await bench.signIn();
    await bench.call('write_note', [lacks('write')]).catch(() => undefined);
    const credential = await bench.broker.find(server, anna);
    const isRefused = () => credential && bench.broker.isRefused(server, credential);
    await bench.call('read_note', [OK]);
    expect(isRefused()).toBe(true);
    await bench.call('write_note', [OK]);
    expect(isRefused()).toBe(false);
  });

  it('asks in the same words again while its person has not signed in', async () => {
    const bench = aBench();
    await bench.signIn();
    const errors = [];
    for (let n = 0; n < 3; n++)
      errors.push(await bench.call('write_note', [lacks('write')]).catch((error: unknown) => error));
    expect(new Set(errors.map((error) => error instanceof SignInRequiredError && error.url)).size).toBe(1);
    expect(bench.asked()).toHaveLength(1);
  });

  it('asks no more when that was asked for and is refused again: "denied", which names it', async () => {
    const bench = aBench();
    await bench.signIn({ scopes: ['read', 'write'] });
    await expect(bench.call('write_note', [lacks('write')])).rejects.toMatchObject({
      code: 'denied',
      data: { server: 'notes', scopes: ['write'] },
      message: expect.stringContaining('write'),
    });
    expect([bench.asked(), bench.needs(), bench.refreshes]).toEqual([[], [], []]);
  });

  it('asks again ten minutes after the sign-in, for the person may be able to grant it by then', async () => {
    const bench = aBench();
    await bench.signIn({ scopes: ['read', 'write'] });
    bench.clock.advance(600_000 - 1);
    await expect(bench.call('write_note', [lacks('write')])).rejects.toMatchObject({ code: 'denied' });
    bench.clock.advance(1);
    await expect(bench.call('write_note', [lacks('write')])).rejects.toMatchObject({ code: 'sign_in_required' });
    expect(bench.asked()).toEqual([{ challenge: CHALLENGE, scopes: ['write'] }]);
  });

  it('asks again when something else is missing as well', async () => {
    const bench = aBench();
    await bench.signIn({ scopes: ['read', 'write'] });
    await expect(bench.call('t', [lacks('write', 'admin')])).rejects.toMatchObject({ code: 'sign_in_required' });
    expect(bench.asked()).toMatchObject([{ scopes: ['write', 'admin'] }]);
  });

  it('that is not named asks with the challenge alone, and remembers nothing', async () => {
    const bench = aBench();
    await bench.signIn();
    await expect(bench.call('t', [lacks()])).rejects.toMatchObject({ code: 'sign_in_required' });
    expect([bench.asked(), bench.needs()]).toEqual([[{ challenge: CHALLENGE, scopes: [] }], []]);
  });

  it('is remembered without a tool where the request was for none', async () => {
    const bench = aBench();
    await bench.signIn();
    await bench.call(undefined, [lacks('list')]).catch(() => undefined);
    expect(bench.needs()).toEqual([['p:anna', '', ['list']]]);
  });

  it('does so after a renewal too: two requests, one renewal, one question', async () => {
    const bench = aBench();
    await bench.signIn();
    bench.answers.push(async () => tokens('access-1'));
    await expect(bench.call('t', [unauthorized, lacks('write')])).rejects.toMatchObject({ code: 'sign_in_required' });
    expect(bench.sent).toEqual(['access-0', 'access-1']);
    expect(bench.refreshes).toHaveLength(1);
    expect(bench.asked()).toMatchObject([{ scopes: ['write'] }]);
  });

  it('is for an admin where nobody signs in', async () => {
    const bench = aBench();
    const ours = aServer({ credential: { kind: 'oauth', oauth: {} } });
    const tenants = { ...ours, credential: { ...ours.credential, owner: 'tenant', kind: 'secret' } } as UpstreamServer;
    const ask = createAskForCredential({ broker: bench.broker, scopes: new InMemoryScopes(), clock: bench.clock });
    const refused = { error: lacks('write'), credential: { kind: 'none' } as const };
    expect(await ask(tenants, anna, refused, 't')).toMatchObject({
      code: 'upstream_unavailable',
      message: expect.stringContaining('admin'),
    });
    expect(bench.asked()).toEqual([]);
  });
});

describe('a call whose credential is refused', () => {
  it('is renewed once and sent once more (T10)', async () => {
    const bench = aBench();
    await bench.signIn();
    await expect(bench.call('t', [unauthorized, OK])).resolves.toBe(OK);
    expect(bench.sent).toEqual(['access-0', 'access-2']);
    expect(bench.refreshes).toHaveLength(1);
    expect(bench.asked()).toEqual([]);
  });

  it.each([
    ['401', unauthorized, 'Bearer error="invalid_token"'],
    ['403 without a challenge', forbidden, undefined],
  ])(
    'by %s twice is the end of it: one renewal, one question, never a third try (B173)',
    async (_, refusal, challenge) => {
      const bench = aBench();
      await bench.signIn();
      await expect(bench.call('t', [refusal, refusal])).rejects.toMatchObject({ code: 'sign_in_required' });
      expect(bench.sent).toHaveLength(2);
      expect(bench.refreshes).toHaveLength(1);
      expect(bench.asked()).toEqual([{ challenge, scopes: [] }]);
      expect(bench.needs()).toEqual([]);
    },
  );

  it('and taken again by the next call is not called refused any more', async () => {
    const bench = aBench();
    await bench.signIn({ refreshToken: '' });
    await bench.call('t', [unauthorized]).catch(() => undefined);
    const credential = await bench.broker.find(server, anna);
    const isRefused = () => credential && bench.broker.isRefused(server, credential);
    // Such work may not have sent a word.
    await bench.call(undefined, [OK]);
    expect(isRefused()).toBe(true);
    await bench.call('other', [OK]);
    expect(isRefused()).toBe(false);
  });

  it('after a lost session is renewed and sent once more', async () => {
    const bench = aBench();
    await bench.signIn();
    await expect(bench.call('t', [new NotRunError('lost'), unauthorized, OK])).resolves.toBe(OK);
    expect(bench.sent).toEqual(['access-0', 'access-0', 'access-2']);
    expect([bench.refreshes.length, bench.asked()]).toEqual([1, []]);
  });

  it('by a hostile server each time costs one renewal in half a minute, however many call (T10)', async () => {
    const bench = aBench();
    await bench.signIn();
    for (let n = 0; n < 10; n++) await bench.call('t', [unauthorized, unauthorized]).catch(() => undefined);
    expect(bench.refreshes).toHaveLength(1);
  });

  it('and cannot be renewed now is told to come later: its person could do nothing', async () => {
    const bench = aBench();
    await bench.signIn();
    bench.answers.push(() => Promise.reject(new TypeError('a fault of ours')));
    await expect(bench.call('t', [unauthorized])).rejects.toThrow('a fault of ours');
    expect(bench.asked()).toEqual([]);
  });
});

describe('a call without a credential', () => {
  it('asks without any wish', async () => {
    const bench = aBench();
    await expect(bench.call('t', [])).rejects.toMatchObject({ code: 'sign_in_required' });
    expect([bench.asked(), bench.sent]).toEqual([[{ challenge: undefined, scopes: [] }], []]);
  });
});
