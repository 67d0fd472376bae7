import { describe, expect, it } from 'vitest';
import { type Credential } from '../../src/credential/credential.ts';
import { CredentialRefusedError, SignInRequiredError } from '../../src/shared/errors.ts';
import { aBench, anna, ben, ofAnna, open, secretOf, server, settled, shared } from './broker-bench.ts';
import { aPrincipal, aServer, aTenantId } from './in-memory.ts';

describe('finding a credential', () => {
  it("B223: gives each person their own, and nobody another's", async () => {
    const { broker, keeper } = aBench();
    await keeper.keep(server, ofAnna, 'key-of-anna');
    expect(await broker.find(server, anna)).toMatchObject({ kind: 'static', owner: ofAnna });
    expect(secretOf(await broker.find(server, anna))).toBe('key-of-anna');
    for (const other of ['ben', 'Anna', 'ann', 'anna\u0301'])
      expect(await broker.find(server, aPrincipal(other))).toBeUndefined();
    expect(await broker.find(aServer({}, { tenantId: aTenantId('umbrella') }), anna)).toBeUndefined();
    expect(await broker.find(aServer({}, { id: 'another', name: 'notes' }), anna)).toBeUndefined();
    expect(await broker.find(server, undefined)).toBeUndefined();
  });

  it("gives everyone the tenant's where it is the tenant's, and none where none is needed", async () => {
    const { broker, keeper, credentials } = aBench();
    await keeper.keep(shared, { kind: 'tenant' }, 'key-of-all');
    for (const principal of [anna, ben, undefined])
      expect(secretOf(await broker.find(shared, principal))).toBe('key-of-all');
    expect(credentials.finds).toBe(1);
    expect(broker.find(open, anna)).toEqual({ kind: 'none' });
    expect(credentials.finds).toBe(1);
  });

  it('answers from memory on the warm path, at once, also that there is none', async () => {
    const { broker, keeper, credentials } = aBench();
    await keeper.keep(server, ofAnna, 'key-of-anna');
    await broker.find(server, anna);
    await broker.find(server, ben);
    expect(secretOf(broker.find(server, anna) as Credential)).toBe('key-of-anna');
    expect(broker.find(server, ben)).toBeUndefined();
    expect(credentials.finds).toBe(2);
  });

  it('reads once however many ask at once', async () => {
    const { broker, keeper, credentials } = aBench();
    await keeper.keep(server, ofAnna, 'key-of-anna');
    await Promise.all(Array.from({ length: 50 }, async () => broker.find(server, anna)));
    expect(credentials.finds).toBe(1);
  });

  it('B168: never sends a credential to a place it was not given for', async () => {
    const { broker, keeper } = aBench();
    await keeper.keep(server, ofAnna, 'key-of-anna');
    for (const moved of [
      aServer({ url: 'https://evil.example/mcp' }),
      aServer({ credential: { kind: 'secret', header: 'x-key' } }),
      aServer({ type: 'sse' }),
    ]) {
      expect(await broker.find(moved, anna)).toBeUndefined();
      expect(await broker.look(moved, anna)).toBeUndefined();
    }
    expect(secretOf(await broker.find(aServer({ url: 'https://notes.example/other', title: 'New' }), anna))).toBe(
      'key-of-anna',
    );
  });

  it('does not keep a failure', async () => {
    const { broker, keeper, credentials } = aBench();
    await keeper.keep(server, ofAnna, 'key-of-anna');
    const rows = credentials.rows;
    credentials.rows = rows.map((row) => ({ ...row, sealed: Buffer.from('broken') }));
    await expect(broker.find(server, anna)).rejects.toThrow();
    credentials.rows = rows;
    expect(secretOf(await broker.find(server, anna))).toBe('key-of-anna');
  });
});

describe('a change', () => {
  it('is used from the next call on', async () => {
    const { broker, keeper, notice } = aBench();
    expect(await broker.find(server, anna)).toBeUndefined();
    await keeper.keep(server, ofAnna, 'first');
    notice(server, ofAnna);
    expect(secretOf(await broker.find(server, anna))).toBe('first');
    await keeper.keep(server, ofAnna, 'second');
    notice(server, ofAnna);
    expect(secretOf(await broker.find(server, anna))).toBe('second');
    await keeper.remove(server.tenantId, server.id, ofAnna);
    notice(server, ofAnna);
    expect(await broker.find(server, anna)).toBeUndefined();
  });

  it('of one person leaves what is remembered of others', async () => {
    const { broker, keeper, notice, credentials } = aBench();
    await keeper.keep(server, { kind: 'principal', principalId: ben }, 'key-of-ben');
    await broker.find(server, ben);
    notice(server, ofAnna);
    expect(secretOf(await broker.find(server, ben))).toBe('key-of-ben');
    expect(credentials.finds).toBe(1);
  });

  it('that is heard while a row is being read makes that row forgotten again', async () => {
    const { broker, keeper, notice, credentials } = aBench();
    await keeper.keep(server, ofAnna, 'old');
    credentials.holds = true;
    const reading = broker.find(server, anna);
    await settled();
    await keeper.keep(server, ofAnna, 'new');
    notice(server, ofAnna);
    credentials.holds = false;
    credentials.held?.();
    await reading;
    expect(secretOf(await broker.find(server, anna))).toBe('new');
  });

  it('is seen by whoever asks after it, although an older read is still under way', async () => {
    const { broker, keeper, notice, credentials } = aBench();
    await keeper.keep(server, ofAnna, 'old');
    credentials.holds = true;
    const before = broker.find(server, anna);
    await settled();
    const letGo = credentials.held;
    await keeper.keep(server, ofAnna, 'new');
    credentials.holds = false;
    notice(server, ofAnna);
    const after = await broker.find(server, anna);
    letGo?.();
    expect([secretOf(await before), secretOf(after)]).toEqual(['old', 'new']);
    expect(secretOf(await broker.find(server, anna))).toBe('new');
  });

  it('is not heard any more after the close', async () => {
    const { kept, changes } = aBench();
    kept.close();
    expect(changes.listeners).toBe(0);
  });
});

describe('a refused credential', () => {
  it('B037, B221: is followed by a newer one from the database, and by that only', async () => {
    const { broker, keeper } = aBench();
    await keeper.keep(server, ofAnna, 'old');
    const old = (await broker.find(server, anna)) as Credential;
    expect(await broker.afterRefusal(server, old)).toBeUndefined();
    await keeper.keep(server, ofAnna, 'new');
    const newer = await broker.afterRefusal(server, old);
    expect(secretOf(newer)).toBe('new');
    expect(secretOf(await broker.find(server, anna))).toBe('new');
    await keeper.remove(server.tenantId, server.id, ofAnna);
    expect(await broker.afterRefusal(server, newer as Credential)).toBeUndefined();
  });

  it('is followed by nothing where there is none, or where the newer one is for another place', async () => {
    const { broker, keeper } = aBench();
    expect(await broker.afterRefusal(open, { kind: 'none' })).toBeUndefined();
    await keeper.keep(server, ofAnna, 'old');
    const old = (await broker.find(server, anna)) as Credential;
    await keeper.keep(aServer({ url: 'https://elsewhere.example/mcp' }), ofAnna, 'new');
    expect(await broker.afterRefusal(server, old)).toBeUndefined();
  });

  it('belongs to a person: they are asked to sign in, by a link of their own', async () => {
    const { broker, ticketRows } = aBench();
    const asked = await broker.askSignIn(server, anna);
    expect(asked).toBeInstanceOf(SignInRequiredError);
    expect(asked).toMatchObject({
      code: 'sign_in_required',
      server: 'notes',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8080\/connect\/[\w-]{43}$/),
    });
    expect(ticketRows.rows).toMatchObject([{ tenantId: 'acme', principalId: 'anna', serverId: server.id }]);
  });

  it('belongs to the tenant: an admin has to act, and nobody gets a link', async () => {
    const { broker, ticketRows } = aBench();
    expect(await broker.askSignIn(shared, anna)).toMatchObject({
      code: 'upstream_unavailable',
      message: 'shared has no key yet: an admin has to set it with PUT …/servers/shared/credential.',
    });
    expect(await broker.askSignIn(open, anna)).toMatchObject({
      code: 'upstream_unavailable',
      message: 'open wants a sign-in or a key: register it with "credential": { "kind": "oauth" } (or "secret").',
    });
    expect(ticketRows.rows).toEqual([]);
  });
});

describe('looking past the memory', () => {
  it('finds what was kept on another node a moment ago, and remembers it', async () => {
    const { broker, keeper, credentials } = aBench();
    await broker.find(server, anna);
    await keeper.keep(server, ofAnna, 'kept-elsewhere');
    expect(broker.find(server, anna)).toBeUndefined();
    expect(secretOf(await broker.look(server, anna))).toBe('kept-elsewhere');
    expect(secretOf(broker.find(server, anna) as Credential)).toBe('kept-elsewhere');
    expect(credentials.finds).toBe(2);
    expect(await broker.look(open, anna)).toEqual({ kind: 'none' });
    expect(await broker.look(server, undefined)).toBeUndefined();
  });
});

it('a refusal never quotes the secret', async () => {
  const { broker, keeper } = aBench();
  await keeper.keep(server, ofAnna, 'key-of-anna');
  const [credential, asked] = [await broker.find(server, anna), await broker.askSignIn(server, anna)];
  const told = JSON.stringify([credential, new CredentialRefusedError(401, 'x'), asked]);
  expect(told).not.toContain('key-of-anna');
});
