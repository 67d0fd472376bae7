// `npm run test:security` runs what docs/threat-model.md names, and says at its end what of it was skipped.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import underAttack from '../proof/under-attack.config.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MODEL = readFileSync(join(ROOT, 'docs/threat-model.md'), 'utf8');
const FILES = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' });

const script = async (args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, ['scripts/test-security.mjs', ...args], { cwd: ROOT })).stdout;
const listed = script(['--list']).then((text) => text.trimEnd().split('\n'));

/** However a file is written, in a path, alone, or with a star; read in another way than the script does. */
const named = [...new Set(MODEL.match(/[^\s`|,;]+\.test\.ts/g))];
const meant = (name: string): readonly string[] => {
  const pattern = new RegExp(`^${name.replaceAll('.', '[.]').replaceAll('*', '[^/]*')}$`);
  return FILES.filter((file) => pattern.test(file));
};

it('every test file that the threat model names is there, and is run', async () => {
  expect(named.length).toBeGreaterThan(100);
  const files = await listed;
  for (const name of named) {
    expect(meant(name), name).not.toEqual([]);
    for (const file of meant(name)) expect(files).toContain(`test/${file}`);
  }
  for (const file of files) expect(existsSync(join(ROOT, file)), file).toBe(true);
});

it('no file is named by a piece of its name, which nobody would find', () => {
  expect(MODEL.match(/`-[^`]*`/g)).toBeNull();
});

it('what is measured and named is in the configuration of what is measured', () => {
  const measured = MODEL.match(/[^\s`|,;]+\.measured\.ts/g) ?? [];
  expect(measured).not.toEqual([]);
  expect(underAttack.test?.include).toEqual(['test/proof/*.measured.ts']);
  for (const name of measured) expect(meant(name), name).toHaveLength(1);
});

it.each(['upstream/egress/', 'pins/tripwire', 'e2e/egress-'])(
  'every test of the way out (%s) is named',
  async (start) => {
    const files = await listed;
    const all = FILES.filter((file) => file.startsWith(start) && file.endsWith('.test.ts'));
    expect(all).not.toEqual([]);
    for (const file of all) expect(files).toContain(`test/${file}`);
  },
);

it('what was skipped, and why, is the last thing it says, also when all is green', async () => {
  const text = await script(['--config', 'test/support/skipping/config.ts']);
  expect(text.trimEnd().split('\n').slice(-3)).toEqual([
    '1 passed, 0 failed, 3 skipped',
    'WARNING: 2 tests were skipped in test/support/skipping/some-skipped.ts: with a thing (skipped where it is missing)',
    'WARNING: 1 test was skipped in test/support/skipping/some-skipped.ts: alone (skipped for a reason of its own)',
  ]);
});
