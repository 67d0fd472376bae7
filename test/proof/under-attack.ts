// The product in a process of its own, somebody who attacks it, and a quiet tenant in a third process: how long the
// product's event loop stood still, how much memory it took, and what the quiet tenant felt of it.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { expect } from 'vitest';
import { connectRaw, type RawAgent } from '../support/agents/raw-agent.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import type { JsonObject } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';
import { buildProduct, inRoot, type Lag, type Product, startProduct } from './product.ts';

const START_MS = 30_000;
/**
 * Of the quiet tenant, before, during and behind an attack: five are above their 99th percentile, so that a moment
 * that is over is not what decides, and a stand or a slowness that lasts is.
 */
const QUIET_CALLS = 500;

export interface Felt {
  /** Longest stand of the product's event loop during the attack. */
  readonly lagMs: number;
  /** The same with the time in which the machine gave the product no core. */
  readonly rawLagMs: number;
  /** Of resident memory, over what it was before. */
  readonly grewBytes: number;
  readonly quietP99Ms: number;
  readonly attackedP99Ms: number;
}

export class UnderAttack {
  readonly product: Product;
  readonly #database: TestDatabase;
  readonly #adminKey: string;
  readonly #neighbour: Neighbour;
  #tenants = 0;
  /** Behind the attack before. */
  #quietP99: number | undefined;

  private constructor(product: Product, database: TestDatabase, adminKey: string, neighbour: Neighbour) {
    this.product = product;
    this.#database = database;
    this.#adminKey = adminKey;
    this.#neighbour = neighbour;
  }

  static async begin(): Promise<UnderAttack> {
    await buildProduct();
    const database = await createTestDatabase();
    const adminKey = `admin-${randomBytes(16).toString('hex')}`;
    const environment = {
      DATABASE_URL: database.url,
      KEYBEARER_MASTER_KEY: randomBytes(32).toString('base64'),
      KEYBEARER_ADMIN_KEY: adminKey,
      KEYBEARER_EGRESS_ALLOW: '127.0.0.1',
      KEYBEARER_EGRESS_ALLOW_HTTP: 'true',
    };
    const neighbour = await Neighbour.start();
    const product = await startProduct(environment, { probed: true });
    const bench = new UnderAttack(product, database, adminKey, neighbour);
    const { headers } = await bench.tenant({ quiet: { url: neighbour.url } });
    await neighbour.connect({ url: `${product.url}/mcp`, headers, tool: 'quiet__act', productPid: product.pid });
    return bench;
  }

  async admin(method: string, path: string, body?: unknown): Promise<JsonObject> {
    const response = await fetch(`${this.product.url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(START_MS),
    });
    const text = await response.text();
    const answer = text === '' ? {} : (JSON.parse(text) as JsonObject);
    return { ...answer, httpStatus: response.status };
  }

  /** A tenant with these servers; the headers make an agent one of its people. */
  async tenant(servers: Readonly<Record<string, JsonObject>>): Promise<Tenant> {
    const id = `tenant-${++this.#tenants}`;
    await this.admin('POST', '/tenants', { id });
    const { key } = await this.admin('POST', `/tenants/${id}/keys`, { name: 'test', mayActFor: '*' });
    for (const [name, definition] of Object.entries(servers)) {
      const put = await this.admin('PUT', `/tenants/${id}/servers/${name}`, definition);
      if (put['httpStatus'] !== 200) throw new Error(JSON.stringify(put));
    }
    const headers = { authorization: `Bearer ${String(key)}`, 'keybearer-principal': 'mallory' };
    return { id, headers, agent: (kind) => connectRaw(kind, `${this.product.url}/mcp`, headers) };
  }

  /** Attacks once while the quiet tenant makes its calls. */
  async feel(attack: () => Promise<void>): Promise<Felt> {
    const quietBefore = this.#quietP99 ?? (await this.#listen());
    const before = await this.product.probe('begin');
    await this.#neighbour.begin();
    await attack();
    await this.#neighbour.made(QUIET_CALLS);
    const attacked = await this.#neighbour.end();
    const after: Lag = await this.product.probe('read');
    return {
      lagMs: after.ownMs,
      rawLagMs: after.maxMs,
      grewBytes: after.peakRss - before.rss,
      // Before and behind it, and the noisier of the two: what else the machine does comes and goes.
      quietP99Ms: Math.max(quietBefore, (this.#quietP99 = await this.#listen())),
      attackedP99Ms: p99(attacked),
    };
  }

  async #listen(): Promise<number> {
    await this.#neighbour.begin();
    await this.#neighbour.made(QUIET_CALLS);
    return p99(await this.#neighbour.end());
  }

  async end(): Promise<void> {
    this.#neighbour.stop();
    await this.product.end('SIGTERM').catch(() => this.product.end('SIGKILL'));
    await this.#database.close();
  }
}

export interface Tenant {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  agent(kind: 'rawLegacy' | 'rawModern'): Promise<RawAgent>;
}

function p99(took: readonly number[]): number {
  const sorted = [...took].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN;
}

type Said =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'ready' }
  | { readonly kind: 'made'; readonly calls: number }
  | { readonly kind: 'took'; readonly took: readonly number[] };

class Neighbour {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #news = new EventEmitter();
  #calls = 0;
  #failure: Error | undefined;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
    child.on('message', (said: Said) => {
      if (said.kind === 'made') this.#calls = said.calls;
      this.#news.emit(said.kind, said);
    });
    child.once('exit', () => {
      this.#failure = new Error('The neighbour ended: one of its calls failed');
      this.#news.emit('made');
    });
  }

  static async start(): Promise<Neighbour> {
    const child = spawn(process.execPath, ['--import', 'tsx', inRoot('test/support/neighbour.mjs')], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const [said] = (await within(once(child, 'message'), 'the neighbour to listen', START_MS)) as [Said];
    if (said.kind !== 'listening') throw new Error(`The neighbour said ${said.kind}`);
    return new Neighbour(child, said.url);
  }

  get calls(): number {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#calls;
  }

  async connect(whom: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly tool: string;
    readonly productPid: number;
  }): Promise<void> {
    const ready = once(this.#news, 'ready');
    this.#child.send({ kind: 'connect', ...whom });
    await within(ready, 'the neighbour to be ready', START_MS);
  }

  async begin(): Promise<void> {
    this.#calls = 0;
    this.#child.send({ kind: 'begin' });
    await Promise.resolve();
  }

  async made(calls: number): Promise<void> {
    while (this.calls < calls) await within(once(this.#news, 'made'), "the neighbour's calls", START_MS);
  }

  async end(): Promise<readonly number[]> {
    const took = once(this.#news, 'took') as Promise<[Extract<Said, { kind: 'took' }>]>;
    this.#child.send({ kind: 'end' });
    const [said] = await within(took, 'what the neighbour felt', START_MS);
    return said.took;
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Of the product's own time. */
const MAX_LAG_MS = 100;
/** An answer of 16 MiB is there as bytes, as the copy that is cut, and as what was freed and not yet given back. */
const MAX_GROWTH = 256 * 1024 * 1024;
const MAX_FACTOR = 3;
/** The machine does other work as well, which cannot all be told from the product's: what is the product's comes each time. */
const TRIES = 3;

/** Attacks, and expects that nobody felt it. Wrong answers are no question of how often. */
export async function calmly(bench: UnderAttack, attack: () => Promise<void>): Promise<void> {
  for (let tried = 1; ; tried++) {
    const felt = await bench.feel(attack);
    if (process.env['SHOW_FELT'] !== undefined)
      process.stderr.write(`FELT ${String(expect.getState().currentTestName)} ${shown(felt)}\n`);
    const isCalm =
      felt.lagMs < MAX_LAG_MS && felt.grewBytes < MAX_GROWTH && felt.attackedP99Ms <= MAX_FACTOR * felt.quietP99Ms;
    if (isCalm) return;
    if (tried === TRIES) throw new Error(`It was felt: ${shown(felt)}`);
  }
}

const shown = ({ lagMs, rawLagMs, grewBytes, quietP99Ms, attackedP99Ms }: Felt): string =>
  `lag=${lagMs.toFixed(0)} raw=${rawLagMs.toFixed(0)} grew=${(grewBytes / 1e6).toFixed(0)}MB p99=${quietP99Ms.toFixed(1)}->${attackedP99Ms.toFixed(1)}`;
