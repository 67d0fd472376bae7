// Puts a bench's people, servers and tokens into a migrated database, sealed by the real vault, in bulk.
import pg from 'pg';
import { parseDefinition } from '../dist/catalog/definition.js';
import { createSecretKeeper } from '../dist/credential/keep-secret.js';
import { createStaticKeyProvider } from '../dist/credential/local-keys.js';
import { createVault } from '../dist/credential/vault.js';
import { jwtPrincipal } from '../dist/identity/caller.js';
import { systemClock } from '../dist/shared/clock.js';
import { createDataKeyStore } from '../dist/store/data-keys.js';

const MAX_RESULT_BYTES = 16 * 1024 * 1024;
const ROWS_AT_ONCE = 1_000;

/** `fixture`: servers {name, url}, people {tenant, principal, tokens by server}, jwt {iss, aud, tenantClaim, principalClaim}. */
export async function loadFixture({ url, fixture, keySet, masterKey }) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const database = { query: async (text, values = []) => (await client.query(text, [...values])).rows };
    const tenants = [...new Set(fixture.people.map(({ tenant }) => tenant))];
    await database.query('INSERT INTO tenants (id, name) SELECT id, id FROM unnest($1::text[]) AS id', [tenants]);
    await insertIssuers(database, tenants, fixture.jwt, keySet);
    const servers = await insertServers(database, tenants, fixture.servers);
    await insertCredentials(database, fixture, servers, masterKey);
    await database.query('ANALYZE');
  } finally {
    await client.end();
  }
}

function insertIssuers(database, tenants, { iss, aud, tenantClaim, principalClaim }, keySet) {
  return database.query(
    `INSERT INTO issuers (tenant_id, issuer, jwks, audience, principal_claim, tenant_claim, algorithms)
     SELECT id, $2, $3::jsonb, $4, $5, $6, '{ES256}' FROM unnest($1::text[]) AS id`,
    [tenants, iss, JSON.stringify(keySet), aud, principalClaim, tenantClaim],
  );
}

/** Every server in every tenant; gives them parsed, by tenant and name. */
async function insertServers(database, tenants, servers) {
  const definitions = servers.map(({ url }) =>
    JSON.stringify({ url, credential: { owner: 'principal', kind: 'secret' }, maxResultBytes: MAX_RESULT_BYTES }),
  );
  const rows = await database.query(
    `INSERT INTO servers (tenant_id, name, definition)
     SELECT tenant, name, definition FROM unnest($1::text[]) AS tenant, unnest($2::text[], $3::jsonb[]) AS server (name, definition)
     RETURNING tenant_id, id, name, revision, definition`,
    [tenants, servers.map(({ name }) => name), definitions],
  );
  const parsed = rows.map(({ tenant_id, ...row }) => [
    `${tenant_id} ${row.name}`,
    parseDefinition({ ...row, tenantId: tenant_id, enabled: true, source: 'table' }),
  ]);
  const bad = parsed.find(([, result]) => !result.ok);
  if (bad) throw new Error(`${bad[0]}: ${JSON.stringify(bad[1].problems)}`);
  return new Map(parsed.map(([key, { server }]) => [key, server]));
}

async function insertCredentials(database, { people, jwt }, servers, masterKey) {
  const rows = [];
  const vault = createVault({
    masterKeys: createStaticKeyProvider([masterKey]),
    // Loaded past the walls between tenants, in one go.
    dataKeys: askedOnce(createDataKeyStore({ forTenant: () => database })),
  });
  // Collected here, so that thousands go in with one statement.
  const credentials = { put: async (row) => String(rows.push(row)), remove: async () => false };
  const keeper = createSecretKeeper({ vault, credentials, clock: systemClock });
  for (const { tenant, principal, tokens } of people) {
    const owner = { kind: 'principal', principalId: jwtPrincipal(jwt.iss, principal) };
    for (const [name, token] of Object.entries(tokens)) {
      await keeper.keep(servers.get(`${tenant} ${name}`), owner, token);
    }
  }
  for (let i = 0; i < rows.length; i += ROWS_AT_ONCE) await insertRows(database, rows.slice(i, i + ROWS_AT_ONCE));
}

function insertRows(database, rows) {
  const column = (name) => rows.map((row) => row[name]);
  return database.query(
    `INSERT INTO credentials (tenant_id, server_id, owner, kind, binding, sealed, updated_at)
     SELECT *, now() FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[])`,
    [...['tenantId', 'serverId', 'owner', 'kind', 'binding'].map(column), column('sealed')],
  );
}

/** Nobody else writes while we load, so the current key of a tenant need not be read for every secret. */
function askedOnce(store) {
  const known = new Map();
  const ensure = (tenantId, key) => {
    if (!known.has(tenantId)) known.set(tenantId, store.ensure(tenantId, key));
    return known.get(tenantId);
  };
  return { list: store.list, findCurrent: (tenantId) => Promise.resolve(known.get(tenantId)), ensure };
}
