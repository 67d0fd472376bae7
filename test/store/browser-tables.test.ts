import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BrowserSession } from '../../src/identity/browser-session-store.ts';
import type { BrowserSignIn } from '../../src/identity/browser-sign-in-store.ts';
import { createBrowserSessionStore } from '../../src/store/browser-sessions.ts';
import { createBrowserSignInStore } from '../../src/store/browser-sign-ins.ts';
import { createTicketMismatchStore } from '../../src/store/ticket-mismatches.ts';
import { addTenant, type OpenStore, openStore, principalId, tenantId } from './open-store.ts';

const acme = tenantId('acme');
const beta = tenantId('beta');
const NOW = 1_700_000_000_000;

let store: OpenStore;
beforeAll(async () => {
  store = await openStore(8);
  for (const id of ['acme', 'beta']) await addTenant(store.database, id);
});
afterAll(() => store.close());

const count = async (table: string): Promise<number> =>
  (await store.admin.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`))[0]?.n ?? -1;

describe('browser sessions', () => {
  const aSession = (change: Partial<BrowserSession> = {}): BrowserSession => ({
    tenantId: acme,
    hash: randomBytes(32),
    principals: [principalId('https://idp.example#ada'), principalId('ada')],
    proof: '["oidc"]',
    expiresAt: NOW + 1_000,
    ...change,
  });

  it('are found by their hash until they expire or are removed, names in order', async () => {
    const sessions = createBrowserSessionStore(store.database);
    const session = aSession();
    await sessions.create(session, NOW);
    expect(await sessions.find(session.hash, NOW + 999)).toEqual(session);
    expect(await sessions.find(session.hash, NOW + 1_000)).toBeUndefined();
    expect(await sessions.find(randomBytes(32), NOW)).toBeUndefined();
    await sessions.remove(session.hash);
    expect(await sessions.find(session.hash, NOW)).toBeUndefined();
  });

  it('of a tenant are swept by its next sign-in, and go with the tenant', async () => {
    const sessions = createBrowserSessionStore(store.database);
    await addTenant(store.database, 'short');
    const short = { tenantId: tenantId('short') };
    await sessions.create(aSession(short), NOW);
    await sessions.create(aSession(), NOW);
    const before = await count('browser_sessions');
    await sessions.create(aSession({ ...short, expiresAt: NOW + 9_000 }), NOW + 1_000);
    expect(await count('browser_sessions')).toBe(before);
    await store.admin.query(`DELETE FROM tenants WHERE id = 'short'`);
    expect(await count('browser_sessions')).toBe(before - 1);
  });

  it('are always somebody’s', async () => {
    await expect(createBrowserSessionStore(store.database).create(aSession({ principals: [] }), NOW)).rejects.toThrow();
  });
});

describe('people on their way to be proved', () => {
  const aSignIn = (change: Partial<BrowserSignIn> = {}): Omit<BrowserSignIn, 'principalId'> => ({
    tenantId: acme,
    id: randomBytes(16).toString('base64url'),
    mode: 'oidc',
    browserHash: randomBytes(32),
    stateHash: randomBytes(32),
    expiresAt: NOW + 1_000,
    ...change,
  });
  const aHandoff = () => aSignIn({ mode: 'handoff', stateHash: undefined });
  const confirmation = (name = 'ada') => ({
    principalId: principalId(name),
    codeHash: randomBytes(32),
    codeExpiresAt: NOW + 500,
  });

  it('T9: are found by state under their own tenant only, while they last', async () => {
    const signIns = createBrowserSignInStore(store.database);
    const signIn = aSignIn();
    const state = signIn.stateHash ?? Buffer.alloc(0);
    await signIns.create(signIn, NOW);
    expect(await signIns.findByState(acme, state, NOW)).toEqual({ ...signIn, principalId: undefined });
    expect(await signIns.findByState(beta, state, NOW)).toBeUndefined();
    expect(await signIns.findByState(acme, state, NOW + 1_000)).toBeUndefined();
    expect(await signIns.find(signIn.id, NOW)).toMatchObject({ tenantId: acme });
    expect(await signIns.find(signIn.id, NOW + 1_000)).toBeUndefined();
  });

  it('T4: are taken once, however many come at the same time, and can still be seen', async () => {
    const signIns = createBrowserSignInStore(store.database);
    const signIn = aSignIn();
    await signIns.create(signIn, NOW);
    expect(await signIns.take(beta, signIn.id, NOW)).toBe(false);
    expect(await signIns.take(acme, signIn.id, NOW + 1_000)).toBe(false);
    const taken = await Promise.all(Array.from({ length: 8 }, () => signIns.take(acme, signIn.id, NOW)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(await signIns.find(signIn.id, NOW)).toMatchObject({ id: signIn.id });
  });

  it('are confirmed for one person; a new code replaces the old one', async () => {
    const signIns = createBrowserSignInStore(store.database);
    const signIn = aHandoff();
    await signIns.create(signIn, NOW);
    const [first, second] = [confirmation(), confirmation()];
    expect(await signIns.confirm(beta, signIn.id, first, NOW)).toBe(false);
    expect(await signIns.confirm(acme, signIn.id, first, NOW)).toBe(true);
    expect(await signIns.confirm(acme, signIn.id, confirmation('bob'), NOW)).toBe(false);
    expect(await signIns.confirm(acme, signIn.id, second, NOW)).toBe(true);
    expect(await signIns.findByCode(first.codeHash, NOW)).toBeUndefined();
    expect(await signIns.findByCode(second.codeHash, NOW + 499)).toMatchObject({ id: signIn.id, principalId: 'ada' });
    expect(await signIns.findByCode(second.codeHash, NOW + 500)).toBeUndefined();
    expect(await signIns.take(acme, signIn.id, NOW)).toBe(true);
    expect(await signIns.findByCode(second.codeHash, NOW)).toMatchObject({ id: signIn.id });
    expect(await signIns.confirm(acme, signIn.id, confirmation(), NOW)).toBe(false);
  });

  it('of ten products’ answers for different people one counts', async () => {
    const signIns = createBrowserSignInStore(store.database);
    const signIn = aHandoff();
    await signIns.create(signIn, NOW);
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, n) => signIns.confirm(acme, signIn.id, confirmation(`p${n}`), NOW)),
    );
    expect(all.filter(Boolean)).toHaveLength(1);
  });

  it('cannot be confirmed where the identity provider proves them, or too late', async () => {
    const signIns = createBrowserSignInStore(store.database);
    const [oidc, late] = [aSignIn(), aHandoff()];
    await signIns.create(oidc, NOW);
    await signIns.create(late, NOW);
    expect(await signIns.confirm(acme, oidc.id, confirmation(), NOW)).toBe(false);
    expect(await signIns.confirm(acme, late.id, confirmation(), NOW + 1_000)).toBe(false);
  });

  it('are swept by the next one of the tenant', async () => {
    const signIns = createBrowserSignInStore(store.database);
    const old = aSignIn({ tenantId: beta });
    await signIns.create(old, NOW);
    await signIns.create(aSignIn({ tenantId: beta, expiresAt: NOW + 9_000 }), NOW + 1_000);
    expect(await signIns.find(old.id, NOW)).toBeUndefined();
  });
});

describe('wrong people at a link', () => {
  it('T1: are counted together, whichever node sees them, and forgotten with the ticket', async () => {
    const mismatches = createTicketMismatchStore(store.database);
    const hash = randomBytes(32);
    await store.admin.query(
      `INSERT INTO tickets (tenant_id, hash, principal_id, server_id, binding, expires_at) VALUES ('acme', $1, 'ada', 's', 'b', now())`,
      [hash],
    );
    const counts = await Promise.all(Array.from({ length: 8 }, () => mismatches.count(acme, hash)));
    expect(counts.sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await mismatches.count(beta, hash)).toBe(0);
    expect(await mismatches.count(acme, randomBytes(32))).toBe(0);
    await store.admin.query('DELETE FROM tickets WHERE hash = $1', [hash]);
    expect(await count('ticket_mismatches')).toBe(0);
  });
});
