// Documents are checked against the code: tables, routes, numbers of threats and reports, files and links.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { adminRoutes } from '../../src/admin/routes.ts';
import { parseDefinition } from '../../src/catalog/definition.ts';
import { CONFIG_VARIABLES } from '../../src/config.ts';
import type { ServerId, TenantId } from '../../src/shared/id.ts';
import { openAdminApi } from '../admin/an-admin-api.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const filesUnder = (folder: string, ending: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`);
/** The cells of every row of every table. */
const rowsOf = (text: string): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('|---'))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

const DOCUMENTS = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...filesUnder('docs', '.md'),
  'test/cases.md',
];
/** Files of ours as documents name them. */
const PATH = /`((?:[\w.-]+\/)*[\w.-]+(?:\.(?:ts|mjs|cjs|sql)|\/Containerfile))`/g;
const isThere = (path: string): boolean => ['src', 'test', '.'].some((folder) => existsSync(join(ROOT, folder, path)));
const CODE = [...filesUnder('src', '.ts'), ...filesUnder('test', '.ts')];

it('configuration.md has every variable with its default and meaning, and no other', () => {
  const shown = rowsOf(read('docs/reference/configuration.md')).filter(([name = '']) => /^`[A-Z_]+`$/.test(name));
  const expected = CONFIG_VARIABLES.map(({ name, default: fallback, otherwise }) => [
    `\`${name}\``,
    fallback === undefined ? otherwise : `\`${fallback}\``,
  ]);
  expect(shown.map(([name, fallback]) => [name, fallback])).toEqual(expected);
  for (const { meaning } of CONFIG_VARIABLES)
    expect(shown.map(([, , cell = '']) => cell.startsWith(meaning))).toContain(true);
});

it('http-api.md has every route of the admin API, and no other', async () => {
  await using api = await openAdminApi();
  const routes = adminRoutes(api.deps).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  const text = read('docs/reference/http-api.md');
  const named = [
    ...text.matchAll(
      /`((?:GET|POST|PUT|PATCH|DELETE)(?: (?:GET|POST|PUT|PATCH|DELETE))*) (\/(?:tenants|vault)[^`?]*)(?:\?[^`]*)?`/g,
    ),
  ];
  const shown = named.flatMap(([, methods = '', path = '']) => methods.split(' ').map((method) => `${method} ${path}`));
  expect(shown.toSorted()).toEqual(routes.toSorted());
});

it('server-definition.md names only members that are known, and each of them', () => {
  const text = read('docs/reference/server-definition.md');
  const [top = '', credential = ''] = text.split('## `credential`');
  const namesIn = (part: string): readonly string[] =>
    rowsOf(part).flatMap(([cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name));
  const unknownIn = (definition: unknown): readonly string[] => {
    const result = parseDefinition({
      tenantId: 't' as TenantId,
      id: 'i' as ServerId,
      name: 's',
      revision: '1',
      enabled: true,
      source: 'file',
      definition,
    });
    return result.ok
      ? []
      : result.problems.filter(({ message }) => message.startsWith('is not known')).map(({ path }) => path);
  };
  const toObject = (names: readonly string[]): unknown => Object.fromEntries(names.map((name) => [name, undefined]));
  expect(unknownIn({ ...(toObject(namesIn(top)) as object), url: 'https://a.test' })).toEqual([]);
  expect(unknownIn({ url: 'https://a.test', credential: toObject(namesIn(credential)) })).toEqual([]);
  expect(namesIn(top)).toHaveLength(27);
  expect(namesIn(credential)).toHaveLength(8);
});

it('every threat that the code speaks of is in threat-model.md, with files that are there', () => {
  const text = read('docs/threat-model.md');
  const known = new Set([...text.matchAll(/^\| (T\d+) \|/gm)].map(([, id]) => id));
  for (const path of CODE)
    for (const [id] of read(path).matchAll(/\bT\d{1,2}\b(?!:\d)/g)) expect(known, `${id} of ${path}`).toContain(id);
  for (const [, path = ''] of text.matchAll(PATH)) expect(isThere(path), path).toBe(true);
});

it('threat-model.md names for each threat, and each risk of the OWASP list, what stops it and a test, or says that nothing does', () => {
  const rows = rowsOf(read('docs/threat-model.md')).filter(([id = '']) => /^(?:T|MCP)\d+$/.test(id));
  const threats = Array.from({ length: 30 }, (_, at) => `T${at + 1}`);
  const risks = Array.from({ length: 10 }, (_, at) => `MCP${String(at + 1).padStart(2, '0')}`);
  expect(rows.map(([id]) => id)).toEqual([...threats, ...risks]);
  for (const [id, , stoppedBy = '', tests = '', ...more] of rows) {
    expect(more, `${id} has four cells`).toEqual([]);
    if (stoppedBy.startsWith('Does not arise')) continue;
    const files = [...stoppedBy.matchAll(PATH)].map(([, path = '']) => path);
    expect(files.length + Number(stoppedBy.includes('**Not yet')), `what stops ${id}`).toBeGreaterThan(0);
    const named = [...tests.matchAll(/`([\w/.-]+\.test\.ts)`/g)].map(([, path = '']) => path);
    expect(named.length, `tests of ${id}`).toBeGreaterThan(0);
    for (const path of named) expect(existsSync(join(ROOT, 'test', path)), `${path} of ${id}`).toBe(true);
  }
});

it('SECURITY.md names files that are there', () => {
  const paths = [...read('SECURITY.md').matchAll(PATH)].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(1);
  for (const path of paths) expect(isThere(path), path).toBe(true);
});

it('cases.md has a line for every report that a test names, and names tests that name it', () => {
  const rows = rowsOf(read('test/cases.md')).filter(([id = '']) => /^B\d{3}$/.test(id));
  const ids = rows.map(([id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const path of CODE)
    for (const [id] of read(path).matchAll(/\bB\d{3}\b/g)) expect(ids, `${id} of ${path}`).toContain(id);
  for (const [id = '', , tests = ''] of rows)
    for (const [, path = ''] of tests.matchAll(/`([^`]+\.test\.ts)`/g))
      expect(read(`test/${path}`), `${path} for ${id}`).toContain(id);
});

it('links between documents lead somewhere', () => {
  for (const path of DOCUMENTS) {
    for (const [, target = ''] of read(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g))
      expect(existsSync(join(ROOT, dirname(path), target)), `${target} in ${path}`).toBe(true);
  }
});
