// Keybearer as a user starts it: a process of its own, with an embedded database in a directory of its own.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const START_MS = 60_000;
const STOP_MS = 20_000;
/** As long as a link is good: whoever tries the demo may want to look around first. */
const SIGN_IN_WAIT_MS = '600000';

export interface Product {
  /** Without path. */
  readonly url: string;
  readonly agentKey: string;
  readonly signInWaitMs: number;
  /** Rejects when it ends although nobody asked it to. */
  readonly ended: Promise<never>;
  close(): Promise<void>;
}

const packaged = (name: string): string =>
  join(ROOT, 'node_modules', '@modelcontextprotocol', `server-${name}`, 'dist', 'index.js');

/** The operator's file: like the mcpServers that people have, and the server that wants each person to sign in. */
const operatorFile = (directory: string, notesUrl: string) => ({
  mcpServers: {
    everything: { command: process.execPath, args: [packaged('everything'), 'stdio'] },
    filesystem: { command: process.execPath, args: [packaged('filesystem'), directory] },
    notes: { url: notesUrl, title: 'Notes', credential: { owner: 'principal', kind: 'oauth' } },
  },
});

export function build(): void {
  const { status } = spawnSync(process.execPath, ['scripts/build.mjs', '--if-needed'], { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) throw new Error('Keybearer could not be built');
}

export async function startProduct(notesUrl: string): Promise<Product> {
  const directory = await mkdtemp(join(tmpdir(), 'keybearer-demo-'));
  try {
    // Under root the database runs as another user, who has to get through.
    await chmod(directory, 0o711);
    return await start(directory, notesUrl);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

async function start(directory: string, notesUrl: string): Promise<Product> {
  const dataDir = join(directory, 'data');
  const files = await mkdtemp(join(directory, 'files-'));
  await writeFile(join(files, 'hello.txt'), 'hello from a file');
  const config = join(directory, 'servers.json');
  await writeFile(config, JSON.stringify(operatorFile(files, notesUrl), null, 2));
  const { PATH = '', HOME = '/', PORT = '0', KEYBEARER_SIGN_IN_WAIT_MS = SIGN_IN_WAIT_MS } = process.env;
  const child = spawn(process.execPath, ['dist/main.js'], {
    cwd: ROOT,
    env: {
      PATH,
      HOME,
      PORT,
      LOG_LEVEL: 'warn',
      KEYBEARER_DATA_DIR: dataDir,
      KEYBEARER_CONFIG: config,
      // The notes server runs on this machine, without TLS.
      KEYBEARER_EGRESS_ALLOW: '127.0.0.1',
      KEYBEARER_EGRESS_ALLOW_HTTP: 'true',
      KEYBEARER_SIGN_IN_WAIT_MS,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C comes here alone, and is passed on once.
    detached: true,
  });
  process.once('exit', () => child.kill('SIGTERM'));
  const exit = once(child, 'exit');
  let said = '';
  const ready = new Promise<Welcome>((resolve) => {
    const hear = (chunk: Buffer): void => {
      said = (said + chunk.toString('utf8')).slice(-20_000);
      const welcome = readWelcome(said);
      if (welcome !== undefined) resolve(welcome);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
  });
  const ended = exit.then((): never => {
    throw new Error(`Keybearer has ended:\n${said}`);
  });
  ended.catch(() => undefined);
  const close = async (): Promise<void> => {
    await end(child, exit);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const { url, agentKey } = await Promise.race([ready, ended, tooLate(START_MS, () => said)]);
    return { url, agentKey, signInWaitMs: Number(KEYBEARER_SIGN_IN_WAIT_MS), ended, close };
  } catch (error) {
    await end(child, exit);
    throw error;
  }
}

type Welcome = Pick<Product, 'url' | 'agentKey'>;

/** The very first start says where it listens and prints the keys. */
function readWelcome(said: string): Welcome | undefined {
  const url = /Keybearer is ready at (\S+)\/mcp\n/.exec(said)?.[1];
  const agentKey = /Agent key\s+(kb_\S+)\s/.exec(said)?.[1];
  return url === undefined || agentKey === undefined ? undefined : { url, agentKey };
}

async function end(child: ChildProcess, exit: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await exit;
  clearTimeout(timer);
}

function tooLate(ms: number, said: () => string): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`Keybearer was not ready within ${ms / 1000} seconds:\n${said()}`)), ms).unref();
  });
}
