// The conformance suite, kept outside the project's own dependencies: it wants a newer Node than we do.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const SUITE = '@modelcontextprotocol/conformance';
export const SUITE_VERSION = '0.2.0-alpha.12';
const NODE = 'node@24';
const SCENARIO_MS = 30_000;

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PLACE = join(ROOT, 'node_modules/.cache/conformance', SUITE_VERSION);
const SUITE_DIR = join(PLACE, 'node_modules', SUITE);
const NODE_BIN = join(PLACE, 'node_modules/node/bin/node');
/** Split at spaces by the suite and given to a shell, with the server's address behind it. */
const CLIENT = 'node --import tsx conformance/client.ts';

export interface Run {
  readonly scenario: string;
  readonly revision: string;
  /** For `client.ts`; undefined for what the requirements ask. */
  readonly extra?: string;
}

export interface Outcome {
  readonly isPassed: boolean;
  /** Different things that were looked at and found right. */
  readonly checks: number;
  /** What went wrong, for people; empty when all is well. */
  readonly problems: readonly string[];
  /** Everything that was said on the way. */
  readonly log: string;
}

export interface Check {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly description: string;
  readonly errorMessage?: string;
}

/** Downloads the suite and its Node, the first time. */
export async function install(): Promise<void> {
  if (existsSync(NODE_BIN) && existsSync(join(SUITE_DIR, 'dist/index.js'))) return;
  rmSync(PLACE, { recursive: true, force: true });
  mkdirSync(PLACE, { recursive: true });
  // The npm package `node` fetches its binary in an install script.
  writeFileSync(join(PLACE, 'package.json'), JSON.stringify({ private: true, allowScripts: { node: true } }));
  const args = ['install', '--no-save', '--no-progress', '--loglevel=error', '--prefix', PLACE];
  const { code, output } = await run('npm', [...args, `${SUITE}@${SUITE_VERSION}`, NODE], {});
  if (code !== 0) throw new Error(`The suite could not be installed:\n${output}`);
}

/** The revisions that the suite has requirements for. */
export function revisions(): readonly string[] {
  return readdirSync(join(SUITE_DIR, 'requirements'))
    .map((name) => name.replace(/\.yaml$/u, ''))
    .sort();
}

/** Scenarios that a client or a server of this revision has to pass, in the suite's order. */
export function requiredOf(side: 'client' | 'server', revision: string): readonly string[] {
  const text = readFileSync(join(SUITE_DIR, 'requirements', `${revision}.yaml`), 'utf8');
  const list = new RegExp(`^${side}:\\n((?:[ #].*\\n|\\n)*)`, 'mu').exec(text)?.[1] ?? '';
  const names = [...list.matchAll(/^ *- *(\S+)/gmu)].map(([, name = '']) => name);
  if (names.length === 0) throw new Error(`The suite requires nothing of a ${side} for ${revision}`);
  return names;
}

/** Sign-in scenarios that a client of this revision has to pass. */
export const required = (revision: string): readonly string[] =>
  requiredOf('client', revision).filter((name) => name.startsWith('auth/'));

export async function runScenario({ scenario, revision, extra }: Run, databaseUrl: string): Promise<Outcome> {
  const args = ['client', '--command', CLIENT, '--scenario', scenario, '--spec-version', revision];
  // An extension belongs to no revision, and would be left out without a word.
  if (extra !== undefined) args.push('--force');
  const { code, output, stdout } = await runSuite([...args, '--timeout', String(SCENARIO_MS), '--verbose'], {
    CONFORMANCE_DATABASE_URL: databaseUrl,
    ...(extra === undefined ? {} : { CONFORMANCE_EXTRA: extra }),
  });
  const checks = checksIn(stdout);
  const found = (status: string): readonly Check[] => checks.filter((check) => check.status === status);
  // The suite forgives warnings when it scores a revision. We do not.
  const problems = [...found('FAILURE'), ...found('WARNING')].map(
    ({ id, description, errorMessage }) => `${id}: ${errorMessage ?? description}`,
  );
  const good = new Set(found('SUCCESS').map(({ id }) => id)).size;
  const isPassed = code === 0 && problems.length === 0 && good > 0;
  if (!isPassed && problems.length === 0) problems.push(`ended with ${String(code)} after ${good} good checks`);
  return { isPassed, checks: good, problems, log: output };
}

function checksIn(stdout: string): readonly Check[] {
  try {
    const value: unknown = JSON.parse(stdout);
    return Array.isArray(value) ? (value as Check[]) : [];
  } catch {
    return [];
  }
}

const children = new Set<ChildProcess>();

/** For whoever ends the run early. */
export function stopAll(): void {
  for (const child of children) child.kill('SIGKILL');
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly stdout: string;
}

export const runSuite = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  run(NODE_BIN, [join(SUITE_DIR, 'dist/index.js'), ...args], env);

function run(command: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A suite that hangs must not hold up the others; it ends its own client well before.
    timeout: SCENARIO_MS * 4,
    killSignal: 'SIGKILL',
  });
  children.add(child);
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      children.delete(child);
      resolve({ code, output: stderr, stdout });
    });
  });
}
