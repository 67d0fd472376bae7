// One tools/call by hand, under an id of the test's choosing, and what became of it.
import { textOf } from '../support/agents/agent.ts';
import type { RawAgent } from '../support/agents/raw-agent.ts';
import type { RawResponse } from '../support/agents/raw-http.ts';
import { isObject, type JsonObject, objectAt } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';

export type Outcome =
  /** The tool ran, and the upstream says for whom. */
  | { readonly kind: 'named'; readonly who: string; readonly session: string; readonly question: unknown }
  | { readonly kind: 'sign_in_required' }
  /** The same, but so many links are open that no further one is given. */
  | { readonly kind: 'rate_limited' }
  /** No such tool is offered. */
  | { readonly kind: 'not_found' }
  /** The link broke; the call may have run. */
  | { readonly kind: 'unavailable'; readonly text: string }
  | { readonly kind: 'session_unknown' }
  /** Ended without an answer, as a cancelled request does. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'other'; readonly text: string };

export interface Question {
  readonly id: number;
  readonly tool: string;
  readonly args: JsonObject;
  readonly meta?: JsonObject;
  readonly signal?: AbortSignal;
}

export async function ask(agent: RawAgent, question: Question): Promise<Outcome> {
  return outcomeOf(await send(agent, question), question.id);
}

export async function send(agent: RawAgent, { id, tool, args, meta, signal }: Question): Promise<RawResponse> {
  const params = { name: tool, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) };
  const { body, headers } = agent.compose('tools/call', params);
  return within(agent.post({ ...body, id }, headers, signal), `an answer to ${tool}`, 15_000);
}

/** Throws when an answer came that nobody here asked for. */
export async function outcomeOf(response: RawResponse, id: number): Promise<Outcome> {
  if (response.status === 202) return { kind: 'silent' };
  const answer = response.stream === undefined ? await response.answer() : await streamedAnswer(response);
  if (answer === undefined) return { kind: 'silent' };
  if (answer['id'] !== id) throw new Error(`Asked ${id}, and was answered ${JSON.stringify(answer['id'])}`);
  return isObject(answer['error']) ? errorOutcome(response.status, answer['error']) : resultOutcome(answer);
}

/** Undefined when the stream ended with none, or broke. */
async function streamedAnswer({ stream }: RawResponse): Promise<JsonObject | undefined> {
  await stream?.ended();
  const answers = (stream?.messages ?? []).filter((message) => message['method'] === undefined);
  if (answers.length > 1) throw new Error(`${answers.length} answers to one request`);
  return answers[0];
}

function errorOutcome(status: number, error: JsonObject): Outcome {
  const { code } = error;
  if (status === 404 && code === -32001) return { kind: 'session_unknown' };
  if (code === -32602 && objectAt(error, 'data')['error'] === 'not_found') return { kind: 'not_found' };
  return { kind: 'other', text: `${status} ${JSON.stringify(error)}` };
}

function resultOutcome(answer: JsonObject): Outcome {
  const { who, session, args, error } = objectAt(objectAt(answer, 'result'), 'structuredContent');
  const question = isObject(args) ? args['question'] : undefined;
  if (typeof who === 'string') return { kind: 'named', who, session: String(session), question };
  if (error === 'sign_in_required' || error === 'rate_limited') return { kind: error };
  if (error === 'upstream_unavailable') return { kind: 'unavailable', text: textOf(objectAt(answer, 'result')) };
  return { kind: 'other', text: JSON.stringify(answer) };
}
