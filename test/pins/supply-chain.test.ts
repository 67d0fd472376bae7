// What the product is made of: the real lock file holds, and each check was seen to find what it is for.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
/** As the manifest, the lock file and the bill are written; the checks read the rest of them for themselves. */
interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}
interface Lock {
  readonly packages: Readonly<Record<string, unknown>>;
}
interface Bill {
  readonly metadata: { readonly component: Readonly<Record<string, string>> };
  readonly components: readonly object[];
  readonly dependencies: readonly object[];
}
interface InstalledPackage {
  readonly place: string;
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}
interface Verdict {
  readonly kind: 'clean' | 'grave' | 'unreachable' | 'nonsense';
  readonly lines: readonly string[];
}
/** What the scripts export, which are JavaScript. */
interface Checks {
  problemsOfLock(manifest: object, lock: object): readonly string[];
  nameOf(place: string): string;
  licencesIn(lock: Lock, nameOf: Checks['nameOf']): readonly InstalledPackage[];
  isAllowed(expression: string): boolean;
  problemsOfLicences(packages: readonly InstalledPackage[], installedOf: (place: string) => unknown): readonly string[];
  productBill(bill: Bill, packages: readonly object[], name: string): { missing: readonly string[]; bill: Bill };
  audit(where: { registry: string; cwd: string }): Promise<Verdict>;
  verdictOf(said: { out: string; err: string }): Verdict;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
const script = (name: string): Promise<unknown> => import(join(ROOT, 'scripts/supply-chain', name));
const { problemsOfLock, nameOf, isAllowed, licencesIn, problemsOfLicences, productBill, audit, verdictOf } =
  Object.assign(
    {},
    ...(await Promise.all(['lock.mjs', 'licences.mjs', 'bill.mjs', 'audit.mjs'].map(script))),
  ) as Checks;
const manifest = readJson('package.json') as Manifest;
const lock = readJson('package-lock.json') as Lock;
const SHA = `sha512-${'A'.repeat(86)}==`;

describe('the lock file', () => {
  it('has everything exact, nothing tied to a registry, and only install scripts that have a reason', () => {
    expect(problemsOfLock(manifest, lock)).toEqual([]);
    expect(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).not.toMatch(/"resolved"|https?:\/\/[^"]*\.tgz/);
    expect(readFileSync(join(ROOT, '.npmrc'), 'utf8')).not.toMatch(/registry=/);
  });

  it.each([
    ['a range', { dependencies: { ...manifest.dependencies, express: '^5.3.0' } }, {}, /express is "\^5\.3\.0"/],
    ['a tag', { devDependencies: { ...manifest.devDependencies, tsx: 'latest' } }, {}, /tsx is "latest"/],
    ['an address', { dependencies: { ...manifest.dependencies, pg: 'git+https://x.test/pg' } }, {}, /pg is "git/],
    ['another version than the lock file', { dependencies: { ...manifest.dependencies, pg: '8.0.0' } }, {}, /differ/],
    [
      'an address in the lock file',
      {},
      { version: '1.0.0', integrity: SHA, resolved: 'https://r.test/x.tgz' },
      /tied to/,
    ],
    ['nothing to compare with', {}, { version: '1.0.0' }, /has no sha512/],
    ['a weak digest', {}, { version: '1.0.0', integrity: 'sha1-AAAA' }, /has no sha512/],
    ['a folder', {}, { version: '1.0.0', integrity: SHA, link: true }, /no exact version/],
    ['an install script', {}, { version: '1.0.0', integrity: SHA, hasInstallScript: true }, /x wants to run/],
    [
      'a permission without a reason',
      { allowScripts: { ...manifest.allowScripts, x: true } },
      {},
      /nobody said why x may/,
    ],
  ])('%s is found', (_what, ofManifest, entry, problem) => {
    const packages = Object.keys(entry).length === 0 ? lock.packages : { ...lock.packages, 'node_modules/x': entry };
    const problems = problemsOfLock({ ...manifest, ...ofManifest }, { ...lock, packages });
    expect(problems.join('\n')).toMatch(problem);
  });
});

describe('the licences', () => {
  it('are all on the list, and as the installed packages say', () => {
    const packages = licencesIn(lock, nameOf);
    expect(packages.length).toBeGreaterThan(100);
    expect(packages.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
    // Of those for other machines only the lock file tells.
    const installed = packages.filter(({ place }) => existsSync(join(ROOT, place)));
    expect(installed.length).toBeGreaterThan(100);
    const installedOf = (place: string): unknown =>
      installed.some((one) => one.place === place) ? readJson(`${place}/package.json`) : undefined;
    expect(problemsOfLicences(packages, installedOf)).toEqual([]);
  });

  it.each([
    ['MIT', true],
    ['(MIT OR GPL-3.0-only)', true],
    ['MIT AND ISC', true],
    ['MIT AND GPL-3.0-only', false],
    ['GPL-3.0-or-later', false],
    ['AGPL-3.0-only', false],
    ['SEE LICENSE IN LICENSE', false],
    ['UNLICENSED', false],
    ['none told', false],
    ['(MIT OR ISC) AND GPL-3.0-only', false],
  ])('%s is allowed: %s', (expression, allowed) => {
    expect(isAllowed(expression)).toBe(allowed);
  });

  it('that are not on the list, or told otherwise by the package, are found', () => {
    const one = { place: 'node_modules/x', name: 'x', version: '1.0.0' };
    expect(problemsOfLicences([{ ...one, licence: 'GPL-3.0-only' }], () => undefined)).toEqual([
      'x 1.0.0: GPL-3.0-only is not on the list',
    ]);
    expect(problemsOfLicences([{ ...one, licence: 'MIT' }], () => ({ license: 'AGPL-3.0-only' }))).toHaveLength(1);
    expect(problemsOfLicences([{ ...one, licence: 'MIT' }], () => ({ licenses: [{ type: 'MIT' }] }))).toEqual([]);
  });
});

describe('the bill of materials', () => {
  const bill = {
    metadata: { component: { 'bom-ref': 'us@1.0.0', name: 'folder' } },
    components: [{ 'bom-ref': 'express@5.0.0' }, { 'bom-ref': 'vitest@4.0.0' }],
    dependencies: [
      { ref: 'us@1.0.0', dependsOn: ['express@5.0.0', 'vitest@4.0.0'] },
      { ref: 'vitest@4.0.0', dependsOn: ['express@5.0.0'] },
    ],
  };

  it('has what is installed with the product, also where a tool needs it too, and no tools', () => {
    const made = productBill(bill, [{ name: 'express', version: '5.0.0' }], 'us');
    expect(made.missing).toEqual([]);
    expect(made.bill.components).toEqual([{ 'bom-ref': 'express@5.0.0' }]);
    expect(made.bill.dependencies).toEqual([{ ref: 'us@1.0.0', dependsOn: ['express@5.0.0'] }]);
    expect(made.bill.metadata.component['name']).toBe('us');
  });

  it('is refused when something of the product is not in it', () => {
    expect(productBill(bill, [{ name: 'pg', version: '8.0.0' }], 'us').missing).toEqual(['pg@8.0.0']);
  });
});

interface Endpoint extends AsyncDisposable {
  readonly url: string;
  /** Names that were asked about. */
  readonly asked: string[];
}

/** Where npm asks for advisories. */
async function endpoint(status: number, type: string, body: string): Promise<Endpoint> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const isQuestion = request.url?.endsWith('/advisories/bulk') === true;
      if (isQuestion) asked.push(...Object.keys(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString())));
      response.writeHead(isQuestion ? status : 404, { 'content-type': type }).end(isQuestion ? body : '{}');
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const advisory = (id: number, severity: string): string =>
  JSON.stringify({
    helmet: [
      { id, url: 'https://a.test/1', title: 'Bad', severity, vulnerable_versions: '<99', cwe: [], cvss: { score: 9 } },
    ],
  });

const runScript = (registry: string): Promise<{ readonly code: number; readonly out: string }> =>
  new Promise((done) => {
    const options = { cwd: ROOT, env: { ...process.env, SUPPLY_CHAIN_REGISTRY: registry } };
    execFile(process.execPath, ['scripts/supply-chain.mjs'], options, (error, out) =>
      done({ code: error === null ? 0 : Number(error.code), out }),
    );
  });

describe('known advisories', { timeout: 90_000 }, () => {
  it('none: the script ends well, has asked about all of the product, and leaves the bill', async () => {
    await using registry = await endpoint(200, 'application/json', '{}');
    const { code, out } = await runScript(registry.url);
    expect(out).toMatch(/advisories +ok +nothing known/);
    expect(code).toBe(0);
    expect(registry.asked).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
    expect((readJson('artifacts/sbom.cdx.json') as Bill).components.length).toBeGreaterThan(100);
  });

  it('a grave one: the script fails and names it', async () => {
    await using registry = await endpoint(200, 'application/json', advisory(7_000_001, 'critical'));
    const { code, out } = await runScript(registry.url);
    expect(out).toMatch(/advisories +FAILED\n +critical: helmet \(Bad https:\/\/a\.test\/1\)/);
    expect(code).toBe(1);
  });

  it('a lesser one is told, and fails nothing', async () => {
    await using registry = await endpoint(200, 'application/json', advisory(7_000_002, 'moderate'));
    expect(await audit({ registry: registry.url, cwd: ROOT })).toEqual({
      kind: 'clean',
      lines: ['moderate: helmet (Bad https://a.test/1)'],
    });
  });

  it('nobody to ask: the script warns, and fails nothing', async () => {
    const registry = await endpoint(200, 'application/json', '{}');
    await registry[Symbol.asyncDispose]();
    const { code, out } = await runScript(registry.url);
    expect(out).toMatch(/advisories +ok +SKIPPED, warning: nobody could be asked/);
    expect(out).not.toContain(registry.url);
    expect(code).toBe(0);
  });

  it('a registry that does not answer this question is nobody to ask', async () => {
    await using registry = await endpoint(405, 'application/json', '');
    expect((await audit({ registry: registry.url, cwd: ROOT })).kind).toBe('unreachable');
  });

  it.each([
    ['a page', 'text/html', '<h1>Welcome to this network</h1>'],
    ['a list', 'application/json', '[1]'],
    ['half an answer', 'application/json', '{"express":'],
  ])('an answer that is %s is not a clean one', async (_what, type, body) => {
    await using registry = await endpoint(200, type, body);
    expect((await audit({ registry: registry.url, cwd: ROOT })).kind).toBe('nonsense');
  });

  it('a report that does not add up is not a clean one', () => {
    const counts = { low: 0, moderate: 0, high: 1, critical: 0, total: 1 };
    for (const report of [
      { vulnerabilities: {}, metadata: { vulnerabilities: counts } },
      { vulnerabilities: { x: { name: 'x', severity: 'HIGH' } }, metadata: { vulnerabilities: counts } },
      { vulnerabilities: {} },
      {},
    ])
      expect(verdictOf({ out: JSON.stringify(report), err: '' }).kind).toBe('nonsense');
    expect(verdictOf({ out: '', err: '' }).kind).toBe('nonsense');
  });
});
