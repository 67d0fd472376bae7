import { createCipheriv, createSecretKey, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import { type SealContext, wordsOf } from '../../src/credential/seal-context.ts';
import { openBox, sealBox } from '../../src/credential/sealed-box.ts';
import type { Vault } from '../../src/credential/vault.ts';
import {
  acme,
  beta,
  CONTEXT,
  context,
  FakeDataKeyStore,
  lost,
  newMasterKey,
  openVault,
  refused,
  SECRET,
} from './a-vault.ts';

let dataKeys: FakeDataKeyStore;
let masterKey: string;
let vault: Vault;

beforeEach(() => {
  dataKeys = new FakeDataKeyStore();
  masterKey = newMasterKey();
  vault = openVault(dataKeys, masterKey);
});

/** A turned bit in the key's id names a key that there is not. */
const refusedOrLost = (bit: number): object => (bit >= 8 && bit < 17 * 8 ? lost : refused);

describe('the vault', () => {
  it('opens what it sealed, also after a restart, and never seals the same twice', async () => {
    const [first, second] = [await vault.seal(acme, CONTEXT, SECRET), await vault.seal(acme, CONTEXT, SECRET)];
    expect(first.equals(second)).toBe(false);
    expect((await vault.open(acme, CONTEXT, first)).reveal()).toBe(SECRET);
    expect((await openVault(dataKeys, masterKey).open(acme, CONTEXT, second)).reveal()).toBe(SECRET);
    expect((await vault.open(acme, context(), await vault.seal(acme, context(), ''))).reveal()).toBe('');
  });

  it('keeps no trace of the secret in what is stored', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    const stored = Buffer.concat([sealed, ...(await dataKeys.list(acme)).map(({ wrapped }) => wrapped)]);
    for (const form of [SECRET, Buffer.from(SECRET).toString('base64'), masterKey])
      expect(stored.includes(form)).toBe(false);
    expect(stored.includes(Buffer.from(masterKey, 'base64'))).toBe(false);
    expect(inspect(await vault.open(acme, CONTEXT, sealed))).toBe('[secret]');
  });

  it('does not open a row that was swapped with another', async () => {
    const places: readonly SealContext[] = [
      CONTEXT,
      { ...CONTEXT, purpose: 'grant' },
      { ...CONTEXT, owner: 'p:grace' },
      { ...CONTEXT, server: 'server-2' },
      { ...CONTEXT, binding: 'https://mcp.example.org' },
      { ...CONTEXT, field: ['b'] },
    ];
    const rows = await Promise.all(places.map((place) => vault.seal(acme, place, SECRET)));
    for (const [from, row] of rows.entries()) {
      for (const [to, place] of places.entries()) {
        if (from !== to) await expect(vault.open(acme, place, row)).rejects.toMatchObject(refused);
      }
    }
  });

  it.each([
    [
      ['a', 'b|c'],
      ['a|b', 'c'],
    ],
    [['a', 'b'], ['ab']],
    [['a", "b'], ['a', 'b']],
    [['a', ''], ['a']],
    [[], ['acme']],
  ])('does not take the words %j for %j', async (sealedWith, openedWith) => {
    const sealed = await vault.seal(acme, context(...sealedWith), SECRET);
    await expect(vault.open(acme, context(...openedWith), sealed)).rejects.toMatchObject(refused);
  });

  it('does not open the row of another tenant, not even with that tenant’s key copied along', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    await vault.seal(beta, CONTEXT, SECRET);
    await expect(vault.open(beta, CONTEXT, sealed)).rejects.toMatchObject(lost);
    dataKeys.rows.set(beta, [...(await dataKeys.list(beta)), ...(await dataKeys.list(acme))]);
    await expect(openVault(dataKeys, masterKey).open(beta, CONTEXT, sealed)).rejects.toMatchObject(refused);
  });

  it('does not open a row in which any bit was turned', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const turned = Buffer.from(sealed);
      turned.writeUInt8(turned.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      await expect(vault.open(acme, CONTEXT, turned), `bit ${bit}`).rejects.toMatchObject(refusedOrLost(bit));
    }
  });

  it('does not open a row that was cut short or made longer', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    for (let length = 0; length < sealed.length; length += 1) {
      await expect(vault.open(acme, CONTEXT, sealed.subarray(0, length)), `${length} bytes`).rejects.toMatchObject(
        refused,
      );
    }
    await expect(vault.open(acme, CONTEXT, Buffer.concat([sealed, Buffer.alloc(1)]))).rejects.toMatchObject(refused);
  });

  it('does not open with a wrapped data key in which any bit was turned', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    const [key] = await dataKeys.list(acme);
    if (key === undefined) throw new Error('no data key');
    for (let bit = 0; bit < key.wrapped.length * 8; bit += 1) {
      const wrapped = Buffer.from(key.wrapped);
      wrapped.writeUInt8(wrapped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      dataKeys.rows.set(acme, [{ ...key, wrapped }]);
      await expect(openVault(dataKeys, masterKey).open(acme, CONTEXT, sealed), `bit ${bit}`).rejects.toMatchObject(
        refused,
      );
    }
  });

  it('opens the old with a rotated master key, and not without it', async () => {
    const old = await vault.seal(acme, CONTEXT, SECRET);
    const next = newMasterKey();
    const rotated = openVault(dataKeys, next, masterKey);
    expect((await rotated.open(acme, CONTEXT, old)).reveal()).toBe(SECRET);
    await rotated.seal(beta, CONTEXT, SECRET);
    const [key] = await createStaticKeyProvider([next]).list();
    expect(await dataKeys.list(beta)).toMatchObject([{ masterKeyId: key?.id }]);
    const unknown = { code: 'overloaded', data: { reason: 'master_key_unknown' } };
    await expect(openVault(dataKeys, next).open(acme, CONTEXT, old)).rejects.toMatchObject(unknown);
    await expect(openVault(dataKeys, next).seal(acme, CONTEXT, SECRET)).rejects.toMatchObject(unknown);
  });

  it('makes a removed tenant’s secrets unreadable, and does not seal with its key again', async () => {
    const old = await vault.seal(acme, CONTEXT, SECRET);
    dataKeys.rows.delete(acme);
    const fresh = await vault.seal(acme, CONTEXT, SECRET);
    const restarted = openVault(dataKeys, masterKey);
    await expect(restarted.open(acme, CONTEXT, old)).rejects.toMatchObject(lost);
    expect((await restarted.open(acme, CONTEXT, fresh)).reveal()).toBe(SECRET);
  });

  it('lets a failure of the store rise, for it says nothing about the secret', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    const restarted = openVault(dataKeys, masterKey);
    dataKeys.list = () => Promise.reject(new Error('database down'));
    await expect(restarted.open(acme, CONTEXT, sealed)).rejects.toThrow('database down');
  });
});

describe('what was sealed in the first form', () => {
  const place: SealContext = { ...CONTEXT, v1: ['credential', 'server-1', 'p:ada'] };

  async function sealedAsBefore(): Promise<Buffer> {
    const fresh = await vault.seal(acme, place, 'x');
    const id = fresh.subarray(1, 17).toString('hex');
    const [row] = await dataKeys.list(acme);
    if (row === undefined) throw new Error('no data key');
    const key = await createStaticKeyProvider([masterKey]).unwrap({ keyId: row.masterKeyId, bytes: row.wrapped }, [
      'data-key',
      'acme',
      id,
    ]);
    const box = sealBox(createSecretKey(key), ['v1', 'acme', 'credential', 'server-1', 'p:ada'], Buffer.from(SECRET));
    return Buffer.concat([Buffer.from([1]), Buffer.from(id, 'hex'), box]);
  }

  it('opens, and is sealed anew in the newest form, once', async () => {
    const old = await sealedAsBefore();
    expect((await vault.open(acme, place, old)).reveal()).toBe(SECRET);
    const anew = await vault.reseal(acme, place, old);
    if (anew === undefined) throw new Error('not sealed anew');
    expect(anew[0]).toBe(2);
    expect((await vault.open(acme, place, anew)).reveal()).toBe(SECRET);
    expect(await vault.reseal(acme, place, anew)).toBeUndefined();
  });

  it('does not open as the newest form, nor the newest as the first', async () => {
    const old = await sealedAsBefore();
    const anew = await vault.seal(acme, place, SECRET);
    for (const [row, version] of [
      [old, 2],
      [anew, 1],
      [anew, 0],
      [anew, 3],
    ] as const) {
      const turned = Buffer.concat([Buffer.from([version]), row.subarray(1)]);
      await expect(vault.open(acme, place, turned)).rejects.toMatchObject(refused);
      await expect(vault.open(acme, { ...place, v1: [] }, old)).rejects.toMatchObject(refused);
    }
  });
});

describe('whatever is sealed', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 });
  const places = fc.record({
    purpose: fc.constantFrom(
      'credential' as const,
      'grant' as const,
      'oauth-client' as const,
      'attempt' as const,
      'definition' as const,
      'sign-in' as const,
      'request-state' as const,
    ),
    owner: text,
    server: text,
    binding: text,
    field: fc.array(text, { maxLength: 3 }),
    v1: fc.array(text, { maxLength: 3 }),
  });
  const tenants = fc.constantFrom(acme, beta);

  it('opens as it was', async () => {
    await fc.assert(
      fc.asyncProperty(
        tenants,
        places,
        fc.string({ unit: 'binary', maxLength: 200 }),
        async (tenantId, place, secret) => {
          const sealed = await vault.seal(tenantId, place, secret);
          expect((await vault.open(tenantId, place, sealed)).reveal()).toBe(secret);
        },
      ),
    );
  });

  it('opens in no other place', async () => {
    await fc.assert(
      fc.asyncProperty(tenants, places, tenants, places, async (from, place, to, other) => {
        fc.pre(JSON.stringify(wordsOf(2, from, place)) !== JSON.stringify(wordsOf(2, to, other)));
        const sealed = await vault.seal(from, place, SECRET);
        await expect(vault.open(to, other, sealed)).rejects.toMatchObject({ code: 'internal' });
      }),
    );
  });

  it('is never half a character, which has no bytes to come back from', async () => {
    await expect(vault.seal(acme, CONTEXT, 'a\ud800')).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

describe('a tag that is too short', () => {
  it('of 4 bytes is no tag', async () => {
    const key = createSecretKey(randomBytes(32));
    const [iv, words] = [randomBytes(12), ['v2', 'credential']];
    const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: 4 }).setAAD(
      Buffer.from(JSON.stringify(words)),
    );
    const ciphertext = Buffer.concat([cipher.update('secret that is long enough'), cipher.final()]);
    const box = Buffer.concat([iv, cipher.getAuthTag(), ciphertext]);
    expect(() => openBox(key, words, box)).toThrow();
    expect(() => openBox(key, words, box.subarray(0, 16))).toThrow('too short');
  });
});
