// The processes of a bench: upstream, targets, and the product with a database of its own, each with its CPU time.
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { makeKey } from './keys.mjs';
import { signTokens } from './load.mjs';
import { fixtureFor, SERVERS, TOOLS_PER_SERVER } from './people.mjs';

export const SCENARIOS = [
  { name: 'small call', tool: 'echo', args: { size: 256 } },
  { name: '100 KiB', tool: 'echo', args: { size: 100 * 1024 } },
  { name: '50 progress events', tool: 'progress', args: { count: 50 } },
  { name: `${SERVERS * TOOLS_PER_SERVER} tools listed` },
];

export const here = (name) => fileURLToPath(new URL(name, import.meta.url));

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** User and system time of a started process, in us. */
export async function cpuOf({ child }) {
  child.send('cpu');
  const [{ user, system }] = await once(child, 'message');
  return user + system;
}

export class Bench {
  #directory = mkdtempSync(join(tmpdir(), 'keybearer-bench-'));
  #closers = [() => rmSync(this.#directory, { recursive: true, force: true })];
  #pemPath;
  #products = 0;

  constructor() {
    process.env.BENCH_SECRET = randomBytes(16).toString('hex');
    // As root, PostgreSQL's own user has to get through to the database, or it would be kept elsewhere.
    chmodSync(this.#directory, 0o711);
    this.#pemPath = makeKey(this.#directory);
  }

  /** The key that signs agents' tokens, and each person's token. */
  async keys() {
    const pem = readFileSync(this.#pemPath);
    return { pem, tokens: await signTokens(pem) };
  }

  /** A process of its own, whose CPU time can be asked for. */
  async start(script, env) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const child = fork(script, {
      execArgv: ['--import', here('measured.mjs')],
      env: { ...process.env, ...env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#closers.push(() => child.kill('SIGKILL'));
    let said = '';
    child.stderr.on('data', (text) => (said = `${said}${text}`.slice(-4_000)));
    while (
      !(await fetch(url).then(
        () => true,
        () => false,
      ))
    ) {
      if (child.exitCode !== null) throw new Error(`${script} does not start: ${said}`);
      await sleep(50);
    }
    return { url, child };
  }

  /** The product as it is built in this checkout, with the bench's people and servers in its database. */
  async product(checkout, upstream) {
    const { prepare } = await import(pathToFileURL(join(checkout, 'bench/prepare.mjs')).href);
    const directory = join(this.#directory, `product-${++this.#products}`);
    const database = await prepare({ directory, fixture: fixtureFor(upstream), pemPath: this.#pemPath });
    this.#closers.push(database.stop);
    return this.start(join(checkout, 'dist/main.js'), database.env);
  }

  /** Runs it, and ends every process that was started, whatever happens. */
  async run(main) {
    const closeAll = async () => {
      for (const close of this.#closers.splice(0).reverse()) await close();
    };
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => closeAll().finally(() => process.exit(1)));
    try {
      await main();
    } finally {
      await closeAll();
    }
  }
}
