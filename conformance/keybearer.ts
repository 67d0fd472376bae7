// Keybearer in this process, with the servers it is given, and a key for an agent.
import { randomBytes } from 'node:crypto';
import { startApp } from '../src/app.ts';
import { createStaticKeyProvider } from '../src/credential/local-keys.ts';
import { systemClock } from '../src/shared/clock.ts';
import { createLogger } from '../src/shared/logger.ts';
import { Secret } from '../src/shared/secret.ts';
import { isObject, type JsonObject } from '../test/support/upstreams/message.ts';

const TENANT = 'conformance';

export interface RunningKeybearer {
  /** Where it listens; for the address that people know, see `publicUrl`. */
  readonly url: string;
  readonly publicUrl: string;
  readonly agentKey: string;
  /** What it logged, for whoever looks into a failure. */
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

/** `servers`: definition by name. Without `publicUrl` it is known under the address where it listens. */
export async function startKeybearer(
  databaseUrl: string,
  servers: Readonly<Record<string, JsonObject>>,
  publicUrl?: string,
): Promise<RunningKeybearer> {
  const adminKey = `admin-${randomBytes(16).toString('hex')}`;
  const lines: string[] = [];
  const app = await startApp({
    version: '0.0.0-conformance',
    databaseUrl,
    http: {
      host: '127.0.0.1',
      port: 0,
      publicUrl,
      allowedHosts: undefined,
      allowedOrigins: undefined,
      trustProxy: undefined,
    },
    masterKeys: createStaticKeyProvider([randomBytes(32).toString('base64')]),
    adminKey: new Secret(adminKey),
    // The suite's servers are all at http://localhost.
    egress: { allow: ['localhost', '127.0.0.1', '::1'], allowHttp: true, ports: [443, 8443], nat64: false },
    limits: {
      idleTimeoutMs: 60_000,
      listDeadlineMs: 5_000,
      signInWaitMs: 5_000,
      maxConnectionsPerTenant: 10,
      maxCommandsPerTenant: 10,
      requestsPerSecondPerTenant: undefined,
      requestsPerSecondPerPrincipal: undefined,
    },
    allowLinkSignIn: true,
    operatorFile: () => undefined,
    parentEnv: {},
    clock: systemClock,
    logger: createLogger('debug', { write: (line) => void lines.push(line) }),
  });
  const admin = async (method: string, path: string, body: JsonObject): Promise<JsonObject> => {
    const response = await fetch(`${app.url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    const answer: unknown = await response.json();
    if (!response.ok || !isObject(answer)) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  await admin('POST', '/tenants', { id: TENANT });
  const wishes = { name: 'conformance', principal: 'person' };
  const { key } = await admin('POST', `/tenants/${TENANT}/keys`, wishes);
  for (const [name, definition] of Object.entries(servers))
    await admin('PUT', `/tenants/${TENANT}/servers/${name}`, definition);
  return { url: app.url, publicUrl: app.publicUrl, agentKey: String(key), lines, stop: () => app.stop() };
}
