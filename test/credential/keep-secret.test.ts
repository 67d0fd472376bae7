import { describe, expect, it } from 'vitest';
import { bindingOf } from '../../src/catalog/binding.ts';
import { ownerKey } from '../../src/credential/credential.ts';
import { createSecretKeeper } from '../../src/credential/keep-secret.ts';
import { credentialContext } from '../../src/credential/seal-context.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aPrincipal, aServer, aVault, InMemoryCredentials } from './in-memory.ts';

const CANARY = 'canary-5f1c8d';
const alice = { kind: 'principal', principalId: aPrincipal('alice') } as const;
const bob = { kind: 'principal', principalId: aPrincipal('bob') } as const;

function aKeeper() {
  const vault = aVault();
  const credentials = new InMemoryCredentials();
  return { vault, credentials, keeper: createSecretKeeper({ vault, credentials, clock: new FakeClock() }) };
}

describe('the secret keeper', () => {
  it('keeps what the broker can open with the same context, and nothing readable', async () => {
    const { vault, credentials, keeper } = aKeeper();
    const server = aServer();
    const { version } = await keeper.keep(server, alice, ` Bearer ${CANARY} `);
    const stored = await credentials.find(server.tenantId, server.id, ownerKey(alice));
    expect(stored).toMatchObject({ kind: 'secret', version, binding: bindingOf(server), owner: 'p:alice' });
    if (stored === undefined) throw new Error('nothing kept');
    expect(stored.sealed.toString('latin1')).not.toContain(CANARY);
    const opened = await vault.open(
      server.tenantId,
      credentialContext('secret', server.id, ownerKey(alice), bindingOf(server)),
      stored.sealed,
    );
    expect(opened.reveal()).toBe(CANARY);
  });

  it('T11: what was kept for one address opens for no other, nor for another person', async () => {
    const { vault, credentials, keeper } = aKeeper();
    const server = aServer();
    const moved = aServer({ url: 'https://evil.example/mcp' });
    await keeper.keep(server, alice, CANARY);
    const stored = credentials.rows[0];
    if (stored === undefined) throw new Error('nothing kept');
    for (const context of [
      credentialContext('secret', server.id, ownerKey(alice), bindingOf(moved)),
      credentialContext('secret', server.id, ownerKey(bob), bindingOf(server)),
      credentialContext('secret', aServer({}, { name: 'other' }).id, ownerKey(alice), bindingOf(server)),
    ]) {
      await expect(vault.open(server.tenantId, context, stored.sealed)).rejects.toThrow('could not be opened');
    }
  });

  it("never keeps a person's key as the tenant's, or the tenant's as a person's", async () => {
    const { credentials, keeper } = aKeeper();
    const personal = aServer();
    const common = aServer({ credential: { kind: 'secret', owner: 'tenant' } });
    await expect(keeper.keep(personal, { kind: 'tenant' }, CANARY)).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(keeper.keep(common, alice, CANARY)).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(keeper.keep(aServer({ credential: { kind: 'oauth' } }), alice, CANARY)).rejects.toMatchObject({
      code: 'invalid_request',
    });
    expect(credentials.rows).toEqual([]);
  });

  it('refuses before sealing what could not be sent', async () => {
    const { credentials, keeper } = aKeeper();
    await expect(keeper.keep(aServer(), alice, 'a\r\nX-Evil: 1')).rejects.toThrow('control characters');
    expect(credentials.rows).toEqual([]);
  });

  it('forgets one owner only', async () => {
    const { credentials, keeper } = aKeeper();
    const server = aServer();
    await keeper.keep(server, alice, 'a');
    await keeper.keep(server, bob, 'b');
    expect(await keeper.remove(server.tenantId, server.id, alice)).toBe(true);
    expect(await keeper.remove(server.tenantId, server.id, alice)).toBe(false);
    expect(credentials.rows.map(({ owner }) => owner)).toEqual(['p:bob']);
  });
});
