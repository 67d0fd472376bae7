// Agents that can show their person a link, and what they do when they are asked to.
import type { Agent } from './agents/agent.ts';
import { connectRaw, type RawAgent } from './agents/raw-agent.ts';
import type { RawResponse } from './agents/raw-http.ts';
import type { Reaction, SdkWishes } from './agents/sdk-options.ts';
import { connectSdk1 } from './agents/sdk1-agent.ts';
import { connectSdk2 } from './agents/sdk2-agent.ts';
import type { TestApp } from './app.ts';
import type { RawKind, Scene, TenantSide } from './scene.ts';
import { isObject, type JsonObject, objectAt } from './upstreams/message.ts';
import { within } from './within.ts';

export const SDK_KINDS = ['sdk1', 'sdk2Legacy', 'sdk2Modern'] as const;
const SHOWS_LINKS: JsonObject = { elicitation: { url: {} } };
export const KEY = 'keybearer/sign_in';

interface At {
  readonly principal?: string;
  readonly app?: TestApp;
  readonly path?: string;
  readonly capabilities?: JsonObject;
}

export function askable(scene: Scene, tenant: TenantSide, kind: RawKind, at: At = {}): Promise<RawAgent> {
  const { principal = 'bob', app = scene.app, path = '/mcp', capabilities = SHOWS_LINKS } = at;
  const headers = app.headers({ key: tenant.key, principal });
  return scene.keep(within(connectRaw(kind, `${app.url}${path}`, headers, { capabilities }), 'the agent'));
}

export function askableSdk(
  scene: Scene,
  tenant: TenantSide,
  kind: (typeof SDK_KINDS)[number],
  wishes: SdkWishes,
): Promise<Agent> {
  const url = `${scene.app.url}/mcp`;
  const headers = scene.app.headers({ key: tenant.key, principal: 'bob' });
  const connecting = kind === 'sdk1' ? connectSdk1(url, headers, wishes) : connectSdk2(kind, url, headers, wishes);
  return scene.keep(within(connecting, 'the agent'));
}

/** What the agent was asked in the stream of its call. */
export interface Question {
  readonly id: unknown;
  readonly url: string;
  readonly elicitationId: string;
  readonly params: JsonObject;
}

export async function questionIn({ stream }: RawResponse): Promise<Question> {
  if (stream === undefined) throw new Error('The call was answered, not asked');
  const message = await stream.find(({ method }) => method === 'elicitation/create');
  const params = objectAt(message, 'params');
  return { id: message['id'], url: String(params['url']), elicitationId: String(params['elicitationId']), params };
}

/** The agent's answer to a question; gives the HTTP status. */
export async function react(agent: RawAgent, { id }: Pick<Question, 'id'>, action: string): Promise<number> {
  return (await agent.post({ jsonrpc: '2.0', id, result: { action } })).status;
}

export const methodsIn = ({ stream }: RawResponse): readonly unknown[] =>
  (stream?.messages ?? []).map(({ method, id }) => method ?? `answer to ${String(id)}`);

/** What a modern agent is told to ask. */
export interface Input {
  readonly url: string;
  readonly requestState: string;
}

export function inputIn(result: JsonObject): Input {
  const asked = objectAt(objectAt(result, 'inputRequests'), KEY);
  const { requestState } = result;
  if (!isObject(asked) || typeof requestState !== 'string') throw new Error('There is nothing to be asked');
  return { url: String(objectAt(asked, 'params')['url']), requestState };
}

/** The params of the next try. */
export const withAnswer = (
  params: JsonObject,
  { requestState }: Pick<Input, 'requestState'>,
  action: Reaction,
): JsonObject => ({
  ...params,
  requestState,
  inputResponses: { [KEY]: { action } },
});
