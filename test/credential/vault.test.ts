import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import type { DataKeyStore } from '../../src/credential/credential-store.ts';
import { createStaticKeyProvider } from '../../src/credential/key-provider.ts';
import { createVault, type Vault } from '../../src/credential/vault.ts';
import { parseTenantId, type TenantId } from '../../src/shared/id.ts';

type DataKey = Awaited<ReturnType<DataKeyStore['ensure']>>;

/** The port in memory, with its rows in the open. */
class FakeDataKeyStore implements DataKeyStore {
  readonly rows = new Map<TenantId, DataKey[]>();

  list(tenantId: TenantId): Promise<readonly DataKey[]> {
    return Promise.resolve(this.rows.get(tenantId) ?? []);
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
const CONTEXT = ['credential', 'server-1', 'p:ada', 'https://mcp.example.com'];
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

describe('the vault', () => {
  it('opens what it sealed, also after a restart, and never seals the same twice', async () => {
    const [first, second] = [await vault.seal(acme, CONTEXT, SECRET), await vault.seal(acme, CONTEXT, SECRET)];
    expect(first.equals(second)).toBe(false);
    expect((await vault.open(acme, CONTEXT, first)).reveal()).toBe(SECRET);
    expect((await openVault(masterKey).open(acme, CONTEXT, second)).reveal()).toBe(SECRET);
    expect((await vault.open(acme, [], await vault.seal(acme, [], ''))).reveal()).toBe('');
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
    const places = [
      CONTEXT,
      ['credential', 'server-1', 'p:grace', CONTEXT[3] ?? ''],
      ['credential', 'server-2', 'p:ada', CONTEXT[3] ?? ''],
    ];
    const rows = await Promise.all(places.map((context) => vault.seal(acme, context, SECRET)));
    for (const [from, row] of rows.entries()) {
      for (const [to, context] of places.entries()) {
        if (from !== to) await expect(vault.open(acme, context, row)).rejects.toMatchObject(refused);
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
    const sealed = await vault.seal(acme, sealedWith, SECRET);
    await expect(vault.open(acme, openedWith, sealed)).rejects.toMatchObject(refused);
  });

  it('does not open the row of another tenant, not even with that tenant’s key copied along', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    await vault.seal(beta, CONTEXT, SECRET);
    await expect(vault.open(beta, CONTEXT, sealed)).rejects.toMatchObject(refused);
    dataKeys.rows.set(beta, [...(await dataKeys.list(beta)), ...(await dataKeys.list(acme))]);
    await expect(openVault(masterKey).open(beta, CONTEXT, sealed)).rejects.toMatchObject(refused);
  });

  it('does not open a row in which any bit was turned', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const turned = Buffer.from(sealed);
      turned.writeUInt8(turned.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      await expect(vault.open(acme, CONTEXT, turned), `bit ${bit}`).rejects.toMatchObject(refused);
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
    const { id } = await createStaticKeyProvider([next]).current();
    expect(await dataKeys.list(beta)).toMatchObject([{ masterKeyId: id }]);
    await expect(openVault(next).open(acme, CONTEXT, old)).rejects.toMatchObject(refused);
    await expect(openVault(next).seal(acme, CONTEXT, SECRET)).rejects.toMatchObject(refused);
  });

  it('makes a removed tenant’s secrets unreadable, and does not seal with its key again', async () => {
    const old = await vault.seal(acme, CONTEXT, SECRET);
    dataKeys.rows.delete(acme);
    const fresh = await vault.seal(acme, CONTEXT, SECRET);
    const restarted = openVault(masterKey);
    await expect(restarted.open(acme, CONTEXT, old)).rejects.toMatchObject(refused);
    expect((await restarted.open(acme, CONTEXT, fresh)).reveal()).toBe(SECRET);
  });

  it('lets a failure of the store rise, for it says nothing about the secret', async () => {
    const sealed = await vault.seal(acme, CONTEXT, SECRET);
    const restarted = openVault(masterKey);
    dataKeys.list = () => Promise.reject(new Error('database down'));
    await expect(restarted.open(acme, CONTEXT, sealed)).rejects.toThrow('database down');
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
    const provider = createStaticKeyProvider([Buffer.alloc(32).toString('base64')]);
    // First 8 bytes of the SHA-256 of 32 zero bytes.
    expect((await provider.current()).id).toBe('66687aadf862bd77');
    expect(await provider.find('66687aadf862bd77')).toBe(await provider.current());
    expect(await provider.find('0000000000000000')).toBeUndefined();
  });
});
