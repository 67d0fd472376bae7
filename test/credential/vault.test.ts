import { createCipheriv, createSecretKey, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { boundKeyProvider } from '../../src/credential/bound-key-provider.ts';
import { makeDataKey } from '../../src/credential/data-key.ts';
import type { WrappedDataKey as DataKey, DataKeyStore } from '../../src/credential/data-key-store.ts';
import { type KeyProvider, NotAuthentic } from '../../src/credential/key-provider.ts';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import { type SealContext, wordsOf } from '../../src/credential/seal-context.ts';
import { openBox, sealBox } from '../../src/credential/sealed-box.ts';
import { createVault, type Vault } from '../../src/credential/vault.ts';
import { parseTenantId, type TenantId } from '../../src/shared/id.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** The port in memory, with its rows in the open. */
class FakeDataKeyStore implements DataKeyStore {
  readonly rows = new Map<TenantId, DataKey[]>();

  list(tenantId: TenantId): Promise<readonly DataKey[]> {
    return Promise.resolve(this.rows.get(tenantId) ?? []);
  }

  findCurrent(tenantId: TenantId): Promise<DataKey | undefined> {
    return Promise.resolve(this.rows.get(tenantId)?.at(-1));
  }

  ensure(tenantId: TenantId, key: DataKey): Promise<DataKey> {
    const [known] = this.rows.get(tenantId) ?? [];
    if (known === undefined) this.rows.set(tenantId, [key]);
    return Promise.resolve(known ?? key);
  }
}

function tenant(text: string): TenantId {
  const id = parseTenantId(text);
  if (id === undefined) throw new Error(text);
  return id;
}

const acme = tenant('acme');
const beta = tenant('beta');
const newMasterKey = (): string => randomBytes(32).toString('base64');
const context = (...field: string[]): SealContext => ({
  purpose: 'credential',
  owner: 'p:ada',
  server: 'server-1',
  binding: 'https://mcp.example.com',
  field,
  v1: field,
});
const CONTEXT = context('a');
const SECRET = 'ghp_canary🔑';

let dataKeys: FakeDataKeyStore;
let masterKey: string;
let vault: Vault;

beforeEach(() => {
  dataKeys = new FakeDataKeyStore();
  masterKey = newMasterKey();
  vault = openVault(masterKey);
});

/** A vault that remembers nothing, as after a restart. */
function openVault(...masterKeys: string[]): Vault {
  return createVault({ masterKeys: createStaticKeyProvider(masterKeys), dataKeys });
}

const refused = { code: 'internal', message: 'A stored secret could not be opened.', data: undefined };

const lost = { code: 'internal', data: { reason: 'key_deleted' } };

/** A turned bit in the key's id names a key that there is not. */
const refusedOrLost = (bit: number): object => (bit >= 8 && bit < 17 * 8 ? lost : refused);

describe('the vault', () => {
  it('opens what it sealed, also after a restart, and never seals the same twice', async () => {
    const [first, second] = [await vault.seal(acme, CONTEXT, SECRET), await vault.seal(acme, CONTEXT, SECRET)];
    expect(first.equals(second)).toBe(false);
    expect((await vault.open(acme, CONTEXT, first)).reveal()).toBe(SECRET);
    expect((await openVault(masterKey).open(acme, CONTEXT, second)).reveal()).toBe(SECRET);
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
    await expect(openVault(masterKey).open(beta, CONTEXT, sealed)).rejects.toMatchObject(refused);
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
      await expect(openVault(masterKey).open(acme, CONTEXT, sealed), `bit ${bit}`).rejects.toMatchObject(refused);
    }
  });

  it('opens the old with a rotated master key, and not without it', async () => {
    const old = await vault.seal(acme, CONTEXT, SECRET);
    const next = newMasterKey();
    const rotated = openVault(next, masterKey);
    expect((await rotated.open(acme, CONTEXT, old)).reveal()).toBe(SECRET);
    await rotated.seal(beta, CONTEXT, SECRET);
    const [key] = await createStaticKeyProvider([next]).list();
    expect(await dataKeys.list(beta)).toMatchObject([{ masterKeyId: key?.id }]);
    const unknown = { code: 'overloaded', data: { reason: 'master_key_unknown' } };
    await expect(openVault(next).open(acme, CONTEXT, old)).rejects.toMatchObject(unknown);
    await expect(openVault(next).seal(acme, CONTEXT, SECRET)).rejects.toMatchObject(unknown);
  });

  it('makes a removed tenant’s secrets unreadable, and does not seal with its key again', async () => {
    const old = await vault.seal(acme, CONTEXT, SECRET);
    dataKeys.rows.delete(acme);
    const fresh = await vault.seal(acme, CONTEXT, SECRET);
    const restarted = openVault(masterKey);
    await expect(restarted.open(acme, CONTEXT, old)).rejects.toMatchObject(lost);
    expect((await restarted.open(acme, CONTEXT, fresh)).reveal()).toBe(SECRET);
  });

  it('lets a failure of the store rise, for it says nothing about the secret', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    const restarted = openVault(masterKey);
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

describe('data keys', () => {
  const other = async (): Promise<DataKey> => makeDataKey(createStaticKeyProvider([masterKey]), acme);

  it('open while they are there, and the current one seals', async () => {
    const old = await vault.seal(acme, CONTEXT, SECRET);
    const next = await other();
    dataKeys.rows.set(acme, [...(await dataKeys.list(acme)), next]);
    const fresh = await vault.seal(acme, CONTEXT, SECRET);
    expect(fresh.subarray(1, 17).toString('hex')).toBe(next.id);
    expect((await vault.open(acme, CONTEXT, old)).reveal()).toBe(SECRET);
    const anew = await vault.reseal(acme, CONTEXT, old);
    expect(anew?.subarray(1, 17).toString('hex')).toBe(next.id);
  });

  it('are believed from memory until they are doubted, and then looked for', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    let looks = 0;
    const list = dataKeys.list.bind(dataKeys);
    dataKeys.list = (tenantId) => {
      looks += 1;
      return list(tenantId);
    };
    await vault.open(acme, CONTEXT, sealed);
    expect(looks).toBe(0);
    vault.doubtKeys();
    await vault.open(acme, CONTEXT, sealed);
    await vault.open(acme, CONTEXT, sealed);
    expect(looks).toBe(1);
    dataKeys.rows.delete(acme);
    vault.doubtKeys();
    await expect(vault.open(acme, CONTEXT, sealed)).rejects.toMatchObject(lost);
  });
});

describe('a keeper of the master keys', () => {
  const clock = new FakeClock();
  let provider: KeyProvider;
  let asked: string[];
  let behave: () => Promise<void>;

  beforeEach(() => {
    const inner = createStaticKeyProvider([masterKey]);
    asked = [];
    behave = () => Promise.resolve();
    provider = {
      ...inner,
      wrap: async (...question) => {
        asked.push('wrap');
        await behave();
        return inner.wrap(...question);
      },
      unwrap: async (...question) => {
        asked.push('unwrap');
        await behave();
        return inner.unwrap(...question);
      },
    };
  });

  const restarted = (): Vault => createVault({ masterKeys: boundKeyProvider(provider, clock), dataKeys });
  const away = { code: 'overloaded', data: { reason: 'master_keys_away' } };

  it('is asked once for many who open and seal at once', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    const fresh = restarted();
    await Promise.all(Array.from({ length: 50 }, () => fresh.open(acme, CONTEXT, sealed)));
    await fresh.seal(acme, CONTEXT, SECRET);
    expect(asked).toEqual(['unwrap']);
  });

  it('that is away makes sealing and opening fail, and nothing else: no clear text, and it works when it is back', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    const fresh = restarted();
    behave = () => Promise.reject(new Error('connect ECONNREFUSED kms'));
    await expect(fresh.open(acme, CONTEXT, sealed)).rejects.toMatchObject(away);
    await expect(fresh.seal(acme, CONTEXT, SECRET)).rejects.toMatchObject(away);
    await expect(fresh.seal(beta, CONTEXT, SECRET)).rejects.toMatchObject(away);
    expect(dataKeys.rows.has(beta)).toBe(false);
    behave = () => Promise.resolve();
    expect((await fresh.open(acme, CONTEXT, sealed)).reveal()).toBe(SECRET);
    expect((await fresh.open(beta, CONTEXT, await fresh.seal(beta, CONTEXT, SECRET))).reveal()).toBe(SECRET);
  });

  it('that says nothing is waited for five seconds', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    const fresh = restarted();
    behave = () => new Promise(() => undefined);
    const opening = fresh.open(acme, CONTEXT, sealed).catch((error: unknown) => error);
    await vi.waitFor(() => expect(asked).toEqual(['unwrap']));
    clock.advance(4_999);
    behave = () => Promise.resolve();
    clock.advance(1);
    expect(await opening).toMatchObject(away);
    expect((await fresh.open(acme, CONTEXT, sealed)).reveal()).toBe(SECRET);
  });

  it('does not take what was changed for a fault of its own', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    const [key] = await dataKeys.list(acme);
    if (key === undefined) throw new Error('no data key');
    dataKeys.rows.set(acme, [{ ...key, wrapped: randomBytes(key.wrapped.length) }]);
    await expect(restarted().open(acme, CONTEXT, sealed)).rejects.toMatchObject(refused);
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

describe('master keys', () => {
  it('are refused when they are not 32 bytes, without being repeated', () => {
    for (const bad of ['', 'c2hvcnQ=', randomBytes(31).toString('base64'), randomBytes(33).toString('base64')]) {
      const make = (): unknown => createStaticKeyProvider([newMasterKey(), bad]);
      expect(make).toThrow('Master key 2 is not 32 bytes in base64.');
    }
    expect(() => createStaticKeyProvider([])).toThrow('There is no master key.');
  });

  it('are named after their hash', async () => {
    const [zeros, other] = [Buffer.alloc(32).toString('base64'), newMasterKey()];
    // First 8 bytes of the SHA-256 of 32 zero bytes.
    expect(await createStaticKeyProvider([zeros, other]).list()).toEqual([
      { id: '66687aadf862bd77', isCurrent: true },
      { id: expect.not.stringMatching('66687aadf862bd77') as string, isCurrent: false },
    ]);
  });

  it('wrap with the first, and unwrap only what they wrapped, under the same words', async () => {
    const [old, next] = [newMasterKey(), newMasterKey()];
    const wrapped = await createStaticKeyProvider([old]).wrap(Buffer.from('data key'), ['data-key', 'acme', 'k1']);
    const rotated = createStaticKeyProvider([next, old]);
    expect((await rotated.unwrap(wrapped, ['data-key', 'acme', 'k1'])).toString()).toBe('data key');
    expect((await rotated.wrap(Buffer.from('x'), [])).keyId).toBe((await rotated.list())[0]?.id);
    for (const words of [['data-key', 'acme'], ['data-key', 'beta', 'k1'], ['service-key', 'acme', 'k1'], []])
      await expect(rotated.unwrap(wrapped, words)).rejects.toThrow(NotAuthentic);
    const { keyId } = await createStaticKeyProvider([newMasterKey()]).wrap(Buffer.from('x'), []);
    await expect(rotated.unwrap({ ...wrapped, keyId }, [])).rejects.toMatchObject({ code: 'overloaded' });
  });
});
