// Registered servers and dials for tests of links, with plain defaults.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type {
  CredentialSpec,
  StdioTransport,
  Transport,
  UpstreamServer,
} from '../../../src/catalog/upstream-server.ts';
import type { Connection, Dial, Hearing, UpstreamRequest } from '../../../src/connection/connection.ts';
import type { Credential } from '../../../src/credential/credential.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import type { PrincipalId, ServerId, TenantId } from '../../../src/shared/id.ts';
import { createLogger } from '../../../src/shared/logger.ts';
import { Secret } from '../../../src/shared/secret.ts';
import { createStdioDial } from '../../../src/upstream/stdio-dial.ts';
import type { Reply } from '../../../src/wire/reply.ts';
import { isJsonObject } from '../../../src/wire/reply.ts';
import { within } from '../within.ts';

export const client = { name: 'keybearer-test', version: '0' };
export const none: Credential = { kind: 'none' };

export const credentialOf = (principal: string, secret: string): Credential => ({
  kind: 'static',
  owner: { kind: 'principal', principalId: principal as PrincipalId },
  version: '1',
  secret: new Secret(secret),
});

export const secretSpec = (change: Partial<CredentialSpec> = {}): CredentialSpec => ({
  owner: 'principal',
  kind: 'secret',
  header: 'authorization',
  scheme: 'Bearer',
  env: 'API_KEY',
  label: undefined,
  help: undefined,
  oauth: {},
  clientSecret: undefined,
  initialAccessToken: undefined,
  ...change,
});

/** As the product dials, with nothing in the environment but a path. */
export const aStdioDial = (log = aLog('silent')): Dial =>
  createStdioDial({ clock: systemClock, logger: log.logger, client, parentEnv: { PATH: process.env['PATH'] } });

export const fixture = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export function stdioTransport(
  script: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): StdioTransport {
  const secrets = new Map(Object.entries(env).map(([name, value]) => [name, new Secret(value)]));
  return { kind: 'stdio', command: process.execPath, args: [fixture(script), ...args], env: secrets, cwd: undefined };
}

export function aServer(transport: Transport, credential?: CredentialSpec): UpstreamServer {
  return {
    tenantId: 'acme' as TenantId,
    id: 'server-1' as ServerId,
    name: 'files',
    revision: '1',
    source: 'file',
    enabled: true,
    title: undefined,
    description: undefined,
    prefix: 'files',
    transport,
    credential,
    only: undefined,
    except: [],
    resourcesOnly: undefined,
    promptsOnly: undefined,
    asTools: false,
    timeoutMs: 60_000,
    connectTimeoutMs: 10_000,
    idleTimeoutMs: 300_000,
    maxConcurrentCalls: 10,
    maxResultBytes: 1_000_000,
    gated: undefined,
    trusted: false,
    cost: undefined,
    catalog: 'shared',
  };
}

export const never = (): AbortSignal => new AbortController().signal;

/** A logger and what was written to it. */
export function aLog(level = 'debug'): {
  logger: ReturnType<typeof createLogger>;
  lines: Record<string, unknown>[];
  text: () => string;
} {
  const raw: string[] = [];
  const logger = createLogger(level, { write: (line) => void raw.push(line) });
  return {
    logger,
    get lines() {
      return raw.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    text: () => raw.join(''),
  };
}

export function call(
  connection: Connection,
  name: string,
  args: Record<string, unknown> = {},
  more: Partial<UpstreamRequest> = {},
): Promise<Reply> {
  return connection.request({ method: 'tools/call', params: { name, arguments: args }, signal: never(), ...more });
}

/** The text of a tool's answer. */
export function textOf(reply: Reply): string {
  const result = reply.payload();
  const content = isJsonObject(result) && Array.isArray(result['content']) ? (result['content'] as unknown[]) : [];
  const [first] = content;
  if (!isJsonObject(first) || typeof first['text'] !== 'string')
    throw new Error(`no text in ${reply.bytes.toString()}`);
  return first['text'];
}

export interface Heard extends Hearing {
  readonly messages: string[];
  counts: { progress: number; flush: number };
}

export function aHearing(): Heard {
  const messages: string[] = [];
  const counts = { progress: 0, flush: 0 };
  return {
    messages,
    counts,
    message: (raw) => void messages.push(raw),
    flush: () => {
      counts.flush += 1;
      return undefined;
    },
    progress: () => {
      counts.progress += 1;
    },
  };
}

/** Live processes with `marker` among their arguments; zombies have none. */
export function processesWith(marker: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(marker);
    } catch {
      return false;
    }
  });
}

/** Waits until none is left of the processes that `left` finds. */
export const noneLeft = (left: () => readonly string[], withinMs?: number): Promise<void> =>
  within(
    until(() => left().length === 0),
    'no process to be left',
    withinMs,
  );

/** Waits until `holds`, looking each few milliseconds; the bound is the caller's `within`. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
