// Many agents of many people of two tenants at once, with equal request ids: every answer names its caller.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Agent, type AgentKind, textOf } from '../support/agents/agent.ts';
import { RawAgent } from '../support/agents/raw-agent.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type KeyedServer, startKeyedServer } from '../support/upstreams/keyed-server.ts';
import { type JsonObject, objectAt } from '../support/upstreams/message.ts';
import { ask, outcomeOf, send } from './asking.ts';

const ERAS = ['legacy', 'modern'] as const;
type Era = (typeof ERAS)[number];

const TENANTS = ['alpha', 'beta'] as const;
const PEOPLE = ['ann', 'bob', 'cyd'] as const;
/** In turn, so that each person has two agents and each kind serves several people. */
const KINDS: readonly AgentKind[] = ['sdk1', 'sdk2Legacy', 'sdk2Modern', 'rawLegacy', 'rawModern'];
const ROUNDS = 50;

interface Person {
  readonly tenant: string;
  readonly name: string;
  /** What an upstream calls them. */
  readonly label: string;
}

const people: readonly Person[] = TENANTS.flatMap((tenant) =>
  PEOPLE.map((name) => ({ tenant, name, label: `${tenant}/${name}` })),
);

const credential = { owner: 'principal', kind: 'secret' };

describe('twelve agents of six people of two tenants', () => {
  let app: TestApp;
  const upstreams = new Map<Era, KeyedServer>();
  const agents: { readonly person: Person; readonly agent: Agent }[] = [];

  const upstream = (era: Era): KeyedServer => {
    const found = upstreams.get(era);
    if (found === undefined) throw new Error(`The ${era} upstream has not started`);
    return found;
  };

  beforeAll(async () => {
    app = await startTestApp();
    for (const era of ERAS) {
      const keys = people.map(({ label }) => [`${era} key of ${label}`.replaceAll(' ', '-'), label] as const);
      upstreams.set(era, await startKeyedServer({ era, keys }));
    }
    for (const tenant of TENANTS) {
      await app.tenant(tenant);
      for (const era of ERAS) await app.putServer(tenant, era, { url: upstream(era).url, credential });
      const key = await app.agentKey(tenant);
      for (const person of people.filter((one) => one.tenant === tenant)) {
        for (const era of ERAS) {
          await app.setSecret(tenant, era, person.name, `${era}-key-of-${person.label}`);
        }
        for (let nth = 0; nth < 2; nth++) {
          const kind = KINDS[agents.length % KINDS.length] ?? 'rawLegacy';
          agents.push({ person, agent: await app.agent(kind, { key, principal: person.name }) });
        }
      }
    }
  });

  afterAll(async () => {
    for (const { agent } of agents) await agent.close().catch(() => {});
    await app?.stop();
    for (const server of upstreams.values()) await server.close();
  });

  it('hears its own name in every answer of fifty rounds with equal ids, at servers of both eras', {
    timeout: 120_000,
  }, async () => {
    expect(agents.length).toBe(12);
    expect(new Set(agents.map(({ agent }) => agent.kind)).size).toBe(KINDS.length);
    for (let round = 1; round <= ROUNDS; round++) {
      await Promise.all(
        agents.flatMap(({ person, agent }, nth) =>
          ERAS.flatMap((era, place) => askAll({ agent, person, era, firstId: round * 10 + place * 3, round, nth })),
        ),
      );
    }
    for (const era of ERAS) {
      const { counters, executed, seen } = upstream(era);
      expect(counters).toMatchObject({ crossed: 0, unauthorized: 0, unknownSessions: 0, aborted: 0 });
      for (const tool of ['whoami', 'echo', 'progress']) expect(executed.get(tool)).toBe(ROUNDS * agents.length);
      for (const { method, principal, body } of seen) {
        if (method === 'tools/call') expect(principal).toBe(argumentsOf(body)['by']);
      }
    }
  });

  it('keeps one connection for each person and server, however many agents they have', async () => {
    const sessions = [...upstream('legacy').sessions.values()].map(({ principal }) => principal);
    expect(sessions.sort()).toEqual(people.map(({ label }) => label).sort());
    for (const tenant of TENANTS) {
      const { items } = (await app.adminOk('GET', `/tenants/${tenant}/connections`)) as { items: JsonObject[] };
      const owners = items.map(({ server, principal }) => `${String(principal)} at ${String(server)}`);
      expect(owners.sort()).toEqual(PEOPLE.flatMap((name) => ERAS.map((era) => `${name} at ${era}`)).sort());
    }
  });
});

interface Ask {
  readonly agent: Agent;
  readonly person: Person;
  readonly era: Era;
  /** Raw agents send it and the two after it: the same ones as every other raw agent at this moment. */
  readonly firstId: number;
  readonly round: number;
  readonly nth: number;
}

function askAll({ agent, person, era, firstId, round, nth }: Ask): readonly Promise<void>[] {
  const { label } = person;
  const args = { by: label, round, nth };
  const progress = { ...args, count: 2, everyMs: 0 };
  if (agent instanceof RawAgent) {
    return [
      rawNames(agent, firstId, `${era}__whoami`, args, label),
      rawNamesWithProgress(agent, firstId + 1, `${era}__progress`, progress, label),
      echoes(agent, `${era}__echo`, args),
    ];
  }
  return [
    names(agent, `${era}__whoami`, args, label),
    namesWithProgress(agent, `${era}__progress`, progress, label),
    echoes(agent, `${era}__echo`, args),
  ];
}

async function names(agent: Agent, tool: string, args: JsonObject, label: string): Promise<void> {
  expect(objectAt(await agent.callTool(tool, args), 'structuredContent')).toMatchObject({ who: label, args });
}

async function namesWithProgress(agent: Agent, tool: string, args: JsonObject, label: string): Promise<void> {
  const heard: string[] = [];
  const result = await agent.callTool(tool, args, { onProgress: ({ message = '' }) => heard.push(message) });
  expect(objectAt(result, 'structuredContent')).toMatchObject({ who: label });
  for (const message of heard) expect([`${label} 1`, `${label} 2`]).toContain(message);
}

async function rawNames(agent: RawAgent, id: number, tool: string, args: JsonObject, label: string): Promise<void> {
  expect(await ask(agent, { id, tool, args })).toMatchObject({ kind: 'named', who: label });
}

/** Everybody's progress token is the same. */
async function rawNamesWithProgress(
  agent: RawAgent,
  id: number,
  tool: string,
  args: JsonObject,
  label: string,
): Promise<void> {
  const response = await send(agent, { id, tool, args, meta: { progressToken: 'mine' } });
  expect(await outcomeOf(response, id)).toMatchObject({ kind: 'named', who: label });
  const said = response.stream?.messages.flatMap(({ method, params }) => (method === undefined ? [] : [params]));
  expect(said).toMatchObject([1, 2].map((n) => ({ progressToken: 'mine', progress: n, message: `${label} ${n}` })));
}

async function echoes(agent: Agent, tool: string, args: JsonObject): Promise<void> {
  expect(JSON.parse(textOf(await agent.callTool(tool, args)))).toEqual(args);
}

const argumentsOf = (body: unknown): JsonObject => objectAt(objectAt(body as JsonObject, 'params'), 'arguments');

describe.each(ERAS)('two people of different tenants who hold equal keys for one %s account', (era) => {
  it('share neither connection nor session', async () => {
    const server = await startKeyedServer({ era, keys: [['one-and-the-same-key', 'twin']] });
    const app = await startTestApp();
    try {
      const sessions = new Map<string, string>();
      for (const tenant of TENANTS) {
        await app.tenant(tenant);
        await app.putServer(tenant, 'one', { url: server.url, credential });
        await app.setSecret(tenant, 'one', 'ann', 'one-and-the-same-key');
        const key = await app.agentKey(tenant);
        const agent = await app.agent('rawLegacy', { key, principal: 'ann' });
        const results = await Promise.all([1, 2, 3].map((n) => agent.callTool('one__whoami', { n })));
        await agent.close();
        const said = results.map((result) => objectAt(result, 'structuredContent'));
        for (const { who } of said) expect(who).toBe('twin');
        const own = new Set(said.map(({ session }) => String(session)));
        expect(own.size).toBe(1);
        for (const session of own) sessions.set(tenant, session);
      }
      const ids: string[] = [];
      for (const tenant of TENANTS) {
        const { items } = (await app.adminOk('GET', `/tenants/${tenant}/connections`)) as { items: JsonObject[] };
        expect(items).toMatchObject([{ server: 'one', owner: 'principal', principal: 'ann' }]);
        ids.push(...items.map(({ id }) => String(id)));
      }
      expect(new Set(ids).size).toBe(2);
      if (era === 'legacy') {
        expect(new Set(sessions.values()).size).toBe(2);
        expect(server.counters.initializes).toBe(2);
      } else expect(server.counters.discovers).toBe(2);
      expect(server.counters).toMatchObject({ crossed: 0, unauthorized: 0 });
    } finally {
      await app.stop();
      await server.close();
    }
  });
});
