// Where a secret could turn up, whoever looks there: the log, all rows, and what a tenant's admin reads.
import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { isObject } from '../support/upstreams/message.ts';
import { foundIn } from '../support/written-forms.ts';

const ADMIN_READS = ['', '/servers', '/issuers', '/keys', '/credentials', '/connections'];

/** Every text and name in it, bare: quoted once more a secret with a `"` in it would not be found. */
function bare(value: unknown): readonly string[] {
  if (value === undefined) return [];
  if (typeof value === 'string') return [value, ...bare(parsed(value))];
  if (Array.isArray(value)) return value.flatMap(bare);
  return isObject(value) ? Object.entries(value).flatMap(([name, member]) => [name, ...bare(member)]) : [String(value)];
}

function parsed(text: string): unknown {
  if (!/^\s*[[{"]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const found = (texts: readonly unknown[], secrets: Readonly<Record<string, string>>): readonly string[] =>
  foundIn(bare(texts).join('\n'), secrets);

/** The names of the secrets that stand in some row. What is hidden in a `bytea` stands there in hex. */
export async function foundInRows(app: TestApp, secrets: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const tables = await app.sql(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
     WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_type = 'BASE TABLE'`,
  );
  expect(tables.length).toBeGreaterThan(8);
  const rows: unknown[] = [];
  for (const { name } of tables) rows.push(await app.sql(`SELECT to_jsonb(t) AS row FROM ${String(name)} t`));
  return found(rows, secrets);
}

async function readByAdmins(app: TestApp, tenant: string, servers: readonly string[]): Promise<readonly unknown[]> {
  const texts: unknown[] = [];
  for (const path of [...ADMIN_READS, ...servers.map((name) => `/servers/${name}`)])
    texts.push(await app.adminOk('GET', `/tenants/${tenant}${path}`));
  return texts;
}

export interface Looked {
  readonly tenant: string;
  readonly servers: readonly string[];
  /** What agents, browsers and others were told. */
  readonly seen: readonly string[];
}

/** Fails by the name of the place, with the names of what was found there. */
export async function expectNowhere(
  app: TestApp,
  secrets: Readonly<Record<string, string>>,
  { tenant, servers, seen }: Looked,
): Promise<void> {
  for (const [name, value] of Object.entries(secrets)) expect(value.length, name).toBeGreaterThan(12);
  expect(app.lines.length).toBeGreaterThan(0);
  expect(found(app.lines, secrets), 'log').toEqual([]);
  expect(await foundInRows(app, secrets), 'rows').toEqual([]);
  expect(found(await readByAdmins(app, tenant, servers), secrets), 'what admins read').toEqual([]);
  expect(found(seen, secrets), 'answers').toEqual([]);
}
