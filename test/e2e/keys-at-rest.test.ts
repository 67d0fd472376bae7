// What is sealed opens only as itself, and a copy of the whole database shows nothing (T22).
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NotAuthentic } from '../../src/credential/key-provider.ts';
import { createVault, type Vault } from '../../src/credential/vault.ts';
import { Scene } from '../support/scene.ts';
import { newMasterKey, turningKeys } from '../support/turning-keys.ts';
import {
  CANARIES,
  fillTenant,
  type SealedThing,
  sealedThings,
  type WrappedThing,
  wrappedThings,
} from './a-sealed-world.ts';

const MASTER_KEY = newMasterKey();
const masterKeys = turningKeys(MASTER_KEY);
const scene = new Scene({ masterKeys });

let things: readonly SealedThing[];
let wrapped: readonly WrappedThing[];
/** Without a memory: what it opens, it opens by the tables alone. */
let vault: Vault;
beforeAll(async () => {
  await scene.begin();
  await fillTenant(scene, 'handoff');
  await fillTenant(scene, 'oidc');
  await fetch(`${scene.app.url}/oauth/jwks.json`);
  [things, wrapped] = [await sealedThings(scene.app), await wrappedThings(scene.app)];
  const rows = await scene.app.sql('SELECT * FROM data_keys');
  const keysOf = (tenantId: string) =>
    rows
      .filter((row) => row['tenant_id'] === tenantId)
      .map((row) => ({
        id: String(row['id']),
        wrapped: row['wrapped'] as Buffer,
        masterKeyId: String(row['master_key_id']),
      }));
  vault = createVault({
    masterKeys,
    dataKeys: {
      list: async (tenantId) => keysOf(tenantId),
      findCurrent: async (tenantId) => keysOf(tenantId)[0],
      ensure: () => Promise.reject(new Error('there are keys')),
    },
  });
}, 60_000);
afterAll(() => scene.end());

const refusal = (error: unknown): string => (error instanceof Error ? error.message : 'opened');

describe('what is sealed', () => {
  it('is there in every place, twice, and opens', async () => {
    const counts = new Map<string, number>();
    for (const { tenantId, what, context, sealed } of things) {
      counts.set(what, (counts.get(what) ?? 0) + 1);
      expect((await vault.open(tenantId, context, sealed)).reveal().length).toBeGreaterThan(0);
    }
    // The attempts of those who are signed in stay as well.
    expect(Object.fromEntries(counts)).toEqual({
      secret: 4,
      grant: 4,
      client: 2,
      attempt: 8,
      definition: 6,
      'sign-in': 2,
    });
    expect(wrapped.map(({ what }) => what).sort()).toEqual(['data key', 'data key', 'service key']);
    for (const { words, wrapped: box } of wrapped) await masterKeys.unwrap(box, words);
  });

  it('opens in the place of no other, whichever two are swapped', async () => {
    let pairs = 0;
    for (const from of things)
      for (const to of things) {
        if (from === to) continue;
        pairs += 1;
        const opened = await vault.open(to.tenantId, to.context, from.sealed).then(() => 'opened', refusal);
        expect(opened, `${from.what} as ${to.what}`).toMatch(/could not be opened|cannot be opened any more/);
      }
    expect(pairs).toBe(things.length * (things.length - 1));
  });

  it('cannot be exchanged with the keys that sealed it, nor they with each other', async () => {
    for (const from of wrapped)
      for (const to of wrapped) {
        if (from === to) continue;
        await expect(masterKeys.unwrap(from.wrapped, to.words), `${from.what} as ${to.what}`).rejects.toThrow(
          NotAuthentic,
        );
      }
    for (const { words, wrapped: box } of wrapped)
      for (const { tenantId, context, sealed } of things) {
        await expect(masterKeys.unwrap({ ...box, bytes: sealed }, words)).rejects.toThrow(NotAuthentic);
        const asRow = Buffer.concat([sealed.subarray(0, 17), box.bytes]);
        await expect(vault.open(tenantId, context, asRow)).rejects.toMatchObject({ code: 'internal' });
      }
  });

  it('does not open with any bit turned, cut short or made longer', async () => {
    const thing = things.find(({ what }) => what === 'client');
    if (thing === undefined) throw new Error('no client');
    const { tenantId, context, sealed } = thing;
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const turned = Buffer.from(sealed);
      turned.writeUInt8(turned.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      await expect(vault.open(tenantId, context, turned), `bit ${bit}`).rejects.toMatchObject({ code: 'internal' });
    }
    for (let length = 0; length < sealed.length; length += 1)
      await expect(vault.open(tenantId, context, sealed.subarray(0, length))).rejects.toMatchObject({
        code: 'internal',
      });
    await expect(vault.open(tenantId, context, Buffer.concat([sealed, sealed]))).rejects.toMatchObject({
      code: 'internal',
    });
  });
});

describe('a dump of the whole database', () => {
  it('has no secret in it: not as it is, nor in hex, base64, an address or JSON', async () => {
    const secrets = [
      'canary-pasted-7f1a',
      CANARIES.header,
      CANARIES.clientSecret,
      CANARIES.handoffKey,
      CANARIES.oidcSecret,
      MASTER_KEY,
      scene.app.adminKey,
    ];
    for (const { tenantId, context, sealed } of things) {
      const opened = (await vault.open(tenantId, context, sealed)).reveal();
      const { accessToken, refreshToken, verifier, state } = opened.startsWith('{')
        ? (JSON.parse(opened) as Record<string, unknown>)
        : {};
      secrets.push(...[accessToken, refreshToken, verifier, state].filter((one) => typeof one === 'string'));
    }
    for (const { words, wrapped: box } of wrapped)
      secrets.push((await masterKeys.unwrap(box, words)).toString('latin1'));
    expect(secrets).toHaveLength(7 + 3 + 8 + 16);
    const dump = await dumpAll();
    expect(dump).toContain('credentials');
    for (const secret of secrets)
      for (const [form, shown] of formsOf(secret))
        expect(dump.includes(shown), `${form} of ${secret.slice(0, 12)}`).toBe(false);
    // What is looked for would be found.
    const found = formsOf(CANARIES.header).map(([, shown]) => shown);
    await scene.app.sql(
      "UPDATE servers SET definition = definition || jsonb_build_object('title', $1::text) WHERE name = 'keys'",
      [found.join(' ')],
    );
    const leaky = await dumpAll();
    for (const shown of found) expect(leaky).toContain(shown);
  });
});

/** Every column of every table as text; bytes in hex, in base64 and as they are. */
async function dumpAll(): Promise<string> {
  const tables = await scene.app.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename");
  const parts: string[] = [];
  for (const { tablename } of tables) {
    parts.push(String(tablename));
    for (const row of await scene.app.sql(`SELECT * FROM "${String(tablename)}"`))
      for (const value of Object.values(row)) {
        if (!Buffer.isBuffer(value)) parts.push(typeof value === 'string' ? value : JSON.stringify(value));
        else
          parts.push(value.toString('hex'), value.toString('base64'), value.toString('latin1'), value.toString('utf8'));
      }
  }
  return parts.join('\n');
}

function formsOf(secret: string): readonly (readonly [string, string])[] {
  const bytes = Buffer.from(secret, /^canary|^[A-Za-z0-9+/=_.-]+$|^p:/.test(secret) ? 'utf8' : 'latin1');
  return [
    ['the text', secret],
    ['hex', bytes.toString('hex')],
    ['base64', bytes.toString('base64')],
    ['base64url', bytes.toString('base64url')],
    ['URL', encodeURIComponent(secret)],
    ['JSON', JSON.stringify(secret).slice(1, -1)],
  ];
}
