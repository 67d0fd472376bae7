// Real processes over one database, whose person's token has just ended at a server with strict rotation.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { connectRaw, RawAgent } from '../support/agents/raw-agent.ts';
import { createTestDatabase } from '../support/database.ts';
import { type GuardedMcp, startGuardedMcp } from '../support/sign-in/guarded-mcp.ts';
import { type ScriptedAs, startScriptedAs } from '../support/sign-in/scripted-as.ts';
import { withOauth } from '../support/sign-in/sign-in-scene.ts';
import { type Product, startProduct } from './product.ts';

export interface Renewing extends AsyncDisposable {
  readonly as: ScriptedAs;
  readonly mcp: GuardedMcp;
  /** Another process over the same database. */
  start(): Promise<Product>;
  agentAt(product: Product): Promise<RawAgent>;
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** A connection of its own, for a transaction that holds something up. */
  connect(): Promise<pg.Client>;
}

const TENANT = 'acme';

/** The tools are known, and the person's token is over. */
export async function aRenewingWorld(): Promise<Renewing> {
  const database = await createTestDatabase();
  const as = await startScriptedAs({ rotation: 'strict' });
  const mcp = await startGuardedMcp({ era: 'modern', tokens: as });
  const products: Product[] = [];
  const agents: RawAgent[] = [];
  const adminKey = randomBytes(24).toString('hex');
  const environment = {
    DATABASE_URL: database.url,
    KEYBEARER_MASTER_KEY: randomBytes(32).toString('base64'),
    KEYBEARER_ADMIN_KEY: adminKey,
    KEYBEARER_EGRESS_ALLOW: '127.0.0.1',
    KEYBEARER_EGRESS_ALLOW_HTTP: 'true',
  };
  const start = async (): Promise<Product> => {
    const product = await startProduct(environment);
    products.push(product);
    return product;
  };
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: database.url });
    // One of them may be cut off by the test itself; whoever uses it hears of it.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const first = await start();
  const admin = async (method: string, path: string, body: unknown): Promise<Readonly<Record<string, unknown>>> => {
    const response = await fetch(`${first.url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  await admin('POST', '/tenants', { id: TENANT });
  const key = String((await admin('POST', `/tenants/${TENANT}/keys`, { name: 'test', mayActFor: '*' }))['key']);
  await admin('PUT', `/tenants/${TENANT}/servers/notes`, withOauth(mcp));
  const importTokens = async (clientId: string | undefined): Promise<void> => {
    const tokens = as.issue({ subject: 'ada', resource: mcp.url, ...(clientId === undefined ? {} : { clientId }) });
    const path = `/tenants/${TENANT}/servers/notes/credentials/ada`;
    await admin('PUT', path, { oauth: { ...tokens, expiresIn: 3_600 } });
  };
  const agentAt = async ({ url }: Product): Promise<RawAgent> => {
    const headers = { authorization: `Bearer ${key}`, 'keybearer-principal': 'ada' };
    const agent = await connectRaw('rawModern', `${url}/mcp`, headers);
    agents.push(agent);
    return agent;
  };
  // The first time it registers; what follows is for the client that came of it.
  await importTokens(undefined);
  await importTokens([...as.clients.keys()][0]);
  await (await agentAt(first)).listTools();
  as.expireAll();
  return {
    as,
    mcp,
    start,
    agentAt,
    connect,
    async sql(text) {
      const client = await connect();
      try {
        return (await client.query<Record<string, unknown>>(text)).rows;
      } finally {
        await client.end();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const agent of agents) await agent.close().catch(() => undefined);
      for (const product of products) await product.end('SIGKILL').catch(() => undefined);
      await mcp.close();
      await as.close();
      await database.close();
    },
  };
}
