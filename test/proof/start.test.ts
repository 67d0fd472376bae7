// The product as a user starts it: one command, an embedded database, three public servers, unmodified clients.
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Agent, type AgentKind, textOf } from '../support/agents/agent.ts';
import { connectAgent } from '../support/agents/connect-agent.ts';
import { objectAt } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';
import { descendantsOf, type Running, stillRunning } from './processes.ts';
import { buildProduct, inRoot, type Product, startProduct } from './product.ts';

const CLIENTS: readonly AgentKind[] = ['sdk1', 'sdk2Legacy', 'sdk2Modern'];
const SERVERS = ['everything', 'filesystem', 'memory'] as const;
const ORPHANS_MS = 5_000;

let directory = '';
let environment: Readonly<Record<string, string>> = {};
let product: Product;
let agentKey = '';
const packaged = (name: string): string => inRoot(`node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
/** This one is started by a file of ours, which can be taken away. */
const launcher = (): string => join(directory, 'everything.mjs');
const pathOf = (name: string): string => (name === 'everything' ? launcher() : packaged(name));

beforeAll(async () => {
  await buildProduct();
  directory = await mkdtemp(join(tmpdir(), 'keybearer-start-'));
  // Under root the database runs as another user, who has to get through.
  await chmod(directory, 0o711);
  const command = (name: string, ...args: readonly string[]) => ({
    command: process.execPath,
    args: [pathOf(name), ...args],
  });
  const mcpServers = {
    everything: command('everything', 'stdio'),
    filesystem: command('filesystem', directory),
    memory: { ...command('memory'), env: { MEMORY_FILE_PATH: join(directory, 'memory.jsonl') } },
  };
  await writeFile(launcher(), `await import(${JSON.stringify(packaged('everything'))});`);
  await writeFile(join(directory, 'hello.txt'), 'hello from a file');
  await writeFile(join(directory, 'servers.json'), JSON.stringify({ mcpServers }));
  environment = { KEYBEARER_DATA_DIR: join(directory, 'data'), KEYBEARER_CONFIG: join(directory, 'servers.json') };
}, 120_000);

afterAll(async () => {
  await product?.end('SIGTERM').catch(() => {});
  await rm(directory, { recursive: true, force: true });
});

async function withClient<T>(kind: AgentKind, use: (agent: Agent) => Promise<T>): Promise<T> {
  const headers = { authorization: `Bearer ${agentKey}`, 'keybearer-principal': 'alice' };
  const agent = await within(connectAgent(kind, `${product.url}/mcp`, headers), `${kind} to connect`);
  try {
    return await use(agent);
  } finally {
    await agent.close();
  }
}

async function prefixesOf(agent: Agent): Promise<ReadonlySet<string>> {
  const { tools } = await within(agent.listTools(), 'the tools', 10_000);
  return new Set(tools.map(({ name }) => name.split('__')[0] ?? ''));
}

async function callAll(agent: Agent): Promise<void> {
  const text = async (name: string, args: object): Promise<string> => textOf(await agent.callTool(name, { ...args }));
  expect(await text('everything__echo', { message: agent.kind })).toContain(agent.kind);
  expect(await text('filesystem__read_text_file', { path: join(directory, 'hello.txt') })).toBe('hello from a file');
  const entity = { name: agent.kind, entityType: 'client', observations: ['was here'] };
  await agent.callTool('memory__create_entities', { entities: [entity] });
  const graph = await agent.callTool('memory__read_graph');
  expect(JSON.stringify(objectAt(graph, 'structuredContent'))).toContain(agent.kind);
}

const isServer = ({ command }: Running): boolean => SERVERS.some((name) => command.includes(pathOf(name)));

/** As soon as they have all ended, which must be soon. */
async function expectGone(processes: readonly Running[]): Promise<void> {
  await expect.poll(() => stillRunning(processes), { timeout: ORPHANS_MS, interval: 100 }).toEqual([]);
}

describe('a start that cannot succeed', () => {
  it('says that the port is taken before it starts a database', async () => {
    const listener = createServer();
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address() as AddressInfo;
    const dataDir = join(directory, 'never');
    try {
      await expect(startProduct({ KEYBEARER_DATA_DIR: dataDir, PORT: String(port) })).rejects.toThrow(
        `Something listens on port ${port} already; choose another with PORT=`,
      );
    } finally {
      await new Promise((resolve) => listener.close(resolve));
    }
    expect(existsSync(dataDir)).toBe(false);
  }, 40_000);
});

describe('the first start', () => {
  it('prints an admin key and an agent key', async () => {
    product = await startProduct(environment);
    agentKey = product.agentKey ?? '';
    expect(agentKey).not.toBe('');
    const adminKey = (await readFile(join(directory, 'data', 'admin.key'), 'utf8')).trim();
    expect(product.text).toContain(adminKey);
  }, 40_000);

  it.each(CLIENTS)('lets an unmodified %s list and call the tools of three public servers', async (kind) => {
    await withClient(kind, async (agent) => {
      expect(await prefixesOf(agent)).toEqual(new Set(SERVERS));
      await callAll(agent);
    });
  });

  it('refuses who has no key', async () => {
    const response = await fetch(`${product.url}/mcp`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
    });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain('resource_metadata=');
  });
});

describe.runIf(process.platform === 'linux')('the end', () => {
  it('by SIGTERM is clean: exit code 0, and no child is left', async () => {
    const children = await descendantsOf(product.pid);
    expect(children.filter(isServer).length).toBe(SERVERS.length);
    expect(children.some(({ command }) => command.includes('postgres'))).toBe(true);
    expect(await product.end('SIGTERM')).toEqual({ code: 0, signal: null });
    await expectGone(children);
  }, 30_000);

  it('is followed by a start that prints no key and offers stored tools, even of a server that is down', async () => {
    await rename(launcher(), `${launcher()}.away`);
    product = await startProduct(environment);
    expect(product.agentKey).toBeUndefined();
    const adminKey = (await readFile(join(directory, 'data', 'admin.key'), 'utf8')).trim();
    expect(product.text).not.toContain(adminKey);
    await withClient('sdk1', async (agent) => {
      expect(await prefixesOf(agent)).toEqual(new Set(SERVERS));
      await rename(`${launcher()}.away`, launcher());
      await callAll(agent);
    });
  }, 40_000);

  it('by SIGKILL leaves no child after five seconds, and the next start works', async () => {
    const children = await descendantsOf(product.pid);
    expect(children.filter(isServer).length).toBe(SERVERS.length);
    expect(await product.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
    await expectGone(children);
    product = await startProduct(environment);
    expect(product.agentKey).toBeUndefined();
    await withClient('sdk2Modern', callAll);
  }, 60_000);
});
