// The layer rules hold, the checker has seen every file, and it does catch what it is there to catch.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const PROJECT = resolve(import.meta.dirname, '../..');
const CRUISER = join(PROJECT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

interface Cruise {
  readonly modules: readonly { readonly source: string }[];
  readonly summary: {
    readonly violations: readonly {
      readonly from: string;
      readonly to: string;
      readonly rule: { readonly name: string };
    }[];
  };
}

/** The same command as in `npm run check`, read by a program. */
function cruise(directory: string): Cruise {
  const output = execFileSync(process.execPath, [CRUISER, 'src', '--output-type', 'json'], {
    cwd: directory,
    encoding: 'utf8',
    maxBuffer: 100_000_000,
  });
  return JSON.parse(output) as Cruise;
}

function listSources(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.ts')).map((name) => `src/${name}`);
}

describe('the layers of src', () => {
  const found = cruise(PROJECT);

  it('has no import against the look-left rule', () => {
    expect(found.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
  });

  it('was checked as a whole: a checker that reads nothing also reports success', () => {
    const seen = new Set(found.modules.map(({ source }) => source));
    const sources = listSources(join(PROJECT, 'src'));
    expect(sources.length).toBeGreaterThan(20);
    expect(sources.filter((source) => !seen.has(source))).toEqual([]);
  });
});

/** File, what it imports, and the rule that must catch it. */
const PLANTED: readonly (readonly [rule: string, file: string, code: string])[] = [
  ['look-left: shared', 'shared/planted.ts', "import { app } from '../proxy/planted-target.ts';"],
  ['look-left: wire', 'wire/planted.ts', "import type { Caller } from '../identity/caller.ts';"],
  ['look-left: catalog', 'catalog/planted.ts', "import type { Credential } from '../credential/credential.ts';"],
  ['look-left: proxy', 'proxy/planted.ts', "import { page } from '../consent/planted-target.ts';"],
  ['look-left: connection', 'connection/planted.ts', "import { table } from '../store/planted-target.ts';"],
  ['edges-never-meet: agent', 'agent/planted.ts', "import { page } from '../consent/planted-target.ts';"],
  ['edges-never-meet: admin', 'admin/planted.ts', "import type { table } from '../store/planted-target.ts';"],
  ['edges-never-meet: store', 'store/planted.ts', "import { link } from '../upstream/planted-target.ts';"],
  ['plugs-fill-ports', 'upstream/planted.ts', "import { callerKey } from '../identity/caller.ts';"],
  ['plugs-know-no-proxy', 'store/planted-2.ts', "import type { app } from '../proxy/planted-target.ts';"],
  ['root-is-imported-by-nobody', 'agent/planted-2.ts', "import type { Config } from '../config.ts';"],
  ['library-home: express', 'proxy/planted-2.ts', "import type { Express } from 'express';"],
  ['library-home: pg', 'catalog/planted-2.ts', "import pg from 'pg';"],
  ['library-home: undici', 'identity/planted.ts', "import { request } from 'undici';"],
  ['library-home: openid-client', 'credential/planted.ts', "import * as client from 'openid-client';"],
  ['library-home: pino', 'shared/planted-2.ts', "import { pino } from 'pino';"],
  ['library-home: zod', 'policy/planted.ts', "import { z } from 'zod';"],
  [
    'library-home: @modelcontextprotocol/sdk',
    'agent/planted-3.ts',
    "import type { Tool } from '@modelcontextprotocol/sdk/types.js';",
  ],
  ['library-without-a-home', 'shared/planted-3.ts', "import fc from 'fast-check';"],
  ['no-folder-off-the-map', 'utils/planted.ts', "import { randomId } from '../shared/id.ts';"],
  ['unknown-import', 'shared/planted-4.ts', "import { nothing } from './no-such-file.ts';"],
  ['product-stands-alone', 'shared/planted-5.ts', "import setup from '../../test/support/global-setup.ts';"],
  ['no-circle', 'result/planted-a.ts', "import { b } from './planted-b.ts'; export const a = () => b;"],
];

const TARGETS: Readonly<Record<string, string>> = {
  'config.ts': 'export interface Config { readonly port: number }',
  'proxy/planted-target.ts': 'export const app = 1;',
  'consent/planted-target.ts': 'export const page = 1;',
  'store/planted-target.ts': 'export const table = 1;',
  'upstream/planted-target.ts': 'export const link = 1;',
  'result/planted-b.ts': "import { a } from './planted-a.ts'; export const b = () => a;",
};

describe('the layer checker', () => {
  const copy = mkdtempSync(join(tmpdir(), 'layers-'));
  let caught: ReadonlySet<string>;

  beforeAll(() => {
    for (const name of ['src', 'tsconfig.json', '.dependency-cruiser.cjs', 'package.json', 'test/support']) {
      cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
    }
    symlinkSync(join(PROJECT, 'node_modules'), join(copy, 'node_modules'));
    const planted = PLANTED.map(([, file, code]) => [file, code] as const);
    for (const [file, code] of [...Object.entries(TARGETS), ...planted]) {
      mkdirSync(dirname(join(copy, 'src', file)), { recursive: true });
      writeFileSync(join(copy, 'src', file), `${code}\n`);
    }
    caught = new Set(cruise(copy).summary.violations.map(({ rule, from }) => `${rule.name} in ${from}`));
  }, 120_000);

  afterAll(() => {
    rmSync(copy, { recursive: true, force: true });
  });

  it.each(PLANTED)('catches a planted violation of "%s"', (rule, file) => {
    expect([...caught]).toContain(`${rule} in src/${file}`);
  });
});
