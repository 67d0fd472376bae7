// The built product as a user starts it: a process of its own with nothing but its environment.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { within } from '../support/within.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const START_MS = 30_000;
const STOP_MS = 20_000;

export const inRoot = (path: string): string => `${ROOT}${path}`;

export async function buildProduct(): Promise<void> {
  await promisify(execFile)(process.execPath, ['scripts/build.mjs', '--if-needed'], { cwd: ROOT });
}

export class Product {
  readonly pid: number;
  /** Without path. */
  readonly url: string;
  /** What a terminal would show. */
  readonly text: string;
  readonly #child: ChildProcess;
  readonly #exit: Promise<{ readonly code: number | null; readonly signal: string | null }>;

  constructor(child: ChildProcess, exit: Product['exit'], url: string, text: string) {
    if (child.pid === undefined) throw new Error('The product has no process id');
    this.#child = child;
    this.#exit = exit;
    this.pid = child.pid;
    this.url = url;
    this.text = text;
  }

  get exit(): Promise<{ readonly code: number | null; readonly signal: string | null }> {
    return this.#exit;
  }

  /** The agent key, on the first start. */
  get agentKey(): string | undefined {
    return /\bkb_[\w-]+/.exec(this.text)?.[0];
  }

  /** What the probe says; only of a product that was started with one. */
  probe(wish: 'begin' | 'read'): Promise<Lag> {
    const said = once(this.#child, 'message').then(([lag]) => lag as Lag);
    this.#child.send(wish);
    return within(said, 'the probe', START_MS);
  }

  end(signal: 'SIGTERM' | 'SIGKILL'): ReturnType<() => Product['exit']> {
    this.#child.kill(signal);
    return within(this.#exit, `the product to end by ${signal}`, STOP_MS);
  }
}

/** What of the event loop and the memory of the product, since the probe was told to begin. */
export interface Lag {
  /** Longest stand of the event loop, without the time in which the machine gave the product no core. */
  readonly ownMs: number;
  /** The same with that time, as `monitorEventLoopDelay` has it. */
  readonly maxMs: number;
  readonly peakRss: number;
  readonly rss: number;
}

const PROBE = ['--expose-gc', '--import', inRoot('test/support/lag-probe.mjs')];

/** Resolves when it says that it is ready. */
export async function startProduct(
  environment: Readonly<Record<string, string>>,
  options: { readonly probed?: boolean } = {},
): Promise<Product> {
  const { PATH = '', HOME = '/' } = process.env;
  const isProbed = options.probed === true;
  const child = spawn(process.execPath, [...(isProbed ? PROBE : []), 'dist/main.js'], {
    cwd: ROOT,
    env: { PATH, HOME, PORT: '0', LOG_LEVEL: 'warn', ...environment },
    stdio: ['ignore', 'pipe', 'pipe', ...(isProbed ? (['ipc'] as const) : [])],
  });
  const exit = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => ({
    code: typeof code === 'number' ? code : null,
    signal: typeof signal === 'string' ? signal : null,
  }));
  let text = '';
  const ready = new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      text += chunk.toString('utf8');
      const url = /Keybearer is ready at (http:\/\/[^\s/]+)\/mcp\n(?:[\s\S]*\n)?\n/.exec(text)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    void exit.then(({ code }) => reject(new Error(`The product ended with ${String(code)}: ${text}`)));
  });
  try {
    const url = await within(ready, 'the product to be ready', START_MS);
    return new Product(child, exit, url, text);
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`${error instanceof Error ? error.message : ''}\n${text}`, { cause: error });
  }
}
