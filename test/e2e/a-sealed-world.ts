// Two tenants with something sealed in every place that there is, and how each of it is read from the tables again.

import { wordsOfServiceKey } from '../../src/credential/client-keys.ts';
import { wordsOfDataKey } from '../../src/credential/data-key.ts';
import {
  attemptContext,
  clientContext,
  credentialContext,
  definitionContext,
  type SealContext,
  signInContext,
} from '../../src/credential/seal-context.ts';
import type { PrincipalId, ServerId, TenantId } from '../../src/shared/id.ts';
import type { TestApp } from '../support/app.ts';
import { type Scene, withKeys } from '../support/scene.ts';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { linkFrom, signIn, signInWorld, withOauth } from '../support/sign-in/sign-in-scene.ts';
import { agree } from './pages-walk.ts';

export const CANARIES = {
  pasted: 'canary-pasted-"\\/+=ü-7f1a',
  header: 'canary-header-91c2',
  clientSecret: 'canary-client-secret-3e',
  handoffKey: 'canary-handoff-key-4c5d',
  oidcSecret: 'canary-oidc-secret-5b6e',
} as const;

export interface SealedTenant {
  readonly id: string;
  /** Of the last attempt that was begun and left open. */
  readonly callback: string;
}

/** One tenant: two pasted keys, two grants, a registered client, open attempts, two definitions with secrets, a sign-in. */
export async function fillTenant(scene: Scene, signInSecret: 'handoff' | 'oidc'): Promise<SealedTenant> {
  const world = await signInWorld(scene, 'modern', { as: { registeredMethod: 'client_secret_basic' } });
  const { tenant, as, mcp } = world;
  const keyed = await scene.keyed('legacy', { requireKey: false });
  await tenant.put(
    'keys',
    withKeys(keyed, { headers: { 'x-team': CANARIES.header, 'x-other': `${CANARIES.header}-2` } }),
  );
  await tenant.put('pre', withOauth(mcp, { clientId: 'pre', clientSecret: CANARIES.clientSecret, issuer: as.issuer }));
  for (const person of ['ada', 'bob']) {
    await tenant.setSecret('keys', person, 'canary-pasted-7f1a');
    await signIn(world, await tenant.raw('rawModern', person), person);
  }
  let callback = '';
  for (const person of ['cyd', 'dan']) {
    as.settings.nextSubject = person;
    const browser = new Browser();
    await browser.open(await linkFrom(await tenant.raw('rawModern', person)));
    callback = await agree(browser);
  }
  const way =
    signInSecret === 'handoff'
      ? { mode: 'handoff', verifyUrl: 'https://product.example/verify', key: CANARIES.handoffKey }
      : { mode: 'oidc', issuer: 'https://idp.example', clientId: 'kb', clientSecret: CANARIES.oidcSecret };
  await scene.app.adminOk('PATCH', `/tenants/${tenant.id}`, { signIn: way });
  return { id: tenant.id, callback };
}

/** Something sealed by a tenant's data key, as it stands in the tables. */
export interface SealedThing {
  readonly tenantId: TenantId;
  readonly what: string;
  readonly context: SealContext;
  readonly sealed: Buffer;
}

interface Row {
  readonly [column: string]: unknown;
}
const text = (row: Row, column: string): string => String(row[column]);
const bytes = (row: Row, column: string): Buffer => row[column] as Buffer;

export async function sealedThings(app: TestApp): Promise<readonly SealedThing[]> {
  const things: SealedThing[] = [];
  const add = (row: Row, what: string, context: SealContext, sealed: Buffer): void => {
    things.push({ tenantId: text(row, 'tenant_id') as TenantId, what, context, sealed });
  };
  for (const row of await app.sql('SELECT * FROM credentials')) {
    const kind = text(row, 'kind') as 'secret' | 'grant';
    const context = credentialContext(
      kind,
      text(row, 'server_id') as ServerId,
      text(row, 'owner'),
      text(row, 'binding'),
    );
    add(row, kind, context, bytes(row, 'sealed'));
  }
  for (const row of await app.sql('SELECT * FROM oauth_clients WHERE sealed IS NOT NULL')) {
    const client = {
      clientId: text(row, 'client_id'),
      redirectUri: text(row, 'redirect_uri'),
      method: text(row, 'method'),
    };
    const key = { serverId: text(row, 'server_id') as ServerId, issuer: text(row, 'issuer') };
    add(row, 'client', clientContext(key, client), bytes(row, 'sealed'));
  }
  for (const row of await app.sql('SELECT * FROM sign_in_attempts')) {
    const attempt = {
      stateHash: bytes(row, 'state_hash'),
      contextId: text(row, 'context_id'),
      browserHash: bytes(row, 'browser_hash'),
      serverId: text(row, 'server_id') as ServerId,
      principalId: text(row, 'principal_id') as PrincipalId,
      binding: text(row, 'binding'),
    };
    add(row, 'attempt', attemptContext(attempt), bytes(row, 'sealed'));
  }
  for (const row of await app.sql('SELECT * FROM servers'))
    for (const [path, sealed] of sealedIn(row['definition'], ''))
      add(
        row,
        'definition',
        definitionContext(text(row, 'name'), destinationOf(row['definition'] as Row), path),
        sealed,
      );
  for (const row of await app.sql("SELECT id AS tenant_id, sign_in FROM tenants WHERE sign_in->>'mode' <> 'link'")) {
    const signInRow = row['sign_in'] as Row;
    const [member, place] =
      signInRow['mode'] === 'oidc' ? (['clientSecret', 'issuer'] as const) : (['key', 'verifyUrl'] as const);
    const sealed = Buffer.from(text(signInRow, member).slice('sealed:'.length), 'base64');
    add(row, 'sign-in', signInContext(member, text(signInRow, place)), sealed);
  }
  return things;
}

function sealedIn(value: unknown, path: string): readonly (readonly [string, Buffer])[] {
  if (typeof value !== 'object' || value === null) return [];
  const sealed = (value as Row)['sealed'];
  if (typeof sealed === 'string') return [[path, Buffer.from(sealed, 'base64')]];
  return Object.entries(value).flatMap(([name, member]) => sealedIn(member, path === '' ? name : `${path}.${name}`));
}

/** Written down a second time: a change of it would make every stored secret unreadable. */
function destinationOf(definition: Row): string {
  const oauth = (definition['credential'] as Row | undefined)?.['oauth'] as Row | undefined;
  return JSON.stringify([
    new URL(text(definition, 'url')).origin,
    null,
    oauth?.['issuer'] ?? null,
    oauth?.['tokenEndpoint'] ?? null,
  ]);
}

/** A key that a master key wraps. */
export interface WrappedThing {
  readonly what: string;
  readonly words: readonly string[];
  readonly wrapped: { readonly keyId: string; readonly bytes: Buffer };
}

export async function wrappedThings(app: TestApp): Promise<readonly WrappedThing[]> {
  const dataKeys = (await app.sql('SELECT * FROM data_keys')).map((row) => ({
    what: 'data key',
    words: wordsOfDataKey(text(row, 'tenant_id') as TenantId, text(row, 'id')),
    wrapped: { keyId: text(row, 'master_key_id'), bytes: bytes(row, 'wrapped') },
  }));
  const serviceKeys = (await app.sql('SELECT * FROM service_keys')).map((row) => ({
    what: 'service key',
    words: wordsOfServiceKey(text(row, 'id')),
    wrapped: { keyId: text(row, 'master_key_id'), bytes: bytes(row, 'sealed') },
  }));
  return [...dataKeys, ...serviceKeys];
}
