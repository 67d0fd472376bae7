// The keys of the vault: those that seal, those that wrap them, and who keeps these.
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { boundKeyProvider } from '../../src/credential/bound-key-provider.ts';
import { makeDataKey } from '../../src/credential/data-key.ts';
import type { WrappedDataKey as DataKey } from '../../src/credential/data-key-store.ts';
import { type KeyProvider, NotAuthentic } from '../../src/credential/key-provider.ts';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import { createVault, type Vault } from '../../src/credential/vault.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { acme, beta, CONTEXT, FakeDataKeyStore, lost, newMasterKey, openVault, refused, SECRET } from './a-vault.ts';

let dataKeys: FakeDataKeyStore;
let masterKey: string;
let vault: Vault;

beforeEach(() => {
  dataKeys = new FakeDataKeyStore();
  masterKey = newMasterKey();
  vault = openVault(dataKeys, masterKey);
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
