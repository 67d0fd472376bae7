import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoredAttempt } from '../../src/credential/attempt-store.ts';
import type { Change } from '../../src/shared/changes.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { openChangeFeed } from '../../src/store/change-feed.ts';
import { createCredentialStore } from '../../src/store/credentials.ts';
import { createClientStore } from '../../src/store/oauth-clients.ts';
import { createScopeStore } from '../../src/store/scope-needs.ts';
import { createServerStore } from '../../src/store/servers.ts';
import { createAttemptStore } from '../../src/store/sign-in-attempts.ts';
import { oauthServer } from '../credential/clients-bench.ts';
import { answerOf, type Begun, FlowBench } from '../credential/consent-flow-bench.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { eventually } from './eventually.ts';
import { addServer, principalId, tenantId } from './open-store.ts';
import { openTwoNodes, type TwoNodes } from './two-nodes.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const acme = tenantId('acme');

let nodes: TwoNodes;
beforeAll(async () => {
  nodes = await openTwoNodes();
});
afterAll(() => nodes.close());

const aStore = () => createAttemptStore(nodes.next());

const anAttempt = (over: Partial<StoredAttempt> = {}): Omit<StoredAttempt, 'state'> => ({
  tenantId: acme,
  stateHash: randomBytes(32),
  contextId: 'context',
  principalId: principalId('ada'),
  serverId: 's' as StoredAttempt['serverId'],
  binding: 'b',
  browserHash: randomBytes(32),
  sealed: randomBytes(400),
  expiresAt: NOW + 10 * MINUTE,
  ...over,
});

async function aKeptAttempt(over: Partial<StoredAttempt> = {}): Promise<Omit<StoredAttempt, 'state'>> {
  const attempt = anAttempt(over);
  await aStore().create(attempt);
  return attempt;
}

describe('an attempt to sign in', () => {
  it('comes out as it went in, on each node', async () => {
    const attempt = await aKeptAttempt();
    for (let n = 0; n < 2; n++)
      expect(await aStore().find(attempt.stateHash, NOW)).toEqual({ ...attempt, state: 'open' });
    expect(await aStore().find(randomBytes(32), NOW)).toBeUndefined();
  });

  it('is taken by one of fifty who come at once, and never again (T4)', async () => {
    const { stateHash } = await aKeptAttempt();
    const taken = await Promise.all(Array.from({ length: 50 }, () => aStore().take(acme, stateHash, NOW)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect((await aStore().find(stateHash, NOW))?.state).toBe('taken');
    for (const end of ['connected', 'denied', 'failed'] as const) {
      await aStore().end(acme, stateHash, end);
      expect(await aStore().take(acme, stateHash, NOW)).toBe(false);
      expect((await aStore().find(stateHash, NOW))?.state).toBe(end);
    }
  });

  it('ends at its time while it is open, and is told about for ever once it was taken (B158)', async () => {
    const [left, used] = [await aKeptAttempt(), await aKeptAttempt()];
    expect(await aStore().find(left.stateHash, left.expiresAt - 1)).toBeDefined();
    expect(await aStore().find(left.stateHash, left.expiresAt)).toBeUndefined();
    expect(await aStore().take(acme, left.stateHash, left.expiresAt)).toBe(false);
    expect(await aStore().take(acme, used.stateHash, used.expiresAt - 1)).toBe(true);
    expect((await aStore().find(used.stateHash, used.expiresAt + 1))?.state).toBe('taken');
  });

  it('is touched by nobody who names another tenant', async () => {
    const { stateHash } = await aKeptAttempt();
    expect(await aStore().take(tenantId('beta'), stateHash, NOW)).toBe(false);
    await aStore().end(tenantId('beta'), stateHash, 'failed');
    expect((await aStore().find(stateHash, NOW))?.state).toBe('open');
  });

  it('counts as open for its person and tenant while it is neither taken nor over', async () => {
    const grace = principalId('grace');
    const first = await aKeptAttempt({ principalId: grace });
    await aKeptAttempt({ principalId: grace, expiresAt: NOW + 1 });
    await aKeptAttempt({ principalId: grace, tenantId: tenantId('beta') });
    expect(await aStore().countOpen(acme, grace, NOW)).toBe(2);
    expect(await aStore().countOpen(acme, grace, NOW + 1)).toBe(1);
    await aStore().take(acme, first.stateHash, NOW);
    expect(await aStore().countOpen(acme, grace, NOW + 1)).toBe(0);
  });

  it('does not pile up: a new one sweeps those of its tenant that ended a day ago, whoever began them', async () => {
    const old = await aKeptAttempt({ principalId: principalId('swept-never-back') });
    const beta = await aKeptAttempt({ principalId: principalId('swept-beta'), tenantId: tenantId('beta') });
    const young = await aKeptAttempt({
      principalId: principalId('swept-young'),
      expiresAt: old.expiresAt + 2 * 60 * MINUTE,
    });
    await aKeptAttempt({ principalId: principalId('sweeper'), expiresAt: old.expiresAt + 25 * 60 * MINUTE });
    const left = await nodes.admin.query(
      `SELECT principal_id FROM sign_in_attempts WHERE principal_id LIKE 'swept-%' ORDER BY 1`,
    );
    expect(left.map(({ principal_id }) => principal_id)).toEqual([beta.principalId, young.principalId]);
  });

  it('goes with its server (B170)', async () => {
    const serverId = await addServer(nodes.next(), acme, 'leaves');
    const { stateHash } = await aKeptAttempt({ serverId });
    await createServerStore(nodes.next()).remove(acme, 'leaves');
    expect(await aStore().find(stateHash, NOW)).toBeUndefined();
  });
});

/** Each with a vault of its own, so no two may meet at one server. */
function aFlow(name: string): FlowBench {
  return new FlowBench(oauthServer({}, {}, { name }), () => {
    const database = nodes.next();
    return {
      attempts: createAttemptStore(database),
      clients: createClientStore(database),
      credentials: createCredentialStore(database),
      scopes: createScopeStore(database),
    };
  });
}

describe('sign-ins on two nodes over one database', () => {
  it('begin on one and end on the other (B157)', async () => {
    const bench = aFlow('either');
    const begun = await bench.begin();
    expect(await bench.comeBack(begun, { code: 'c' }, bench.node())).toEqual({ kind: 'connected' });
    expect((await bench.flows.find(begun.id))?.state).toBe('connected');
    const rows = await createCredentialStore(nodes.next()).listOf(acme, 'p:anna');
    expect(rows).toMatchObject([{ kind: 'grant', details: { issuer: 'https://as.example', scopes: ['read'] } }]);
  });

  it('exchange once of fifty parallel callbacks; the others are told it is taken (T4, B161)', async () => {
    const bench = aFlow('fifty');
    const both = [bench.flows, bench.node()] as const;
    const begun = await bench.begin({ principalId: principalId('fifty') });
    const ends = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        const flows = both[n % 2 === 0 ? 0 : 1];
        return flows.finish(await bench.attempt(begun, flows), answerOf(begun));
      }),
    );
    const kinds = ends.map(({ kind }) => kind);
    expect([
      kinds.filter((kind) => kind === 'connected').length,
      kinds.filter((kind) => kind === 'taken').length,
    ]).toEqual([1, 49]);
    expect(bench.as.exchanges).toHaveLength(1);
  });

  it('open only as themselves: with their sealed texts swapped all fail, and nothing is exchanged (T22)', async () => {
    const bench = aFlow('swapped');
    const people = [principalId('swap'), principalId('swap'), principalId('swap-other')];
    const begun: Begun[] = [];
    for (const person of people) begun.push(await bench.begin({ principalId: person }));
    // Round in a ring: the second is of the same person as the first, the third of another.
    const hashes = begun.map(({ id }) => Buffer.from(id, 'base64url'));
    const sealed = await Promise.all(hashes.map((hash) => aStore().find(hash, bench.clock.now())));
    for (const [n, hash] of hashes.entries())
      await nodes.admin.query('UPDATE sign_in_attempts SET sealed = $2 WHERE state_hash = $1', [
        hash,
        sealed[(n + 1) % sealed.length]?.sealed,
      ]);
    for (const one of begun) {
      await expect(bench.comeBack(one)).rejects.toMatchObject({ code: 'internal' });
      expect((await bench.flows.find(one.id))?.state).toBe('failed');
    }
    expect(bench.as.exchanges).toEqual([]);
    for (const person of people)
      expect(await createCredentialStore(nodes.next()).listOf(acme, `p:${person}`)).toEqual([]);
  });

  it('that the person declines are told to every node, once, as their owner (B165)', async () => {
    const bench = aFlow('declined');
    const feed = await openChangeFeed(nodes.url, new FakeClock(), createLogger('silent'));
    const heard: Change[] = [];
    feed.subscribe((change) => heard.push(change));
    const [declined, failed] = [await bench.begin(), await bench.begin()];
    expect(await bench.comeBack(failed, { error: 'server_error' })).toMatchObject({ kind: 'failed' });
    expect(await bench.comeBack(declined, { error: 'access_denied' })).toEqual({ kind: 'denied' });
    expect((await bench.flows.find(declined.id))?.state).toBe('denied');
    await aStore().end(acme, Buffer.from(declined.id, 'base64url'), 'denied');
    await nodes.admin.query(`SELECT pg_notify('keybearer', '{"kind":"resync"}')`);
    await eventually('the mark', () => heard.some(({ kind }) => kind === 'resync'), 1_000);
    expect(heard.filter(({ kind }) => kind === 'sign_in_denied')).toEqual([
      { kind: 'sign_in_denied', tenantId: acme, serverId: bench.server.id, owner: 'p:anna' },
    ]);
    await feed.close();
  });
});
