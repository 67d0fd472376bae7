// The bans of eslint.config.mjs hold where they should, and only there.
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ESLint } from 'eslint';
import { describe, expect, it } from 'vitest';

const PROJECT = resolve(import.meta.dirname, '../..');
const eslint = new ESLint({ cwd: PROJECT });

/** Some file of that folder: the typed rules need a path that the TypeScript project knows. */
function fileIn(folder: string): string {
  const name = readdirSync(join(PROJECT, folder)).find((entry) => entry.endsWith('.ts'));
  if (name === undefined) throw new Error(`no file in ${folder}`);
  return join(folder, name);
}

/** The rules that `code` breaks when it stands in that file. */
async function broken(file: string, code: string): Promise<readonly (string | null)[]> {
  const [result] = await eslint.lintText(`${code}\n`, { filePath: join(PROJECT, file) });
  return result?.messages.map(({ ruleId }) => ruleId) ?? [];
}

const INSIDE = fileIn('src/identity');
const UPSTREAM = fileIn('src/upstream');
const EGRESS = fileIn('src/upstream/egress');
const STORE = fileIn('src/store');
const CLOCK = 'src/shared/clock.ts';
const TEST = fileIn('test/pins');

const BANNED: readonly (readonly [what: string, file: string, code: string, rule: string])[] = [
  ['the environment', INSIDE, 'export const home = process.env;', 'no-restricted-properties'],
  ['the environment by name', INSIDE, "export { env } from 'node:process';", 'no-restricted-imports'],
  ['the environment in an upstream', UPSTREAM, 'export const home = process.env;', 'no-restricted-properties'],
  ['the time', INSIDE, 'export const now = Date.now();', 'no-restricted-properties'],
  ['the time as a date', INSIDE, 'export const now = new Date();', 'no-restricted-syntax'],
  ['the time since start', INSIDE, 'export const now = performance.now();', 'no-restricted-properties'],
  ['a timer', INSIDE, 'setTimeout(() => 1, 5);', 'no-restricted-globals'],
  ['a repeated timer in an upstream', UPSTREAM, 'setInterval(() => 1, 5);', 'no-restricted-globals'],
  [
    'a timer that is awaited',
    INSIDE,
    "import { setTimeout } from 'node:timers/promises';\nawait setTimeout(5);",
    'no-restricted-imports',
  ],
  ['a deadline of its own', STORE, 'export const signal = AbortSignal.timeout(5);', 'no-restricted-properties'],
  ['fetch', INSIDE, "await fetch('https://example.test');", 'no-restricted-globals'],
  [
    'an http request',
    INSIDE,
    "import http from 'node:http';\nhttp.request('http://example.test').end();",
    'no-restricted-properties',
  ],
  [
    'an https request by name',
    STORE,
    "import { request } from 'node:https';\nrequest('https://example.test').end();",
    'no-restricted-imports',
  ],
  ['a socket', INSIDE, "import net from 'node:net';\nnet.connect(80);", 'no-restricted-properties'],
  ['undici', INSIDE, "import type { Agent } from 'undici';\nexport type A = Agent;", 'no-restricted-imports'],
  ['fetch in a link', UPSTREAM, "await fetch('https://example.test');", 'no-restricted-globals'],
  ['a socket in a link', UPSTREAM, "import net from 'node:net';\nnet.connect(80);", 'no-restricted-properties'],
  [
    'another agent in a link',
    UPSTREAM,
    "import { Agent } from 'undici';\nexport const agent = new Agent();",
    'no-restricted-imports',
  ],
  ["the library's fetch in a link", UPSTREAM, "export { fetch } from 'undici';", 'no-restricted-imports'],
  ['a look-up in a link', UPSTREAM, "export { lookup } from 'node:dns/promises';", 'no-restricted-imports'],
  ['a look-up', INSIDE, "export { resolve4 } from 'node:dns';", 'no-restricted-imports'],
  ['keys fetched by jose', INSIDE, "export { createRemoteJWKSet } from 'jose';", 'no-restricted-imports'],
  ['a child process', INSIDE, "import { spawn } from 'node:child_process';\nspawn('true');", 'no-restricted-imports'],
  ['the console', INSIDE, "console.log('here');", 'no-console'],
  ['the console in an upstream', UPSTREAM, "console.log('here');", 'no-console'],
  [
    'a secret in a log line',
    INSIDE,
    "import type { Logger } from '../shared/logger.ts';\nimport type { Secret } from '../shared/secret.ts';\nexport const f = (logger: Logger, key: Secret): void => logger.debug({ key: key.reveal() }, 'x');",
    'no-restricted-syntax',
  ],
  [
    'a secret in an error',
    UPSTREAM,
    "import { ProxyError } from '../shared/errors.ts';\nimport type { Secret } from '../shared/secret.ts';\nexport const f = (key: Secret): ProxyError => new ProxyError('internal', `bad ${key.reveal()}`);",
    'no-restricted-syntax',
  ],
  [
    "a library's message in a log line",
    STORE,
    "import type { Logger } from '../shared/logger.ts';\nexport const f = (logger: Logger, error: Error): void => logger.warn({ why: error.message }, 'x');",
    'no-restricted-syntax',
  ],
  [
    'a whole error in a log line',
    UPSTREAM,
    "import type { Logger } from '../shared/logger.ts';\nexport const f = (logger: Logger, error: Error): void => logger.error({ error }, 'x');",
    'no-restricted-syntax',
  ],
  [
    'the headers of a request in a log line',
    INSIDE,
    "import type { Logger } from '../shared/logger.ts';\nexport const f = (logger: Logger, r: Request): void => logger.info({ sent: r.headers }, 'x');",
    'no-restricted-syntax',
  ],
  ['any', INSIDE, 'export const x: any = 1;', '@typescript-eslint/no-explicit-any'],
  ['a promise nobody waits for', INSIDE, 'Promise.reject(new Error());', '@typescript-eslint/no-floating-promises'],
  [
    'a switch that forgets a case',
    INSIDE,
    "export function f(x: 'a' | 'b'): void {\n  switch (x) {\n    case 'a':\n  }\n}",
    '@typescript-eslint/switch-exhaustiveness-check',
  ],
];

const ALLOWED: readonly (readonly [what: string, file: string, code: string])[] = [
  ['the time and timers in the clock', CLOCK, 'setTimeout(() => Date.now(), 5);'],
  ["the library's types in a link", UPSTREAM, "import type { Dispatcher } from 'undici';\nexport type D = Dispatcher;"],
  ['undici in the one way out', EGRESS, "import { Agent } from 'undici';\nexport const agent = new Agent();"],
  ['a socket in the one way out', EGRESS, "import net from 'node:net';\nnet.connect(80);"],
  [
    'a described error in a log line',
    INSIDE,
    "import { describeError, type Logger } from '../shared/logger.ts';\nexport const f = (logger: Logger, error: Error): void => logger.error({ error: describeError(error) }, 'x');",
  ],
  ['a child process in an upstream', UPSTREAM, "import { spawn } from 'node:child_process';\nspawn('true');"],
  ['the environment in the configuration', 'src/config.ts', 'export const home = process.env;'],
  ['the environment and the console in main', 'src/main.ts', 'console.log(process.env);'],
  [
    'fetch, the time and the environment in a test',
    TEST,
    "await fetch(`http://${process.env['HOST']}/${Date.now()}`);",
  ],
];

describe('the linter', { timeout: 60_000 }, () => {
  it.each(BANNED)('refuses %s (%s)', async (_what, file, code, rule) => {
    expect(await broken(file, code)).toContain(rule);
  });

  it.each(ALLOWED.filter(([, file]) => existsSync(join(PROJECT, file))))('allows %s', async (_what, file, code) => {
    expect(await broken(file, code)).toEqual([]);
  });

  it('cannot be silenced by a comment in the code', async () => {
    expect(await broken(INSIDE, 'export const home = process.env; // eslint-disable-line')).toContain(
      'no-restricted-properties',
    );
  });
});
