import { randomBytes } from 'node:crypto';
import { createLocalJWKSet, type JWK, jwtVerify, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { type ClientKeys, createClientKeys } from '../../src/credential/client-keys.ts';
import { createStaticKeyProvider } from '../../src/credential/local-keys.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { InMemoryServiceKeys } from './in-memory-oauth.ts';

const clock = new FakeClock();
const [MASTER, OTHER] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')] as const;

const aNode = (store: InMemoryServiceKeys, ...masterKeys: string[]): ClientKeys =>
  createClientKeys({ store, masterKeys: createStaticKeyProvider(masterKeys), clock });

/** Signed with what one node holds, checked against what another shows. */
async function prove(signer: ClientKeys, shower: ClientKeys): Promise<string | undefined> {
  const { id, privateKey } = await signer.current();
  const token = await new SignJWT({ sub: 'us' }).setProtectedHeader({ alg: 'ES256', kid: id }).sign(privateKey);
  const { keys } = await shower.publicJwks();
  const jwks = { keys: keys.map((key): JWK => ({ ...key })) };
  return (await jwtVerify(token, createLocalJWKSet(jwks))).payload.sub;
}

describe('our own key', () => {
  it('signs what the published half proves, also on another node and after a start', async () => {
    const store = new InMemoryServiceKeys();
    const [first, second] = [aNode(store, MASTER), aNode(store, MASTER)];
    expect(await prove(first, second)).toBe('us');
    expect(await prove(second, first)).toBe('us');
    expect(await prove(aNode(store, MASTER), first)).toBe('us');
    expect(store.rows).toHaveLength(1);
  });

  it('is one for two nodes that boot together', async () => {
    const store = new InMemoryServiceKeys();
    const nodes = [aNode(store, MASTER), aNode(store, MASTER)];
    const ids = await Promise.all(nodes.flatMap((node) => [node.current(), node.current()]));
    expect(new Set(ids.map(({ id }) => id)).size).toBe(1);
    expect(store.rows).toHaveLength(1);
  });

  it('shows the public half only', async () => {
    const { keys } = await aNode(new InMemoryServiceKeys(), MASTER).publicJwks();
    expect(keys.map((key) => Object.keys(key).sort())).toEqual([['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']]);
    expect(keys[0]).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' });
  });

  it('cannot be taken out of memory again', async () => {
    const { privateKey } = await aNode(new InMemoryServiceKeys(), MASTER).current();
    expect(privateKey.extractable).toBe(false);
  });

  it('is not stored in clear (T22)', async () => {
    const store = new InMemoryServiceKeys();
    await aNode(store, MASTER).current();
    const { sealed } = store.rows[0] as { sealed: Buffer };
    // A PKCS #8 key of an elliptic curve names it: 1.2.840.10045.2.1.
    expect(sealed.includes(Buffer.from('06072a8648ce3d0201', 'hex'))).toBe(false);
  });

  it('opens after its master key was rotated, as long as that one is still given', async () => {
    const store = new InMemoryServiceKeys();
    const before = aNode(store, MASTER);
    await before.current();
    expect(await prove(aNode(store, OTHER, MASTER), before)).toBe('us');
  });

  it('cannot be opened with another master key, nor as another key of the table (T22)', async () => {
    const store = new InMemoryServiceKeys();
    await aNode(store, MASTER).current();
    const [row] = store.rows;
    if (row === undefined) throw new Error('there is a key');
    await expect(aNode(store, OTHER).current()).rejects.toMatchObject({ code: 'overloaded' });
    store.rows[0] = { ...row, masterKeyId: (await createStaticKeyProvider([OTHER]).list())[0]?.id ?? '' };
    await expect(aNode(store, OTHER).current()).rejects.toThrow();
    store.rows[0] = { ...row, id: 'another' };
    await expect(aNode(store, MASTER).current()).rejects.toThrow();
  });

  it('is asked for again when the database was away the first time', async () => {
    const store = new InMemoryServiceKeys();
    const list = store.list.bind(store);
    let failures = 1;
    store.list = () => (failures-- > 0 ? Promise.reject(new Error('away')) : list());
    const node = aNode(store, MASTER);
    await expect(node.current()).rejects.toThrow('away');
    expect((await node.current()).id).toBe(store.rows[0]?.id);
  });

  it('says so when the table lost it meanwhile', async () => {
    const store = new InMemoryServiceKeys();
    store.ensure = async () => [];
    await expect(aNode(store, MASTER).current()).rejects.toMatchObject({ code: 'internal' });
  });
});
